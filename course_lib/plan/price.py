"""One way to price a collective in `plan`: a function from bytes to seconds, asked of `timing.tuning.predict`."""

from collections.abc import Callable

import numpy as np

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.timing.tuning import predict

TimeOf = Callable[[np.ndarray], np.ndarray]


def price(time_of: TimeOf, message_B: object) -> np.ndarray:
    """Return `time_of(message_B)` in seconds, one for each message, and refuse answers that are no times.

    `message_B` is an array of any shape (bytes, at least 0). A function that answers with one number prices every
    message alike. Raises CourseError when the answer has another shape, is negative, NaN or infinite.

    >>> price(lambda m: 1e-6 + m / 1e9, [0, 1e9]).tolist()
    [1e-06, 1.000001]
    >>> price(lambda m: m - 1, [0, 2])
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: time_of(message_B) is [-1.0, 1.0]; it has to be at least 0 s.
    """
    sizes = np.asarray(finite("message_B", message_B, at_least=0, unit="bytes"))
    if not callable(time_of):
        raise CourseError(_("time_of has to be a function from bytes to seconds."))
    time_s = np.asarray(finite("time_of(message_B)", time_of(sizes), at_least=0, unit="s"))
    if time_s.shape not in ((), sizes.shape):
        raise CourseError(
            _("time_of was asked about {asked} messages and answered with {got} times.").format(
                asked=sizes.size, got=time_s.size
            )
        )
    return np.broadcast_to(time_s, sizes.shape)


def pricer(op: str, system: object, n_ranks: object, **options: object) -> TimeOf:
    """Return a function from message sizes (bytes, as nccl-tests counts them) to seconds: `predict` with the rest fixed.

    `op` is a collective ("all_reduce", "all_gather", …), `system` a name, a path to a TOML file or a loaded system,
    `options` go to `predict`. One rank communicates with nobody: zero seconds. Errors are those of `predict`.

    >>> gradients = pricer("all_reduce", "dgx-h100", 8)
    >>> bool(gradients(1e6) < gradients(1e9)), float(pricer("all_reduce", "dgx-h100", 1)(1e9))
    (True, 0.0)
    """
    n_ranks = whole("n_ranks", n_ranks, at_least=1)
    return lambda message_B: np.asarray(predict(op, message_B, system, n_ranks, **options).time_s)
