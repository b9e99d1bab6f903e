import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.comm.driver import play
from course_lib.plan.breakeven import messages
from course_lib.plan.codecs import Dense, EightBit, LowRank, OneBit, RandomK, TopK
from course_lib.plan.compression import train, with_and_without_feedback
from course_lib.plan.exchange import exchange, fresh_memory
from course_lib.plan.smallmodel import Shape, batches, first_weights, loss_and_gradient, make_task

EVERY = [
    (Dense(), None),
    (Dense("bf16"), None),
    (TopK(0.05), None),
    (TopK(0.05), "two_phase"),
    (RandomK(0.05), None),
    (RandomK(0.05, shared=False), None),
    (RandomK(0.05), "all_gather"),
    (EightBit(), None),
    (EightBit(), "two_phase"),
    (OneBit(), None),
    (OneBit(), "two_phase"),
    (LowRank(2), None),
]


def once(codec, gradients, how=None, tensors=None, feedback=True):
    n, size = np.shape(gradients)
    return play(
        [
            exchange(codec, g, fresh_memory(size), n_ranks=n, rank=r, how=how, tensors=tensors, error_feedback=feedback)
            for r, g in enumerate(gradients)
        ]
    )


@pytest.mark.parametrize(("codec", "how"), EVERY, ids=str)
@pytest.mark.parametrize("n_ranks", [1, 3, 4])
def test_nothing_is_lost_only_late(codec, how, n_ranks):
    """Over several steps, on all ranks alike: what arrived plus what is still owed is what was given."""
    rng, steps, size = np.random.default_rng(3), 4, 120
    given, arrived = np.zeros(size), np.zeros(size)
    memories = [fresh_memory(size)] * n_ranks
    for step in range(steps):
        gradients = rng.standard_normal((n_ranks, size))
        results, _log = play(
            [
                exchange(codec, g, m, n_ranks=n_ranks, rank=r, step=step, how=how, tensors=((10, 11), (1, 10)))
                for r, (g, m) in enumerate(zip(gradients, memories))
            ]
        )
        for result in results[1:]:
            np.testing.assert_array_equal(result.mean, results[0].mean)
        given, arrived = given + gradients.mean(axis=0), arrived + results[0].mean
        memories = [r.memory for r in results]
    owed = np.mean([m.error for m in memories], axis=0)
    if how == "two_phase":
        owed = owed + np.concatenate([m.shard_error for m in memories])[:size]
    tolerance = 0.05 if codec == Dense("bf16") else 1e-5  # an all-reduce in BF16 rounds sums that nobody remembers
    np.testing.assert_allclose(arrived + owed, given, atol=tolerance)


@pytest.mark.parametrize(("codec", "how"), EVERY, ids=str)
def test_counted_bytes_are_the_predicted_ones(codec, how):
    shape = Shape()
    run = train(codec, how=how, steps=2, n_ranks=4)
    expected = messages(codec, shape.size, 4, how=how, tensors=shape.tensors)
    assert run.message_B == sum(m.message_B for m in expected)
    assert sum(run.collectives.values()) == 2 * len(expected)
    assert set(run.collectives) == {m.op for m in expected}
    assert run.sent_B == pytest.approx(sum(m.sent_B for m in expected), rel=2e-3)  # the ring pads to whole chunks


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_dense_ranks_train_like_one_process_with_the_whole_batch(momentum):
    run, shape, task = train(Dense(), n_ranks=4, steps=15, seed=5, momentum=momentum), Shape(), make_task(5)
    weights, velocity = first_weights(shape, 5), 0.0
    for rows in batches(task, 4, 15, 16, 5):
        at = rows.reshape(1, -1)
        gradient = loss_and_gradient(weights, task.inputs[at], task.labels[at], shape)[1][0]
        velocity = momentum * velocity + gradient
        weights = weights - 0.3 * velocity
    np.testing.assert_allclose(run.weights, weights, atol=1e-4)


@pytest.mark.parametrize("codec", [TopK(0.01), OneBit(), LowRank(1), RandomK(0.1)], ids=str)
def test_error_feedback_reaches_the_dense_loss_and_its_absence_does_not(codec):
    dense = train(Dense()).loss[-1]
    kept, lost = with_and_without_feedback(codec)
    assert kept.loss[-1] < 1.5 * dense
    assert lost.loss[-1] > 1.7 * dense


def test_bytes_of_gathered_packets_grow_with_ranks_and_those_of_an_all_reduce_do_not():
    few, many = (train(TopK(0.01), steps=1, n_ranks=n).sent_B for n in (2, 8))
    assert many / few == 7
    few, many = (train(Dense(), steps=1, n_ranks=n).sent_B for n in (2, 8))
    assert many / few == pytest.approx(1.75, rel=0.01)


def test_the_same_seed_gives_the_same_run_and_codec_time_is_measured():
    a, b, c = (train(TopK(0.02), steps=5, seed=s) for s in (7, 7, 8))
    np.testing.assert_array_equal(a.loss, b.loss)
    assert not np.array_equal(a.loss, c.loss)
    assert (a.encode_s > 0).all()
    assert (a.decode_s > 0).all()


def put(value, at_step=3):
    def disturb(step, gradients):
        if step == at_step:
            gradients[1, 17] = value
        return gradients

    return disturb


@pytest.mark.parametrize(("codec", "how"), EVERY, ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_ends_the_run_with_step_and_place(codec, how, value):
    run = train(codec, how=how, steps=6, disturb=put(value))
    assert len(run.loss) == 3
    assert run.stopped.startswith("Step 3: ")
    assert "position 17" in run.stopped
    assert np.isfinite(run.weights).all()


def test_a_sum_that_overflows_on_the_way_ends_the_run_and_is_counted():
    run = train(Dense("fp16"), steps=6, disturb=put(1e6))
    assert run.stopped == "Step 3: sums that overflowed on the way: 1."
    shared = train(Dense("fp16"), steps=6, n_ranks=4, disturb=lambda s, g: np.full_like(g, 3e4))
    assert "overflowed" in shared.stopped  # each fits, their sum does not


@pytest.mark.parametrize(("codec", "how"), EVERY, ids=str)
def test_zero_gradients_change_nothing(codec, how):
    run = train(codec, how=how, steps=3, disturb=lambda step, gradients: gradients * 0)
    assert run.stopped == ""
    np.testing.assert_array_equal(run.weights, first_weights(Shape(), 0))


@pytest.mark.parametrize(("codec", "how"), EVERY, ids=str)
def test_one_huge_value_is_seen_in_the_loss(codec, how):
    run = train(codec, how=how, steps=8, disturb=put(1e9))
    assert run.stopped or run.loss[3:].max() > 100 or isinstance(codec, RandomK)
    assert np.isfinite(run.loss).all()


def test_divergence_is_said():
    run = train(RandomK(0.01), momentum=0.95, learning_rate=1e8, steps=200)
    assert run.stopped


def test_what_cannot_work_is_refused_in_words():
    for codec, options, word in (
        (TopK(), {"how": "all_reduce"}, "gather"),
        (LowRank(), {"how": "all_gather"}, "all-reduce"),
        (RandomK(rescale=True), {}, "diverges"),
        (Dense(), {"how": "teleport"}, "way to exchange"),
        (Dense(), {"n_ranks": 0}, "n_ranks"),
        (Dense(), {"momentum": 1}, "momentum"),
        (Dense(), {"learning_rate": -1}, "learning_rate"),
        (Dense(), {"batch": 5000}, "batch"),
        (Dense(), {"learning_rate": [0.1, 0.2]}, "one number"),
        (Dense(), {"disturb": lambda step, g: g[:1]}, "same shape"),
        ("top-k", {}, "no codec"),
    ):
        with pytest.raises(CourseError, match=word):
            train(codec, steps=1, **options)


def test_low_rank_needs_shapes_that_fit():
    with pytest.raises(CourseError, match="6 values"):
        once(LowRank(1), np.ones((2, 6)), tensors=((2, 2),))
