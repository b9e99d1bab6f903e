import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.fabric.patterns import PATTERNS, all_to_all, halves, incast, pattern, permutation, shift
from course_lib.fabric.registry import build, names
from course_lib.fabric.routes import CHOICES, routes
from course_lib.fabric.sharing import busiest, fullest_of_hashed, loads, max_min_rates, sharers, slowed_by
from course_lib.fabric.topology import assemble, link_name

BUILT = {name: build(name) for name in names() if name not in ("tpu-v4-pod",)}


@given(st.sampled_from(list(BUILT)), st.data())
@settings(max_examples=80, deadline=None)
def test_fair_rates_fill_a_link_of_every_flow_where_none_gets_more(name, data):
    t = BUILT[name]
    gpu = st.integers(0, min(t.n_gpus, 128) - 1)
    src, dst = np.array(data.draw(st.lists(st.tuples(gpu, gpu), min_size=1, max_size=25))).T
    paths = routes(t, src, dst, data.draw(st.sampled_from(CHOICES)), data.draw(st.integers(0, 99)))
    rate = max_min_rates(t, paths)
    assert np.isinf(rate[src == dst]).all()
    assert (rate > 0).all()
    assert np.isfinite(rate[src != dst]).all()
    flow, link, share = paths.spread()
    load = np.bincount(link, share * rate[flow], t.n_links)
    assert (load <= t.bandwidth_Bps * (1 + 1e-9)).all()
    full = load >= t.bandwidth_Bps * (1 - 1e-9)
    fastest = np.zeros(t.n_links)
    np.maximum.at(fastest, link, rate[flow])
    held = full[link] & (rate[flow] >= fastest[link] * (1 - 1e-9))
    assert set(flow[held]) == set(np.flatnonzero(src != dst))


def test_fair_rates_of_a_known_case():
    # Three flows: A over links 1 and 2, B over 1, C over 2; link 1 holds 1, link 2 holds 3. A = B = 0.5, C = 2.5.
    t = assemble(
        "line", [("gpu", 0)] * 3 + [("cpu", 0)] * 1,
        [(0, 3, "pcie", 1e9, 0, 1), (1, 3, "pcie", 3e9, 0, 1), (2, 3, "pcie", 9e9, 0, 1)],
    )  # fmt: skip
    paths = routes(t, [0, 0, 2], [1, 2, 1])
    assert (max_min_rates(t, paths) / 1e9).tolist() == pytest.approx([0.5, 0.5, 2.5])


def test_seven_senders_share_one_port_of_an_h100():
    t = build("hgx-h100")
    rate = max_min_rates(t, routes(t, *incast(8, 7)))
    assert rate == pytest.approx([450e9 / 7] * 7)
    link, time_s = busiest(t, loads(t, routes(t, *incast(8, 7)), 1e9))
    assert link_name(t, link).endswith("→ gpu 7")
    assert time_s == pytest.approx(7e9 / 450e9)


@pytest.mark.parametrize("name", ["hgx-a100", "hgx-h100", "hgx-b200", "nvl72", "dgx2"])
@pytest.mark.parametrize("by", [1, 3, 7])
def test_a_switched_box_is_non_blocking_for_permutations(name, by):
    t = build(name)
    for src, dst in (shift(t.n_gpus, by), permutation(t.n_gpus, by), halves(t.n_gpus)):
        per_gpu = t.bandwidth_Bps[t.src == 0].sum()
        assert max_min_rates(t, routes(t, src, dst)) == pytest.approx(per_gpu)


def test_all_to_all_fills_a_mesh_evenly_and_a_shift_uses_a_seventh():
    t = build("mi300x")
    load = loads(t, routes(t, *all_to_all(8)), 1.0)
    assert (load == 1.0).all()
    assert np.count_nonzero(loads(t, routes(t, *shift(8, 1)), 1.0)) == 8


def test_who_shares_with_whom():
    t = build("pcie-8")
    paths = routes(t, [0, 1, 4], [2, 3, 6])
    table = sharers(t, paths)
    assert table[0, 1] == 2
    assert table[0, 2] == 0
    assert (table == table.T).all()
    assert slowed_by(t, paths) == pytest.approx([2, 2, 1])
    assert slowed_by(t, routes(t, [0, 3], [1, 3])) == pytest.approx([1, 1])


def test_hashing_leaves_some_paths_empty_and_piles_up_on_others():
    worst = fullest_of_hashed(64, 64, trials=500)
    assert 3 <= worst.mean() <= 6
    assert worst.min() >= 2
    assert (fullest_of_hashed(5, 1) == 5).all()
    assert (fullest_of_hashed(0, 4) == 0).all()
    assert (fullest_of_hashed(64, 64, seed=1) == fullest_of_hashed(64, 64, seed=1)).all()
    t = build("superpod-h100")
    src, dst = shift(1024, 256)  # all to the next unit: every flow goes over a spine
    even, hashed = (max_min_rates(t, routes(t, src, dst, c)) for c in ("adaptive", "hashed"))
    assert even == pytest.approx(50e9)
    assert hashed.min() <= 50e9 / 3
    assert hashed.max() <= 50e9 * (1 + 1e-9)


def test_patterns_send_to_others_and_stay_in_range():
    for name in PATTERNS:
        for n in (2, 3, 8, 72):
            src, dst = pattern(name, n)
            assert ((src >= 0) & (src < n) & (dst >= 0) & (dst < n)).all()
            assert (src != dst).all()
    assert [len(pattern(name, 1)[0]) for name in ("incast", "all-to-all", "halves")] == [0, 0, 0]
    for seed in range(30):
        for n in (2, 3, 5):
            src, dst = permutation(n, seed)
            assert sorted(dst) == list(src)
            assert (src != dst).all()
    with pytest.raises(CourseError, match="no pattern 'incats'"):
        pattern("incats", 8)
    with pytest.raises(CourseError, match="has no to; it has: by"):
        pattern("shift", 8, to=3)
    with pytest.raises(CourseError, match="at most 7"):
        incast(8, 8)


def test_bad_sizes_are_refused_in_words():
    t = build("hgx-h100")
    paths = routes(t, [0, 1], [2, 3])
    for size, said in ((-1, "at least 0"), (np.nan, "finite"), ([1, 2, 3], "3 sizes for 2 pairs"), ("8", "number")):
        with pytest.raises(CourseError, match=said):
            loads(t, paths, size)
    with pytest.raises(CourseError, match="has 64 links"):
        busiest(t, [1.0])
    assert busiest(t, np.zeros(64)) == (0, 0.0)
    assert loads(t, paths, 2**60).max() == pytest.approx(2**60 * 5 / 18)


def test_no_flows_have_no_rates():
    t = build("hgx-h100")
    assert max_min_rates(t, routes(t, [], [])).shape == (0,)
    assert sharers(t, routes(t, [], [])).shape == (0, 0)
