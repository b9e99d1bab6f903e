import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.plan import sharding
from course_lib.plan.price import price
from course_lib.plan.sharding import accumulate, bucket_search, overlap

layers = st.lists(st.tuples(st.floats(0, 1e-2), st.floats(0, 1e9)), min_size=1, max_size=12)


def line(latency_s, bandwidth_Bps):
    return lambda message_B: latency_s + message_B / bandwidth_Bps


@settings(max_examples=100, deadline=None)
@given(layers, st.floats(1, 4e9), st.floats(0, 1e-3), st.floats(1e8, 1e12), st.floats(1, 100))
def test_exposed_time_is_never_negative_and_never_grows_with_bandwidth(rows, bucket_B, latency_s, rate, faster):
    seconds, sizes = zip(*rows)
    slow = overlap(seconds, sizes, bucket_B, line(latency_s, rate))
    fast = overlap(seconds, sizes, bucket_B, line(latency_s, rate * faster))
    assert 0 <= fast.exposed_s <= slow.exposed_s
    assert slow.bucket_B.sum() == pytest.approx(sum(sizes))
    if slow.finish_s.size:
        assert slow.exposed_s == pytest.approx(max(slow.finish_s[-1] - slow.backward_s, 0), abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(layers, st.floats(1, 4e9))
def test_one_network_serves_buckets_in_order_and_not_before_they_are_ready(rows, bucket_B):
    o = overlap(*zip(*rows), bucket_B, line(1e-5, 1e10))
    assert (o.start_s >= o.ready_s).all()
    assert (o.start_s[1:] >= o.finish_s[:-1]).all()
    assert (o.bucket_B[:-1] >= bucket_B).all()


def test_search_agrees_with_one_timeline_at_a_time():
    rng = np.random.default_rng(0)
    seconds, sizes = rng.uniform(0, 1e-3, 40), rng.uniform(1e5, 1e8, 40)
    time_of = line(3e-5, 4e10)
    found = bucket_search(seconds, sizes, time_of, first_bucket_B=1e6)
    single = [overlap(seconds, sizes, b, time_of, first_bucket_B=1e6) for b in found.bucket_B]
    np.testing.assert_allclose(found.exposed_s, [o.exposed_s for o in single], rtol=1e-12)
    np.testing.assert_array_equal(found.n_buckets, [o.bucket_B.size for o in single])
    assert found.best_exposed_s == found.exposed_s.min()
    assert 0 < int(np.argmin(found.exposed_s)) < 63  # neither tiny buckets nor one bucket


def test_few_sizes_and_many_are_searched_alike(monkeypatch):
    rng = np.random.default_rng(3)
    for _case in range(200):
        sizes = rng.choice([0.0, 0.1, 0.2, 1.0, 3.0, 5e6], rng.integers(1, 12))
        limits, first = rng.choice([0.1, 0.3, 0.6, 1.0, 4.0, 1e7], 5), rng.choice([0.05, 0.3, 1.0], 5)
        monkeypatch.setattr(sharding, "FEW", 0)
        wide = sharding._closings(sizes, limits, first)
        monkeypatch.setattr(sharding, "FEW", 5)
        assert all((a == b).all() for a, b in zip(wide, sharding._closings(sizes, limits, first), strict=True))


def test_the_price_is_asked_once_with_the_buckets_only():
    asked = []

    def time_of(message_B):
        asked.append(np.array(message_B))
        return message_B / 1e9

    bucket_search([1, 1, 1], [1e9, 2e9, 3e9], time_of, [1e9, 4e9])
    assert len(asked) == 1
    assert sorted(asked[0].tolist()) == [1e9, 2e9, 3e9, 6e9]


def test_a_bucket_closes_when_it_is_full_or_at_the_end():
    o = overlap([1] * 5, [4, 4, 4, 20, 1], 10, line(0, 100))
    assert o.bucket_B.tolist() == [12, 20, 1]
    assert o.bucket_of.tolist() == [0, 0, 0, 1, 2]
    assert o.ready_s.tolist() == [3, 4, 5]
    assert overlap([1] * 5, [4, 4, 4, 20, 1], 10, line(0, 100), first_bucket_B=2).bucket_B.tolist() == [4, 28, 1]


def test_layers_without_gradients_send_nothing():
    o = overlap([1, 1], [0, 0], 10, line(1, 1))
    assert (o.exposed_s, o.bucket_B.size) == (0, 0)
    assert bucket_search([1, 1], [0, 0], line(1, 1)).best_exposed_s == 0


def test_accumulating_saves_traffic_only_when_the_reduction_is_put_off():
    kept = {"forward_s": 1e-3, "backward_s": [1e-3] * 4, "gradient_B": [1e6] * 4, "bucket_B": 1e6}
    kept |= {"time_of": line(1e-4, 1e9), "micro_batches": 8}
    often, once = accumulate(**kept, deferred=False), accumulate(**kept, deferred=True)
    assert (often.reduced_B, once.reduced_B) == (32e6, 4e6)
    assert often.step_s - once.step_s == pytest.approx(7 * once.exposed_s)


@pytest.mark.parametrize(
    ("seconds", "sizes", "bucket_B"),
    [
        ([1, 2], [1], 1),
        ([], [], 1),
        ([-1], [1], 1),
        ([1], [-1], 1),
        ([np.nan], [1], 1),
        ([1], [1], 0),
        ([1], [1], [1, 2]),
        ([[1]], [[1]], 1),
        (["a"], [1], 1),
    ],
)
def test_wrong_layers_get_a_sentence(seconds, sizes, bucket_B):
    with pytest.raises(CourseError):
        overlap(seconds, sizes, bucket_B, line(0, 1))


@pytest.mark.parametrize(
    "time_of", [lambda m: -1.0, lambda m: np.nan, lambda m: [1.0, 2.0], lambda m: "fast", None, lambda m: np.inf]
)
def test_a_price_that_is_no_time_is_refused(time_of):
    with pytest.raises(CourseError):
        price(time_of, [1.0, 2.0, 3.0])
