"""Loss scaling: gradients that underflow in a narrow format, and a scale that finds its place by overflowing for real."""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.plan.precision import format_of, round_to
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
class ScaleState:
    """A dynamic loss scale: its value, and how many steps in a row had no overflow."""

    scale: float
    clean_steps: int = 0


@dataclass(frozen=True, slots=True)
class ScaledTraining:
    """A training run in a narrow format, one entry a step.

    `loss` (steps,): over 512 samples, after the step. `scale`: loss scale used. `skipped`: the step overflowed and was not taken.
    `overflowed`, `underflowed`: shares of the nonzero values that the backward pass rounded. `accuracy`: at the end.
    """

    loss: np.ndarray
    scale: np.ndarray
    skipped: np.ndarray
    overflowed: np.ndarray
    underflowed: np.ndarray
    accuracy: float


def next_scale(
    state: ScaleState,
    overflow: bool,
    *,
    growth: object = 2.0,
    backoff: object = 0.5,
    growth_interval: object = 2000,
    largest: object = 2.0**40,
) -> ScaleState:
    """Return the scale of the next step: times `backoff` after an overflow, times `growth` after enough clean steps.

    The rule and the defaults are those of automatic mixed precision in PyTorch (`GradScaler`), after Micikevicius et
    al., arXiv:1710.03740. The scale stays at or below `largest`, and above zero. Raises CourseError for a growth or a
    backoff that goes the wrong way.

    >>> next_scale(ScaleState(65536.0, 7), overflow=True)
    ScaleState(scale=32768.0, clean_steps=0)
    >>> next_scale(ScaleState(1024.0, 1), overflow=False, growth_interval=2)
    ScaleState(scale=2048.0, clean_steps=0)
    """
    scale, growth, backoff = positive("scale", state.scale), positive("growth", growth), positive("backoff", backoff)
    growth_interval = whole("growth_interval", growth_interval, at_least=1)
    if growth < 1 or backoff >= 1:
        raise CourseError(
            _("growth is {growth:g} and backoff {backoff:g}; growth has to be at least 1, backoff below 1.").format(
                growth=growth, backoff=backoff
            )
        )
    if overflow:
        return ScaleState(max(scale * backoff, np.finfo(float).tiny), 0)
    if state.clean_steps + 1 >= growth_interval:
        return ScaleState(min(scale * growth, positive("largest", largest)), 0)
    return ScaleState(scale, state.clean_steps + 1)


def train_scaled(
    format: str = "fp16",
    scale: object = 1.0,
    *,
    dynamic: bool = False,
    growth_interval: object = 20,
    steps: object = 100,
    learning_rate: object = 0.3,
    averaged_over: object = 16_777_216,
    batch: object = 64,
    seed: object = 0,
) -> ScaledTraining:
    """Train the small model with every product of the backward pass rounded to `format`, and a loss scale.

    Weights, forward pass and update are exact (master weights). The loss is a mean over `averaged_over` samples, as in
    a step of sixteen million tokens (Llama 3 405B: arXiv:2407.21783), of which `batch` are drawn, and the learning rate
    makes up for the rest: in exact arithmetic neither changes anything, but the gradients are as small as those of a
    large job. `scale` multiplies the loss; the gradients are divided by it again before the update. A step with an
    infinite or NaN gradient is skipped; then, with `dynamic`, the scale is halved. A fixed scale that always overflows
    never learns: `skipped` shows it.
    Raises CourseError for unknown formats, for formats that cannot show an overflow (FP4) and for counts below 1.

    >>> lost, found = train_scaled("fp16", 1.0, steps=40), train_scaled("fp16", 2.0**16, steps=40)
    >>> bool(lost.loss[-1] > 1.5 * found.loss[-1]), bool(lost.underflowed[0] > 0.5), bool(found.underflowed[0] < 0.05)
    (True, True, True)
    """
    form = format_of(format)
    if form.special == "none":
        raise CourseError(
            _("{format} saturates: it cannot show an overflow, so a loss scale cannot be found.").format(
                format=form.name
            )
        )
    state = ScaleState(positive("scale", scale))
    steps, batch = whole("steps", steps, at_least=1), whole("batch", batch, at_least=1)
    rate, averaged_over = positive("learning_rate", learning_rate), positive("averaged_over", averaged_over)
    shape, task = Shape(), make_task(seed)
    weights, drawn = first_weights(shape, seed), batches(task, 1, steps, batch, seed)
    columns: dict[str, list] = {name: [] for name in ("loss", "scale", "skipped", "overflowed", "underflowed")}
    for step in range(steps):
        seen = dict.fromkeys(("values", "over", "under"), 0)

        def cast(array: np.ndarray, seen: dict[str, int] = seen) -> np.ndarray:
            rounded = round_to(array, form.name)
            seen["values"] += int(np.count_nonzero(array))
            seen["over"] += rounded.overflowed
            seen["under"] += rounded.underflowed
            return rounded.values

        with np.errstate(invalid="ignore", over="ignore"):  # inf − inf and 0 · inf are what a real run meets
            _loss, gradient = loss_and_gradient(
                weights,
                task.inputs[drawn[step]],
                task.labels[drawn[step]],
                shape,
                loss_scale=state.scale,
                averaged_over=averaged_over,
                cast=cast,
            )
        overflow = not np.isfinite(gradient).all()
        if not overflow:
            weights = weights - rate * (averaged_over / batch) * gradient[0] / state.scale
        values = max(seen["values"], 1)
        row = (mean_loss(weights, task, shape)[0], state.scale, overflow, seen["over"] / values, seen["under"] / values)
        for name, value in zip(columns, row):
            columns[name].append(value)
        if dynamic:
            state = next_scale(state, overflow, growth_interval=growth_interval)
    return ScaledTraining(*(np.array(c) for c in columns.values()), mean_loss(weights, task, shape)[1])


def smallest_kept(format: str, scale: object) -> float:
    """Return the smallest gradient that survives rounding to `format` after the loss was multiplied by `scale`.

    Half the smallest subnormal value rounds to zero (a tie goes to even), so anything above half of it survives.

    >>> f"{smallest_kept('fp16', 1.0):.2e} {smallest_kept('fp16', 1024.0):.2e}"
    '2.98e-08 2.91e-11'
    """
    return format_of(format).smallest / 2 / float(finite("scale", scale, above=0))
