"""Measured pipelines: the rows belong together, the line and its bubble are what the lesson says, uneven stages fill as foretold."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan.orders import make
from course_lib.plan.pipelineruns import fill, interleaving_gain, measured_gain, rows, sweep, sweep_shape
from course_lib.plan.transformer import params


def one_step(layers, m, schedule="1f1b"):
    """An independent clock for stages of unequal work: forward 1 and backward 2 for each layer."""
    p, order = len(layers), make(schedule, len(layers), m)
    done, place, free = {}, [0] * p, [0.0] * p
    while any(place[s] < len(order[s]) for s in range(p)):
        for s in range(p):
            while place[s] < len(order[s]):
                op = order[s][place[s]]
                if op.kind == "F":
                    needs = [("F", op.micro, s - 1)] if s else []
                else:
                    needs = [("F", op.micro, s)] + ([("B", op.micro, s + 1)] if s < p - 1 else [])
                if any(n not in done for n in needs):
                    break
                start = max([free[s], *(done[n] for n in needs)])
                free[s] = done[op.kind, op.micro, s] = start + layers[s] * (1 if op.kind == "F" else 2)
                place[s] += 1
    return max(free)


@pytest.mark.parametrize("layers", [[7] * 12, [7] * 11 + [1], [4, 4, 4, 2], [3, 5, 5, 4], [2]])
@pytest.mark.parametrize("m", [12, 32, 128])
def test_a_step_is_the_slowest_stage_times_micro_batches_and_fill(layers, m):
    assert one_step(layers, m, "gpipe") == pytest.approx(3 * max(layers) * (m + fill(layers)))


@pytest.mark.parametrize("m", [32, 64, 96, 128])
def test_the_measured_pipeline_in_1f1b_keeps_the_same_clock(m):
    layers = rows("step")[0].layers
    assert sum(layers) == sweep_shape().n_layers
    assert 3 * 7 * (m + 10) <= one_step(layers, m) <= 3 * 7 * (m + fill(layers))


def test_fill_of_equal_stages_is_one_less_than_their_number():
    assert [fill([3] * p) for p in (1, 2, 8)] == [0, 1, 7]
    with pytest.raises(CourseError):
        fill([7, 0])


def test_the_shape_has_the_published_size():
    assert params(sweep_shape()).total == pytest.approx(182e9, rel=0.005)


def test_the_line_goes_through_the_points_and_most_of_what_is_fixed_is_bubble():
    found = sweep()
    np.testing.assert_allclose(found.line_s, found.measured_s, rtol=0.004)
    assert 7 < found.bubble_s < 8
    assert found.bubble_s + found.gradients_s + found.unexplained_s == pytest.approx(found.fixed_s)
    assert 2 < found.gradients_s < 2.5
    assert 0 < found.unexplained_s < 0.25 * found.fixed_s


def test_the_bubble_makes_the_miss_a_third():
    found = sweep()
    off, off_without = found.foretold_s / found.measured_s - 1, found.without_bubble_s / found.measured_s - 1
    assert -0.1 < off[0] < -0.05
    assert off_without[0] < -0.24
    assert abs(off[-1]) < 1e-12
    assert found.measured_s[-1] / found.measured_s[0] == pytest.approx(3, abs=0.02)


def test_no_number_of_chunks_explains_the_measured_gain_with_32_micro_batches():
    assert interleaving_gain(8, 32, 1e9) < measured_gain() < interleaving_gain(8, 8, 2)
    assert interleaving_gain(8, 25, 1e9) > measured_gain() - 1e-6
    assert interleaving_gain(8, 26, 1e9) < measured_gain()


def test_handoffs_between_hosts_are_over_ten_times_slower():
    inside, between = (
        [r.value for r in rows("handoff") if r.name == n] for n in ("inside a host", "between two hosts")
    )
    assert min(inside) > 10 * max(between)
    assert max(between) < 10
    assert inside == sorted(inside, reverse=True)


def test_every_row_has_a_source_and_unknown_kinds_are_refused():
    assert all(r.address.startswith("https://") and r.source for k in ("step", "schedule", "handoff") for r in rows(k))
    with pytest.raises(CourseError, match="step"):
        rows("steps")
