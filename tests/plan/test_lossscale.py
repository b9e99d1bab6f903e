import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan.lossscale import ScaleState, next_scale, smallest_kept, train_scaled
from course_lib.plan.precision import round_to
from course_lib.plan.smallmodel import Shape, first_weights, loss_and_gradient, make_task


def test_small_gradients_underflow_without_a_scale_and_learning_suffers():
    exact, lost, scaled = (train_scaled(f, s, steps=60) for f, s in (("fp32", 1.0), ("fp16", 1.0), ("fp16", 2.0**16)))
    assert lost.underflowed[0] > 0.5
    assert lost.loss[-1] > 1.5 * exact.loss[-1]
    assert scaled.underflowed.max() < 0.02
    assert abs(scaled.loss[-1] - exact.loss[-1]) < 0.02 * exact.loss[-1]
    assert train_scaled("bf16", 1.0, steps=60).underflowed.max() == 0


def test_too_large_a_fixed_scale_skips_every_step_and_says_so():
    stuck = train_scaled("fp16", 2.0**38, steps=10)
    assert stuck.skipped.all()
    assert stuck.overflowed[0] > 0
    assert len(set(stuck.loss.tolist())) == 1


@pytest.mark.parametrize("format", ["fp16", "fp8-e5m2", "fp8-e4m3"])
def test_a_dynamic_scale_comes_down_until_it_fits_and_then_learns(format):
    run = train_scaled(format, 2.0**39, dynamic=True, steps=60)
    first = int(np.argmin(run.skipped))
    assert run.skipped[:first].all()
    assert first > 0
    np.testing.assert_array_equal(run.scale[: first + 1], 2.0**39 / 2.0 ** np.arange(first + 1))
    assert run.loss[-1] < 0.2 * run.loss[0]


def test_the_scale_grows_after_enough_clean_steps_only():
    state, seen = ScaleState(8.0), []
    for overflow in (False, False, True, False, False, False):
        state = next_scale(state, overflow, growth_interval=3)
        seen.append((state.scale, state.clean_steps))
    assert seen == [(8, 1), (8, 2), (4, 0), (4, 1), (4, 2), (8, 0)]


def test_smallest_kept_is_where_rounding_begins_to_lose():
    edge = smallest_kept("fp16", 256.0)
    assert round_to([edge * 256, edge * 1.001 * 256], "fp16").values.tolist() == [0.0, 2.0**-24]


def test_gradient_equals_finite_differences():
    shape, task = Shape(5, 7, 3), make_task(3, samples=12, features=5, classes=3)
    weights, x, y = first_weights(shape, 1) + 0.01, task.inputs[None], task.labels[None]
    _loss, gradient = loss_and_gradient(weights, x, y, shape)
    for i in range(0, shape.size, 3):
        step = np.zeros(shape.size)
        step[i] = 1e-6
        up, down = (loss_and_gradient(weights + s, x, y, shape)[0][0] for s in (step, -step))
        assert abs((up - down) / 2e-6 - gradient[0, i]) < 1e-7


@pytest.mark.parametrize(
    "wrong",
    [
        {"scale": 0},
        {"scale": np.nan},
        {"format": "fp4"},
        {"format": "fp99"},
        {"steps": 0},
        {"batch": 10**9},
        {"averaged_over": -1},
        {"learning_rate": "fast"},
        {"scale": [1.0, 2.0]},
        {"learning_rate": [0.1]},
        {"averaged_over": []},
    ],
)
def test_wrong_settings_get_a_sentence(wrong):
    with pytest.raises(CourseError):
        train_scaled(**wrong)


def test_a_growth_that_shrinks_is_refused():
    with pytest.raises(CourseError, match="growth"):
        next_scale(ScaleState(1.0), False, growth=0.5)
    with pytest.raises(CourseError, match="backoff"):
        next_scale(ScaleState(1.0), True, backoff=1.0)
