"""The prediction everybody calls: terms, edges, vectors, validity, forced algorithms, systems of one's own."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.comm import registry
from course_lib.comm.meaning import OPS, bus_factor
from course_lib.timing import constants
from course_lib.timing import laws as law_module
from course_lib.timing import system as systems
from course_lib.timing.tuning import predict

SOME = ("dgx-h100", "dgx-a100", "gh200-quad", "gb200-nvl72", "mi300x", "rtx4090-box", "polaris", "dgx1-v100")
# One system for each way of building hosts and joining them.
UNLIKE = {
    (s.scale_up.family, s.scale_out.family, s.gpus_per_domain): s.name for s in map(systems.load, systems.names())
}
SIZES = np.array([0, 1, 3, 8, 4096, 2**16, 2**20, 2**26, 2**30, 2**60], float)


@pytest.mark.parametrize("name", systems.names())
@pytest.mark.parametrize("op", OPS)
def test_every_collective_on_every_system_is_finite_and_its_terms_add_up(name, op):
    system = systems.load(name)
    for n in {2, system.gpus_per_host, 2 * system.gpus_per_domain}:
        if 2 <= n <= system.n_max:
            p = predict(op, SIZES, system, n)
            assert (p.time_s > 0).all()
            assert np.isfinite(p.time_s).all()
            assert sum(p.terms.values()) == pytest.approx(p.time_s, rel=1e-12, abs=0)
            assert all((term >= 0).all() for term in p.terms.values())
            assert (np.diff(p.time_s) >= 0).all()
            assert p.busbw_Bps == pytest.approx(p.algbw_Bps * bus_factor(op, n))
            # A collective without a law of its own would be priced as a ring that it does not have.
            assert {*np.ravel(p.algorithm)} <= {*registry.algorithms(op), "in-network tree"}, (op, n)


@pytest.mark.parametrize("ideal", [False, True])
def test_vectors_and_scalars_and_integers_agree(ideal):
    sizes = np.array([[0, 1, 8], [1000, 2**20, 2**31 - 1]])
    many = predict("all_reduce", sizes, "dgx-h100", 16, ideal=ideal)
    for index in np.ndindex(sizes.shape):
        for cast in (int, float, np.int32, np.int64, np.float64):
            one = predict("all_reduce", cast(sizes[index]), "dgx-h100", 16, ideal=ideal)
            assert isinstance(one.time_s, float)
            assert one.time_s == pytest.approx(float(many.time_s[index]), rel=1e-12, abs=0)
            assert (one.algorithm, one.protocol) == (many.algorithm[index], many.protocol[index])


def test_one_rank_has_no_transfers_and_takes_no_time():
    p = predict("all_reduce", 2**30, "dgx-h100", 1)
    assert (p.time_s, p.terms, p.algbw_Bps, p.busbw_Bps, p.algorithm) == (0.0, {}, 0.0, 0.0, "none")
    assert "nobody" in p.valid.reason


def test_zero_bytes_take_latency_only():
    p = predict("all_reduce", 0, "dgx-h100", 8)
    assert p.algbw_Bps == 0.0
    assert p.bottleneck == "latency"
    assert set(p.terms) == {"launch", "scale-up steps"}


@pytest.mark.parametrize("message_B", [1, 3, 4])
def test_fewer_bytes_than_ranks_take_no_less_than_the_latency(message_B):
    assert (
        predict("all_reduce", message_B, "gb200-nvl72", 72).time_s >= predict("all_reduce", 0, "gb200-nvl72", 72).time_s
    )


@pytest.mark.parametrize("bad", [0, -1, 2.5, "8", None, True, float("nan")])
def test_ranks_that_are_no_count_are_refused_in_words(bad):
    with pytest.raises(CourseError, match="n_ranks"):
        predict("all_reduce", 8, "dgx-h100", bad)


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "8", None, [1, -2]])
def test_sizes_that_are_none_are_refused_in_words(bad):
    with pytest.raises(CourseError, match="message_B"):
        predict("all_reduce", bad, "dgx-h100", 8)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"op": "allredcue"}, "all_reduce"),
        ({"system": "dgx-h10"}, "dgx-h100"),
        ({"algorithm": "rign"}, "ring"),
        ({"protocol": "LL127"}, "LL128"),
        ({"n_hosts": 1, "n_ranks": 9}, "at least 2 hosts"),
        ({"n_hosts": 9}, "without a rank"),
        ({"system": "polaris", "n_ranks": 2244}, "560 × 4 GPUs"),
        ({"algorithm": "hierarchical-ring"}, "two domains"),
        ({"system": "dgx-a100", "algorithm": "nvls"}, "do not add"),
        ({"op": "alltoall", "protocol": "LL128"}, "does not run with LL128"),
    ],
)
def test_what_cannot_be_used_is_said_with_what_can(change, said):
    asked = {"op": "all_reduce", "system": "dgx-h100", "n_ranks": 8} | change
    with pytest.raises(CourseError, match=said):
        predict(asked.pop("op"), 1e6, asked.pop("system"), asked.pop("n_ranks"), **asked)


def test_every_spelling_of_a_collective_gives_the_same():
    for a, b in (("alltoall", "all_to_all"), ("sendrecv", "send_recv"), ("all-reduce", "all_reduce")):
        assert predict(a, 1e6, "dgx-h100", 8).time_s == predict(b, 1e6, "dgx-h100", 8).time_s


@pytest.mark.parametrize("algorithm", ["ring", "tree", "halving-doubling", "direct", "in-network", "binomial"])
def test_a_forced_algorithm_is_the_one_that_answers(algorithm):
    p = predict("all_reduce", SIZES, "dgx-h100", 8, algorithm=algorithm)
    assert set(p.algorithm) == {algorithm}
    assert not p.valid.inside
    assert "forced" in p.valid.reason


@pytest.mark.parametrize(
    "algorithm", ["ring", "tree", "hierarchical-ring", "hierarchical-tree", "direct", "halving-doubling"]
)
def test_forced_algorithms_run_across_hosts(algorithm):
    p = predict("all_reduce", 2**28, "dgx-a100", 32, algorithm=algorithm)
    assert p.algorithm == algorithm
    assert p.terms["network steps"] > 0


def test_the_choice_is_never_slower_than_what_a_library_could_force():
    free = predict("all_reduce", SIZES, "dgx-h100", 8)
    for algorithm in ("ring", "in-network"):
        assert (
            free.time_s <= predict("all_reduce", SIZES, "dgx-h100", 8, algorithm=algorithm).time_s * (1 + 1e-12)
        ).all()


def test_short_messages_use_low_latency_and_long_ones_bulk_protocols():
    p = predict("all_reduce", np.array([8.0, 2**33]), "dgx-a100", 8)
    assert p.protocol.tolist() == ["LL", "Simple"]


def test_the_network_rules_beyond_a_host_and_the_host_size_is_an_input():
    inside, across = predict("all_reduce", 2**30, "dgx-a100", 8), predict("all_reduce", 2**30, "dgx-a100", 32)
    assert across.bottleneck == "network"
    assert across.time_s > inside.time_s
    eight = systems.load("dgx-a100")
    four = dataclasses.replace(eight, gpus_per_host=4)
    assert predict("all_reduce", 2**30, four, 8).n_hosts == 2
    assert predict("all_reduce", 2**30, four, 8).time_s > inside.time_s


def test_a_rack_is_one_domain_and_trays_are_hosts():
    by_ranks, by_hosts = (
        predict("all_reduce", 2**30, "gb200-nvl72", 8),
        predict("all_reduce", 2**30, "gb200-nvl72", 8, n_hosts=2),
    )
    assert by_ranks.n_hosts == by_hosts.n_hosts == 2
    assert "network transfer" not in by_hosts.terms
    assert "network transfer" in predict("all_reduce", 2**30, "gb200-nvl72", 144).terms


@pytest.mark.parametrize("field", ["bandwidth_Bps", "latency_s"])
@pytest.mark.parametrize("part", ["scale_up", "scale_out"])
@pytest.mark.parametrize("ideal", [False, True])
def test_every_number_of_a_system_has_an_effect(field, part, ideal):
    system = systems.load("dgx-a100")
    here = getattr(system, part)
    worse = dataclasses.replace(here, **{field: getattr(here, field) * (0.5 if field == "bandwidth_Bps" else 2)})
    other = dataclasses.replace(system, **{part: worse})
    ranks = 8 if part == "scale_up" else 32
    before, after = (
        predict("all_reduce", np.array([8.0, 2**30]), s, ranks, ideal=ideal).time_s for s in (system, other)
    )
    assert (after > before).any()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SOME), st.sampled_from(OPS), st.integers(2, 64), st.floats(0, 2.0**50), st.floats(0, 2.0**50))
def test_time_grows_with_the_message(name, op, n, a, b):
    times = predict(op, np.array(sorted([a, b])), name, n).time_s
    assert times[0] <= times[1]


def test_fitted_times_of_long_messages_are_above_the_wire():
    for name in SOME:
        system = systems.load(name)
        n = min(8, system.gpus_per_domain)
        p = predict("all_gather", 2.0**36, name, n)
        assert p.busbw_Bps < system.scale_up.bandwidth_Bps


def test_no_fitted_share_of_a_bandwidth_is_above_one():
    for kind in ("up", "net"):
        for family in constants.families(kind):
            for column in constants.COLUMNS:
                found = constants.load(kind, family, column)
                over = {name: found[name] for name in constants.SHARES if found.get(name, 0.0) > 1}
                assert not over, (kind, family, column)


@pytest.mark.parametrize("name", UNLIKE.values())
@pytest.mark.parametrize("column", constants.COLUMNS)
def test_no_prediction_beats_the_links_it_runs_over(name, column):
    system = systems.load(name)
    per_domain, sizes = system.gpus_per_domain, np.logspace(0, 13, 14)
    places = [(d * per_domain, d * system.hosts_per_domain) for d in (2, 3) if d * per_domain <= system.n_max]
    places += [(2, 2)] if system.hosts > system.hosts_per_domain == 1 else []
    places += [(n, None) for n in sorted({2, 3, per_domain}) if 1 < n <= min(per_domain, system.gpus_per_host)]
    for n, hosts in places:
        s = law_module.shape(system, n, hosts or 1)
        adds = system.scale_up.in_network_reduction or system.scale_out.in_network_reduction
        # Bytes that one GPU, or one domain, has to send or to take in, for a byte of message.
        gpu = {"all_reduce": 1.0 if adds else 2 * (n - 1) / n, "broadcast": 1.0, "reduce": 1.0, "send_recv": 1.0}
        leaves = {
            "all_reduce": 1.0,
            "broadcast": 1.0,
            "reduce": 1.0,
            "all_to_all": s.k * (n - s.k) / n,
            "send_recv": 0.0,
        }
        for op in OPS:
            p = predict(op, sizes, system, n, n_hosts=hosts, column=column)
            if s.domains == 1:
                assert (p.algbw_Bps * gpu.get(op, (n - 1) / n) <= s.up_Bps * (1 + 1e-9)).all(), (op, n)
            else:
                part = leaves.get(op, (s.domains - 1) / s.domains)
                assert (p.algbw_Bps * part <= s.net_host_Bps * (1 + 1e-9)).all(), (op, n, hosts)


@pytest.mark.parametrize("name", UNLIKE.values())
def test_no_fitted_time_is_below_the_ideal_one(name):
    system, sizes = systems.load(name), np.concatenate([[0.0, 1.0], np.logspace(3, 13, 21)])
    g = system.gpus_per_domain
    odd = {7} if system.scale_up.family == "nvlink-cube" else set()
    places = [(n, 1) for n in {2, min(8, g), *odd} if 1 < n <= system.gpus_per_host]
    places += [(2 * g, 2 * system.hosts_per_domain)] if 2 * g <= 16 else []
    places += [(2, 2)] if system.hosts > system.hosts_per_domain == 1 else []
    for n, hosts in places:
        for op in OPS:
            fitted, ideal = (predict(op, sizes, system, n, n_hosts=hosts, ideal=i).time_s for i in (False, True))
            assert (ideal <= fitted * (1 + 1e-9)).all(), (op, n, hosts)


def test_validity_names_the_ranges_and_says_when_outside():
    inside = predict("all_reduce", 2**20, "dgx-h100", 8).valid
    assert inside.inside
    assert inside.message_B[0] <= 2**20 <= inside.message_B[1]
    assert not predict("all_reduce", 2**50, "dgx-h100", 8).valid.inside
    assert not predict("all_reduce", 2**20, "dgx-h100", 131072).valid.inside


def test_ideal_time_has_no_fitted_part_and_reports_its_pieces():
    p = predict("all_reduce", 2**30, "dgx-h100", 8, ideal=True, algorithm="tree")
    assert p.pieces > 1
    assert "launch" not in p.terms
    best = p.time_s
    from course_lib.timing.onedepth import line

    for pieces in (1, 2, p.pieces // 2, p.pieces * 2):
        one = line("all_reduce", "tree", systems.load("dgx-h100"), 8, 1, pieces)
        assert best <= sum(one.fixed_s) + sum(one.per_byte_s) * 2**30


def test_laws_are_parts_that_add_up():
    law = law_module.Law("ring", "LL", {"launch": 2e-6}, {"t": 1e-9}, 0.5, "scale-up")
    assert law_module.time_s(law, 1000.0) == pytest.approx(2e-6 + 1e-6 + np.sqrt(2e-6 * 1e-6), abs=0)
