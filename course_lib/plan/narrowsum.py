"""What a sum over many ranks is worth when it is kept in a narrow format: all-reduce run for real, order and all."""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.comm import direct, halving, ring, tree
from course_lib.comm.execute import run
from course_lib.plan.precision import caster, format_of, numbers_in, round_to

ORDERS = {
    "ring": ring.all_reduce,
    "tree": tree.binomial_all_reduce,
    "double-tree": tree.all_reduce,
    "halving-doubling": halving.all_reduce,
    "direct": direct.all_reduce,
}
VALUES = ("gradients", "positive", "ones")


@dataclass(frozen=True, slots=True)
class NarrowSum:
    """The result of one all-reduce in a narrow format, against the exact sum of the same (rounded) inputs.

    `values`: what rank 0 holds (float64). `relative_error`: root mean square error over that of the exact sum; infinite
    if it holds values that overflowed. `overflowed`: additions, on all ranks, whose result did not fit, and sums that did
    not fit at the end (FP4 saturates: its error stays finite, this count tells). `disagreeing`: values on which the ranks
    end with different bits. `wire_B_each`: bytes per value on the wire.
    """

    values: np.ndarray
    relative_error: float
    overflowed: int
    disagreeing: int
    wire_B_each: float


def make_values(kind: str, n_ranks: int, elements: int, seed: int = 0) -> np.ndarray:
    """Return inputs (n_ranks, elements): "gradients" (normal, mean 0), "positive" (uniform in 0.5 … 1.5), or "ones".

    >>> make_values("ones", 2, 3).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    kind = one_of("kind of values", kind, VALUES)
    rng = np.random.default_rng([seed, n_ranks])
    if kind == "ones":
        return np.ones((n_ranks, elements))
    if kind == "positive":
        return rng.uniform(0.5, 1.5, (n_ranks, elements))
    return rng.standard_normal((n_ranks, elements))


def narrow_all_reduce(data: object, format: str, *, order: str = "ring", accumulate: str | None = None) -> NarrowSum:
    """Add the rows of `data` (n_ranks, elements) with an all-reduce whose partial sums live in a narrow format.

    The inputs are rounded to `format` first. Every partial sum is rounded to `accumulate` (None: the same format), in
    the order in which the schedule named by `order` (one of `ORDERS`) adds; at the end the sum is rounded to `format`.
    Partial sums travel, so accumulating in FP32 means FP32 on the wire, but for "direct", where only the inputs do.
    Values that are not finite are refused; sums that overflow are shown and counted.

    >>> ones = np.ones((512, 4))
    >>> narrow_all_reduce(ones, "bf16").values.tolist()  # 256 + 1 rounds to 256: the ring stops counting
    [256.0, 256.0, 256.0, 256.0]
    >>> narrow_all_reduce(ones, "bf16", order="tree").values.tolist()
    [512.0, 512.0, 512.0, 512.0]
    """
    form, partial = format_of(format), format_of(format if accumulate is None else accumulate)
    build = ORDERS[one_of("order of adding", order, ORDERS)]
    if form.bits > partial.bits:
        raise CourseError(
            _(
                "Sums of {format} values in {partial} would lose what was sent; accumulate in the same or a wider one."
            ).format(format=form.name, partial=partial.name)
        )
    rows = finite("data", numbers_in("data", data))
    if np.ndim(rows) != 2 or rows.size == 0:
        raise CourseError(_("data has to have one row per rank and at least one column."))
    inputs = round_to(rows, form.name)
    if inputs.overflowed:
        raise CourseError(
            _("{count} of the inputs overflow in {format} before anything is added; scale them down.").format(
                count=inputs.overflowed, format=form.name
            )
        )
    exact, narrow, lost = inputs.values.sum(axis=0), caster(partial.name), [0]

    def cast(total: np.ndarray) -> np.ndarray:
        rounded = narrow(total)
        gone = np.abs(total) >= 7.0 if partial.special == "none" else np.isfinite(total) & ~np.isfinite(rounded)
        lost[0] += int(np.count_nonzero(gone))
        return rounded

    ends = np.stack(run(build(len(rows)), inputs.values, cast=cast))
    lost[0] += round_to(ends[0], form.name).overflowed
    every = round_to(ends, form.name).values
    values = every[0]
    bad = ~np.isfinite(values)
    scale = float(np.sqrt(np.mean(exact**2)))
    miss = 0.0 if bad.any() else float(np.sqrt(np.mean((values - exact) ** 2)))
    error = np.inf if bad.any() else miss / scale if scale > 0 else (0.0 if miss == 0 else np.inf)
    different = ((every != values) & ~(np.isnan(every) & np.isnan(values))).any(axis=0)
    wire = form.stored_B if order == "direct" else partial.stored_B
    return NarrowSum(values, float(error), lost[0], int(different.sum()), wire)


def error_against_ranks(
    n_ranks: object,
    format: str,
    *,
    order: str = "ring",
    accumulate: str | None = None,
    values: str = "gradients",
    elements: object = 256,
    seed: object = 0,
) -> np.ndarray:
    """Return the relative error of `narrow_all_reduce` for each rank count in `n_ranks` (K,).

    Rounding errors of a chain of n sums grow: as a random walk, relative to sums of mean 0 they grow with √n, and where
    all values are positive they end in stagnation: small addends vanish beside the large sum. A tree adds numbers of
    like size, log₂ n times. Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., chapter 4.

    >>> ring_error, tree_error = (error_against_ranks([64], "bf16", order=o)[0] for o in ("ring", "tree"))
    >>> bool(ring_error > 1.5 * tree_error)
    True
    """
    counts = np.atleast_1d(np.asarray(n_ranks)).ravel()
    elements, seed = whole("elements", elements, at_least=1), whole("seed", seed, at_least=0)
    return np.array(
        [
            narrow_all_reduce(
                make_values(values, n, elements, seed), format, order=order, accumulate=accumulate
            ).relative_error
            for n in (whole("n_ranks", c, at_least=1, at_most=1024) for c in counts)
        ]
    )
