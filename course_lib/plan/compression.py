"""Training with compressed gradients, for real: ranks in NumPy, every exchange through `comm`, bytes and time counted."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.comm.driver import play
from course_lib.plan.codecs import Codec, checked, decode, encode, gradient_values
from course_lib.plan.exchange import exchange, fresh_memory, way_of
from course_lib.plan.precision import numbers_in
from course_lib.plan.smallmodel import (
    Shape,
    batches,
    first_weights,
    loss_and_gradient,
    make_task,
    mean_loss,
    positive,
)


@dataclass(frozen=True, slots=True)
class Training:
    """A training run over several ranks; arrays have one entry per step taken.

    `loss` (steps,): over 512 samples, after the step. `accuracy` at the end. `message_B`: bytes of the collectives of
    one step as nccl-tests counts them; `sent_B`: bytes that one rank puts on the wire in a step; `collectives`: names
    and number in the whole run. `encode_s`, `decode_s` (steps,): seconds of the slowest rank's codec, measured.
    `stopped`: why the run ended before its last step ("" if it did not).
    """

    codec: Codec
    how: str
    error_feedback: bool
    loss: np.ndarray
    accuracy: float
    message_B: float
    sent_B: float
    collectives: dict[str, int]
    encode_s: np.ndarray
    decode_s: np.ndarray
    weights: np.ndarray
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Distortion:
    """What a codec does to one gradient: error relative to its length (0 for a zero gradient), and what became zero."""

    relative_error: float
    zeroed: int
    overflowed: int
    wire_B: int
    decoded: np.ndarray


def distortion(codec: Codec, gradient: object, *, step: int = 0) -> Distortion:
    """Return error and bytes of one packet. NaN and infinite gradients are refused with a sentence.

    `zeroed` counts nonzero values that arrive as zero, `overflowed` those that arrive infinite.

    >>> from course_lib.plan.codecs import EightBit
    >>> d = distortion(EightBit(), [1e6] + [1.0] * 99)
    >>> d.zeroed, d.wire_B, f"{d.relative_error:.0e}"
    (99, 104, '1e-05')
    """
    values = gradient_values(gradient)
    packet = encode(codec, gradient, step=step)
    decoded = decode(packet)
    length = np.linalg.norm(values)
    lost = decoded - values
    bad = int((~np.isfinite(decoded)).sum())
    error = float(np.linalg.norm(lost) / length) if length > 0 and not bad else float(np.inf if bad else 0.0)
    return Distortion(error, int(((values != 0) & (decoded == 0)).sum()), bad, packet.wire_B, decoded)


def train(
    codec: Codec,
    *,
    error_feedback: bool = True,
    how: str | None = None,
    n_ranks: object = 4,
    steps: object = 120,
    batch: object = 16,
    learning_rate: object = 0.3,
    momentum: object = 0.0,
    seed: object = 0,
    shape: Shape | None = None,
    disturb: Callable[[int, np.ndarray], np.ndarray] | None = None,
) -> Training:
    """Train a two-layer model on `n_ranks` ranks that exchange gradients through a codec.

    Every rank draws `batch` samples of its own share of the data in each step; all update the same weights with the mean
    gradient, so a run with the dense codec equals one process with the whole batch. `how` is the collective ("all_reduce",
    "all_gather", "two_phase"; None: the usual one for the codec). `disturb(step, gradients)` may change the gradients
    (n_ranks, size) before they are encoded: a way to try hostile ones. A step whose gradients or sums are not finite
    ends the run, and `stopped` says where. Raises CourseError for wrong settings.

    >>> from course_lib.plan.codecs import Dense, TopK
    >>> kept, lost = (train(TopK(0.01), error_feedback=e, steps=60) for e in (True, False))
    >>> bool(lost.loss[-1] > 3 * kept.loss[-1]), train(Dense(), steps=2).sent_B / kept.sent_B > 10
    (True, True)
    """
    codec, n_ranks = checked(codec), whole("n_ranks", n_ranks, at_least=1, at_most=64)
    steps, seed = whole("steps", steps, at_least=1), whole("seed", seed, at_least=0)
    rate = positive("learning_rate", learning_rate)
    way = way_of(codec, how, error_feedback)
    if momentum != 0:
        momentum = positive("momentum", momentum)
        if momentum >= 1:
            raise CourseError(_("momentum is {momentum}; it has to be below 1.").format(momentum=momentum))
    shape = shape or Shape()
    task = make_task(seed, features=shape.features, classes=shape.classes)
    drawn = batches(task, n_ranks, steps, batch, seed)
    weights, velocity = first_weights(shape, seed), np.zeros(shape.size)
    memories = [fresh_memory(shape.size) for _rank in range(n_ranks)]
    loss, encode_s, decode_s, stopped = [], [], [], ""
    counts: dict[str, int] = {}
    message_B = wire_B = 0.0
    accuracy = mean_loss(weights, task, shape)[1]
    for step in range(steps):
        with np.errstate(over="ignore", invalid="ignore"):
            _loss, gradients = loss_and_gradient(weights, task.inputs[drawn[step]], task.labels[drawn[step]], shape)
        if disturb is not None:
            gradients = numbers_in("disturb(step, gradients)", disturb(step, gradients.copy()))
            if gradients.shape != (n_ranks, shape.size):
                raise CourseError(
                    _("disturb(step, gradients) has to return the same shape, {shape}.").format(
                        shape=(n_ranks, shape.size)
                    )
                )
        programs = [
            exchange(
                codec,
                gradients[rank],
                memories[rank],
                n_ranks=n_ranks,
                rank=rank,
                step=step,
                error_feedback=error_feedback,
                how=how,
                tensors=shape.tensors,
            )
            for rank in range(n_ranks)
        ]
        try:
            results, log = play(programs)
        except CourseError as error:
            stopped = _("Step {step}: {reason}").format(step=step, reason=error)
            break
        mean = results[0].mean
        if not np.isfinite(mean).all():
            stopped = _("Step {step}: sums that overflowed on the way: {count}.").format(
                step=step, count=int((~np.isfinite(mean)).sum())
            )
            break
        velocity = momentum * velocity + mean
        weights = weights - rate * velocity
        with np.errstate(over="ignore", invalid="ignore"):
            after = mean_loss(weights, task, shape)
        if not np.isfinite(after[0]):
            stopped = _("Step {step}: the loss is no longer finite; the steps are too large.").format(step=step)
            break
        accuracy = after[1]
        memories = [r.memory for r in results]
        message_B, wire_B = message_B + log.message_B(), wire_B + log.wire_B()
        for name, count in log.counts().items():
            counts[name] = counts.get(name, 0) + count
        loss.append(after[0])
        encode_s.append(max(r.encode_s for r in results))
        decode_s.append(max(r.decode_s for r in results))
    taken = max(len(loss), 1)
    return Training(
        codec,
        way,
        error_feedback,
        np.array(loss),
        accuracy,
        message_B / taken,
        wire_B / taken / n_ranks,
        counts,
        np.array(encode_s),
        np.array(decode_s),
        weights,
        stopped,
    )


def with_and_without_feedback(codec: Codec, **settings: object) -> tuple[Training, Training]:
    """Return the same training twice: with error feedback and without it. Settings as in `train`.

    >>> from course_lib.plan.codecs import OneBit
    >>> a, b = with_and_without_feedback(OneBit(), steps=40)
    >>> bool(a.loss[-1] < b.loss[-1])
    True
    """
    return tuple(train(codec, error_feedback=on, **settings) for on in (True, False))
