"""Strong and weak scaling: what more GPUs give, two laws, and where efficiency bends on a real fabric."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, together, whole
from course_lib.base.language import _
from course_lib.cluster.inrange import finite
from course_lib.timing.system import System, load
from course_lib.timing.tuning import predict


@dataclass(frozen=True, slots=True)
class Scaled:
    """Steps at several numbers of GPUs: `n_gpus`, `time_s`, and their terms, each (m,); `efficiency` is against the first."""

    n_gpus: NDArray[np.int64]
    time_s: NDArray[np.float64]
    terms: dict[str, NDArray[np.float64]]
    efficiency: NDArray[np.float64]


def _counts(time_s: ArrayLike, n_gpus: ArrayLike) -> tuple[NDArray, NDArray]:
    time = np.atleast_1d(finite("time_s", time_s, above=0, unit="s"))
    n = np.atleast_1d(finite("n_gpus", n_gpus, at_least=1))
    if time.shape != n.shape or time.ndim != 1:
        raise CourseError(
            _("{a} times and {b} numbers of GPUs: one of each is expected.").format(a=time.size, b=n.size)
        )
    return time, n


def strong_efficiency(time_s: ArrayLike, n_gpus: ArrayLike) -> NDArray[np.float64]:
    """Return (m,) what share of the ideal speed-up is reached when the same work runs on more GPUs, against the first entry.

    >>> strong_efficiency([8.0, 4.0, 4.0], [1, 2, 4]).tolist()
    [1.0, 1.0, 0.5]
    """
    time, n = _counts(time_s, n_gpus)
    return time[0] * n[0] / (time * n)


def weak_efficiency(time_s: ArrayLike) -> NDArray[np.float64]:
    """Return (m,) what share of the first rate each GPU keeps when the work grows with the GPUs: time of the first over time.

    >>> weak_efficiency([2.0, 2.5]).tolist()
    [1.0, 0.8]
    """
    time = np.atleast_1d(finite("time_s", time_s, above=0, unit="s"))
    return time[0] / time


def amdahl(serial: ArrayLike, n_gpus: ArrayLike):
    """Return the speed-up of fixed work on n GPUs when the share `serial` does not get quicker; broadcasts.

    >>> round(amdahl(0.01, 100), 2), round(amdahl(0.01, 1e9), 1)
    (50.25, 100.0)
    """
    s, n = _share("serial", serial), finite("n_gpus", n_gpus, at_least=1)
    together(serial=s, n_gpus=n)
    return 1 / (s + (1 - s) / n)


def gustafson(serial: ArrayLike, n_gpus: ArrayLike):
    """Return how much more work n GPUs do in the same time when the share `serial` of that time does not grow; broadcasts.

    >>> round(gustafson(0.01, 100), 2)
    99.01
    """
    s, n = _share("serial", serial), finite("n_gpus", n_gpus, at_least=1)
    together(serial=s, n_gpus=n)
    return s + (1 - s) * n


def _share(name: str, value: ArrayLike):
    number = finite(name, value, at_least=0)
    if (np.asarray(number) > 1).any():
        raise CourseError(_("{name} is {value}; a share of at most 1 is expected.").format(name=name, value=value))
    return number


def serial_share(time_s: ArrayLike, n_gpus: ArrayLike) -> float:
    """Return the serial share that fits measured strong scaling best by Amdahl's law, between 0 and 1.

    time · n of the first entry is taken as the whole work. Least squares on time · n / work = 1 − s + s · n.

    >>> n = np.array([1, 8, 64])
    >>> round(serial_share(10 / amdahl(0.02, n), n), 6)
    0.02
    """
    time, n = _counts(time_s, n_gpus)
    if len(n) < 2 or np.ptp(n) == 0:
        raise CourseError(_("At least two different numbers of GPUs are needed."))
    # Against the first: T(n)/T(n₀) = (s + (1 − s)/n) / (s + (1 − s)/n₀) is linear in s.
    ratio = time / time[0]
    a = (1 - 1 / n) - ratio * (1 - 1 / n[0])
    b = ratio / n[0] - 1 / n
    return float(np.clip((a @ b) / (a @ a), 0.0, 1.0))


def _scaled(system: "str | System", counts: Sequence[int], compute_s, message_B: float, hidden: float) -> Scaled:
    place, hide = load(system), _share("hidden", hidden)
    size = finite("message_B", message_B, at_least=0, unit="B")
    n = np.array([whole("n_gpus", c, at_least=1) for c in counts])
    if not len(n):
        raise CourseError(_("Give at least one number of GPUs."))
    compute = np.array([compute_s(c) for c in n])
    sending = np.array([predict("all_reduce", size, place, int(c)).time_s for c in n])
    exposed = np.maximum(sending - hide * compute, 0.0)
    return Scaled(n, compute + exposed, {"compute": compute, "exposed all-reduce": exposed}, np.ones(len(n)))


def strong(
    system: "str | System", n_gpus: Sequence[int], *, work_s: float, message_B: float, hidden: float = 0.5
) -> Scaled:
    """Return steps of a fixed batch on more and more GPUs: compute shrinks as 1/n, the gradient all-reduce does not.

    Args:
        system: name, TOML path or System.
        n_gpus: numbers of GPUs to try.
        work_s: seconds the whole batch takes on one GPU.
        message_B: bytes of gradients that all ranks add.
        hidden: share of the computing behind which sending may hide.

    For a model with tensor and pipeline parallelism ask `plan.steptime.step` at every size and give its times to
    `strong_efficiency`.

    >>> s = strong("dgx-h100", [8, 64, 512, 4096], work_s=64.0, message_B=14e9)
    >>> bool(s.efficiency[-1] < 0.6 < s.efficiency[1])
    True
    """
    work = finite("work_s", work_s, above=0, unit="s")
    found = _scaled(system, n_gpus, lambda n: work / n, message_B, hidden)
    return Scaled(found.n_gpus, found.time_s, found.terms, strong_efficiency(found.time_s, found.n_gpus))


def weak(
    system: "str | System", n_gpus: Sequence[int], *, work_each_s: float, message_B: float, hidden: float = 0.5
) -> Scaled:
    """Return steps whose batch grows with the GPUs: every GPU computes `work_each_s`, the all-reduce spans all.

    Arguments as for `strong`. Larger batches are not free: beyond some size they stop saving steps.

    >>> s = weak("dgx-h100", [8, 64, 512, 4096], work_each_s=1.0, message_B=14e9)
    >>> bool(s.efficiency[-1] > 0.9)
    True
    """
    each = finite("work_each_s", work_each_s, above=0, unit="s")
    found = _scaled(system, n_gpus, lambda n: each, message_B, hidden)
    return Scaled(found.n_gpus, found.time_s, found.terms, weak_efficiency(found.time_s))


def bends_at(n_gpus: ArrayLike, efficiency: ArrayLike, least: float = 0.8) -> int | None:
    """Return the largest number of GPUs up to which efficiency never falls below `least`; None if it does at once.

    >>> bends_at([8, 16, 32, 64], [1.0, 0.95, 0.7, 0.9])
    16
    """
    share, n = _counts(efficiency, n_gpus)
    order = np.argsort(n)
    good = np.cumprod(share[order] >= finite("least", least, above=0)).astype(bool)
    return int(n[order][good][-1]) if good.any() else None


def planned(
    shape: object,
    system: "str | System",
    n_gpus: Sequence[int],
    *,
    global_batch: int,
    weak: bool = False,
    **plan: object,
) -> Scaled:
    """Return whole training steps (`plan.steptime.step`) at several numbers of GPUs, with their named terms.

    Args:
        shape: model name or Shape.
        system: name, TOML path or System.
        n_gpus: numbers of GPUs; the plan's other degrees stay, data parallelism takes the rest.
        global_batch: sequences of a step; with `weak` those of the first number, growing with the GPUs.
        weak: let the batch grow.
        **plan: `tensor`, `pipeline`, `micro_batch`, `precision` … of `step`.

    Raises:
        CourseError: as `step` does; it names the plans that fit.

    >>> s = planned("gpt3-175b", "dgx-a100", [512, 1024], global_batch=1536, tensor=8, pipeline=8)
    >>> bool(s.time_s[1] < s.time_s[0]), bool(s.efficiency[1] < 1)
    (True, True)
    """
    from course_lib.plan.steptime import step

    n = [whole("n_gpus", c, at_least=1) for c in n_gpus]
    if not n:
        raise CourseError(_("Give at least one number of GPUs."))
    batch = whole("global_batch", global_batch, at_least=1)
    steps = [step(shape, system, gpus=c, global_batch=batch * c // n[0] if weak else batch, **plan) for c in n]
    time = np.array([s.step_s for s in steps])
    names = dict.fromkeys(name for s in steps for name in s.terms)
    terms = {name: np.array([s.terms.get(name, 0.0) for s in steps]) for name in names}
    share = weak_efficiency(time) if weak else strong_efficiency(time, n)
    return Scaled(np.array(n), time, terms, share)
