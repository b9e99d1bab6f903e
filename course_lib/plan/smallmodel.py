"""A small model that is really trained: two layers in NumPy, synthetic data, gradients of many ranks at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _

Cast = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Task:
    """Points in classes that no straight cut separates: `inputs` (samples, features), `labels` (samples,)."""

    inputs: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the model; its weights are one flat vector of `size`, in the order of `matrices` and `vectors`."""

    features: int = 32
    hidden: int = 64
    classes: int = 10

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(rows * columns for rows, columns in self.tensors)

    @property
    def tensors(self) -> tuple[tuple[int, int], ...]:
        """(rows, columns) of each tensor in the flat vector; a bias is one row."""
        return (self.features, self.hidden), (1, self.hidden), (self.hidden, self.classes), (1, self.classes)


def make_task(seed: object = 0, *, samples: object = 2048, features: object = 32, classes: object = 10) -> Task:
    """Return a classification task: three clouds of points per class, centres and noise drawn from `seed`.

    >>> make_task(0).inputs.shape, int(make_task(0).labels.max())
    ((2048, 32), 9)
    """
    rng = np.random.default_rng(whole("seed", seed, at_least=0))
    samples, features = whole("samples", samples, at_least=1), whole("features", features, at_least=1)
    classes = whole("classes", classes, at_least=2)
    centres = rng.standard_normal((classes * 3, features))
    which = rng.integers(0, classes * 3, samples)
    inputs = centres[which] + 0.6 * rng.standard_normal((samples, features))
    return Task(inputs, which % classes)


def first_weights(shape: Shape, seed: object = 0) -> np.ndarray:
    """Return flat weights to begin with (size,), scaled to the fan-in; biases zero.

    >>> first_weights(Shape()).size == Shape().size
    True
    """
    rng = np.random.default_rng([whole("seed", seed, at_least=0), 1])
    parts = [
        rng.standard_normal(rows * columns) * np.sqrt(2.0 / rows) if rows > 1 else np.zeros(columns)
        for rows, columns in shape.tensors
    ]
    return np.concatenate(parts)


def parts_of(flat: np.ndarray, shape: Shape) -> list[np.ndarray]:
    """Return views of a flat vector (or of many: (…, size)) as tensors (…, rows, columns).

    >>> [part.shape for part in parts_of(np.zeros(Shape().size), Shape())]
    [(32, 64), (1, 64), (64, 10), (1, 10)]
    """
    ends = np.cumsum([0] + [rows * columns for rows, columns in shape.tensors])
    return [flat[..., a:b].reshape(*flat.shape[:-1], *t) for a, b, t in zip(ends, ends[1:], shape.tensors)]


def _same(array: np.ndarray) -> np.ndarray:
    return array


def loss_and_gradient(
    weights: np.ndarray,
    inputs: np.ndarray,
    labels: np.ndarray,
    shape: Shape,
    *,
    loss_scale: float = 1.0,
    averaged_over: float | None = None,
    cast: Cast = _same,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean cross-entropy and its gradient for each of many ranks.

    `weights` (size,) are the same everywhere; `inputs` (ranks, batch, features), `labels` (ranks, batch). Returns loss
    (ranks,) and gradients (ranks, size), multiplied by `loss_scale` and divided by `averaged_over` samples instead of
    the batch if that is given. `cast` rounds every product of the backward pass, as a narrow format would; the forward
    pass stays exact.

    >>> shape, task = Shape(), make_task(0)
    >>> loss, gradient = loss_and_gradient(first_weights(shape), task.inputs[None], task.labels[None], shape)
    >>> gradient.shape, bool(2 < loss[0] < 4)
    ((1, 2762), True)
    """
    first, bias, second, offset = parts_of(weights, shape)
    before = inputs @ first + bias
    hidden = np.maximum(before, 0.0)
    scores = hidden @ second + offset
    scores -= scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores)
    total = exponentials.sum(axis=-1, keepdims=True)
    right = np.take_along_axis(scores, labels[..., None], axis=-1)
    loss = (np.log(total) - right)[..., 0].mean(axis=-1)

    share = loss_scale / (labels.shape[-1] if averaged_over is None else averaged_over)
    at_scores = exponentials / total
    np.put_along_axis(at_scores, labels[..., None], np.take_along_axis(at_scores, labels[..., None], -1) - 1.0, -1)
    at_scores = cast(at_scores * share)
    at_hidden = cast(at_scores @ second.T) * (before > 0)
    gradients = (
        cast(np.swapaxes(inputs, -1, -2) @ at_hidden),
        cast(at_hidden.sum(axis=-2, keepdims=True)),
        cast(np.swapaxes(hidden, -1, -2) @ at_scores),
        cast(at_scores.sum(axis=-2, keepdims=True)),
    )
    return loss, np.concatenate([g.reshape(len(labels), -1) for g in gradients], axis=-1)


def mean_loss(weights: np.ndarray, task: Task, shape: Shape, samples: int = 512) -> tuple[float, float]:
    """Return loss and share of right answers over the first `samples` of the task.

    >>> loss, right = mean_loss(first_weights(Shape()), make_task(0), Shape())
    >>> bool(loss > 2), right < 0.3
    (True, True)
    """
    first, bias, second, offset = parts_of(weights, shape)
    inputs, labels = task.inputs[:samples], task.labels[:samples]
    # pieces of 64 rows: products so small that BLAS starts no threads, which would fight for few cores
    pieces = inputs.reshape(-1, 64, shape.features) if len(inputs) % 64 == 0 else inputs
    scores = (np.maximum(pieces @ first + bias, 0.0) @ second + offset).reshape(len(inputs), -1)
    scores -= scores.max(axis=1, keepdims=True)
    right = scores[np.arange(len(labels)), labels]
    loss = float((np.log(np.exp(scores).sum(axis=1)) - right).mean())
    return loss, float((scores.argmax(axis=1) == labels).mean())


def batches(task: Task, n_ranks: object, steps: object, batch: object, seed: object) -> np.ndarray:
    """Return which samples each rank sees in each step (steps, ranks, batch): its own share of the data, reshuffled.

    The data is dealt out to the ranks in turn. Raises CourseError when a rank's share is smaller than its batch.

    >>> batches(make_task(0), 4, 3, 8, 0).shape
    (3, 4, 8)
    """
    n_ranks, steps = whole("n_ranks", n_ranks, at_least=1), whole("steps", steps, at_least=1)
    share = len(task.labels) // n_ranks
    batch = whole("batch", batch, at_least=1, at_most=share)
    rng = np.random.default_rng([whole("seed", seed, at_least=0), 2])
    drawn = rng.integers(0, share, (steps, n_ranks, batch))
    return drawn * n_ranks + np.arange(n_ranks)[None, :, None]


def positive(name: str, value: object) -> float:
    """Return a single number above zero, or raise a CourseError.

    >>> positive("learning_rate", 1)
    1.0
    """
    number = finite(name, value, above=0)
    if np.ndim(number):
        raise CourseError(
            _("{name} has {count} entries; one number is expected.").format(name=name, count=np.size(number))
        )
    return number
