"""Lesson 05's explorer and numbers: who wins where, what the switch carries, and the sentences of the lesson that hold numbers."""

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib.base.errors import CourseError
from course_lib.base.hardware import value
from course_lib.base.units import GiB, KiB, MiB
from course_lib.comm.meaning import bus_factor
from course_lib.explorers import lesson05
from course_lib.explorers.controls import Choice, Slider
from course_lib.explorers.lesson05 import contests
from course_lib.timing.busbw import busbw_limit_Bps, carried, wire_Bps
from course_lib.timing.closedform import form
from course_lib.timing.contest import ROWS, contest, crossover_B
from course_lib.timing.onedepth import rings_of
from course_lib.timing.system import load
from course_lib.timing.tuning import predict


@pytest.fixture
def race():
    return lesson05.ring_tree_or_switch()


def seen(explorer):
    return [(list(t.x), [repr(v) for v in t.y]) for t in explorer.figure.data], explorer.view.said.value


def test_every_control_changes_the_picture_and_nothing_fails(race):
    for change in ({"n_ranks": 64}, {"message_B": 2**30}, {"system": "mi300x"}, {"library_only": False}):
        before = seen(race)
        race.set(**change)
        assert race.message == ""
        assert seen(race) != before


def test_no_choice_has_to_wait_for_a_price_once_the_background_has_done_it(race):
    contests.price_ahead.cache_clear()  # another test may have emptied what it had filled
    contests.price_ahead().join()
    before = contests.contest_once.cache_info().misses
    for name, ends in (("n_ranks", 128), ("system", "gb200-nvl72"), ("library_only", False), ("system", "dgx1-v100")):
        race.set(**{name: ends})
    assert contests.contest_once.cache_info().misses == before


def test_every_system_draws_at_the_ends_of_the_sliders_with_the_same_traces(race):
    ends = {n: (c.values[0], c.values[-1]) for n, c in race.controls.items() if isinstance(c, Slider)}
    assert isinstance(race.controls["system"], Choice)
    for system in contests.SYSTEMS:
        for n_ranks in (*ends["n_ranks"], 12, 72):
            for message_B in ends["message_B"]:
                race.set(system=system, n_ranks=n_ranks, message_B=message_B)
                assert (race.message, race.stale) == ("", False)
                assert len(race.figure.data) == 2 * (len(ROWS) + 2) + 1
    go.Figure(race.figure.to_dict())  # Plotly's own validation


def test_the_equation_adds_up_to_the_librarys_choice(race):
    race.set(system="dgx-h100", n_ranks=8, message_B=2**26)
    p = predict("all_reduce", 2**26, "dgx-h100", 8)
    assert sum(p.terms.values()) == pytest.approx(p.time_s)
    assert "in-network" in race.view.said.value


def test_the_answers_to_the_two_questions_of_the_explorer():
    assert [name for _a, _b, name in contests.race(8, 1e6, "dgx-h100", True).found.runs] == ["ring", "in the switch"]
    assert [name for _a, _b, name in contests.race(64, 1e6, "dgx-h100", True).found.runs] == ["tree", "in the switch"]
    runs = contests.race(64, 1e6, "mi300x", True).found.runs
    assert [name for _a, _b, name in runs] == ["tree", "ring"]
    assert 1e8 < runs[1][0] < 4e8
    assert contests.race(64, 1e6, "mi300x", False).found.runs[0][2] == "direct"


def test_who_takes_part_is_what_a_library_weighs_and_only_they_win():
    for system, n in (("dgx-h100", 8), ("dgx-a100", 64), ("gb200-nvl72", 72)):
        found = contest(system, n, contests.SIZES, library_only=True)
        assert {found.names[i] for i in found.winner} <= set(found.taking_part)
        chosen = predict("all_reduce", contests.SIZES, system, n)
        quickest = found.time_s[found.winner, np.arange(found.winner.size)]
        assert quickest == pytest.approx(chosen.time_s, rel=1e-9)


def test_runs_cover_all_sizes_without_a_gap():
    for n in contests.COUNTS:
        runs = contest("dgx-h100", n, contests.SIZES).runs
        assert (runs[0][0], runs[-1][1]) == (contests.SIZES[0], contests.SIZES[-1])
        assert [a[1] for a in runs[:-1]] == [b[0] for b in runs[1:]]
        assert all(a[2] != b[2] for a, b in pairwise(runs))


@pytest.mark.parametrize("n", [4, 5, 8, 72, 512])
def test_times_are_equal_at_a_crossing_and_ordered_on_both_sides(n):
    tree, ring = form("all_reduce", "binomial", n), form("all_reduce", "ring", n)
    at_B = crossover_B(tree, ring, 2e-6, 3e11)
    for factor, order in ((0.9, -1), (1, 0), (1.1, 1)):
        m = at_B * factor
        gap = tree.steps * 2e-6 + tree.factor * m / 3e11 - ring.steps * 2e-6 - ring.factor * m / 3e11
        assert np.sign(round(gap * 1e12)) == order


def test_a_crossing_that_does_not_exist_is_zero_or_infinite():
    ring, halving, tree = (form("all_reduce", name, 8) for name in ("ring", "halving-doubling", "binomial"))
    assert crossover_B(ring, tree, 1e-6, 1e11) == 0
    assert crossover_B(halving, ring, 1e-6, 1e11) == np.inf
    assert crossover_B(tree, ring, np.array([0.0, 1e-6]), 1e11)[0] == 0


@pytest.mark.parametrize("n", [2, 3, 8, 16, 72])
def test_links_in_the_switch_carry_one_plus_one_over_n(n):
    assert carried("all_reduce", "in-network", n) == pytest.approx((1 + 1 / n, 1 + 1 / n))
    assert carried("all_reduce", "sharp", n) == pytest.approx((1, 1))
    assert busbw_limit_Bps("all_reduce", "in-network", n, 450e9) == pytest.approx(2 * (n - 1) / (n + 1) * 450e9)
    assert busbw_limit_Bps("all_reduce", "ring", n, 450e9) == pytest.approx(450e9)
    for op in ("reduce_scatter", "all_gather"):
        assert max(carried(op, "in-network", n)) == pytest.approx(1)
        assert busbw_limit_Bps(op, "in-network", n, 450e9) == pytest.approx((n - 1) / n * 450e9)


def test_the_wire_undoes_the_limit():
    for name in ("ring", "in-network", "sharp"):
        assert wire_Bps("all_reduce", name, 8, busbw_limit_Bps("all_reduce", name, 8, 4e11)) == pytest.approx(4e11)


@pytest.mark.parametrize("bad", [{"n_ranks": 1}, {"n_ranks": 2.5}, {"algorithm": "rign"}, {"busbw_Bps": float("nan")}])
def test_impossible_questions_to_the_wire_are_refused_in_words(bad):
    asked = {"op": "all_reduce", "algorithm": "ring", "n_ranks": 8, "busbw_Bps": 1e9} | bad
    with pytest.raises(CourseError):
        wire_Bps(**asked)


def test_contests_refuse_one_rank_no_bytes_and_systems_that_are_too_small():
    for bad in (("dgx-h100", 1, [1.0]), ("dgx-h100", 8, [0.0]), ("dgx-h10", 8, [1.0]), ("polaris", 10**6, [1.0])):
        with pytest.raises(CourseError):
            contest(*bad)


def test_the_ramp_is_what_the_text_says():
    seen = lesson05.ramp()
    assert seen.gain[0] == 1
    assert seen.gain[-1] == pytest.approx(1.29, abs=0.005)
    wires = seen.wire_Bps[1:]
    assert wires.max() / wires.min() < 1.025  # "to two percent"
    assert seen.allowed_Bps[-1] / seen.allowed_Bps[1] == pytest.approx(1.14, abs=0.005)
    assert wires.mean() * 6 / 5 / seen.off_Bps[0] - 1 < 0.02  # "hardly a percent"
    assert predict("all_reduce", 8 * GiB, "dgx-h200", 4).algorithm == "in-network"
    assert wires.mean() / 1e9 == pytest.approx(305, abs=3)
    assert value("measured-busbw", "h200_8_nvls_busbw_Bps") / 700e9 < 0.7


def test_numbers_in_the_prose_of_the_lesson():
    ring, tree = form("all_reduce", "ring", 64), form("all_reduce", "binomial", 64)
    assert (round(ring.steps / tree.steps), round(tree.factor / ring.factor)) == (10, 6)

    def wires_s(system, n, *names):
        return {a: predict("all_reduce", GiB, system, n, algorithm=a, ideal=True).time_s for a in names}

    times = wires_s("dgx1-v100", 8, "binomial", "halving-doubling", "direct")
    assert len(rings_of(load("dgx1-v100"), 8)) == 6  # "three such walks", "each in both directions"
    laid = predict("all_reduce", GiB, "dgx1-v100", 8, algorithm="ring").time_s
    assert min(times.values()) / laid == pytest.approx(5, abs=0.4)
    rack = wires_s("gb200-nvl72", 72, "ring", "halving-doubling")
    assert rack["halving-doubling"] / rack["ring"] == pytest.approx(2, abs=0.15)
    asked = {"n_ranks": 8, "algorithm": "ring"}
    for size, best in ((KiB, "LL"), (4 * MiB, "LL128"), (GiB, "Simple")):
        names = ("LL", "LL128", "Simple")
        each = {p: predict("all_reduce", size, "dgx-a100", protocol=p, **asked).time_s for p in names}
        assert min(each, key=each.get) == best
    assert each["LL"] / each["Simple"] > 3


def test_logs_and_tables_have_the_librarys_shape():
    line = lesson05.tuning_log([2**30])
    assert line.endswith("AllReduce: 1073741824 Bytes -> Algo NVLS proto SIMPLE")
    row = lesson05.tests_table([2**30], [4e-3], 8).splitlines()[1].split()
    assert float(row[3]) / float(row[2]) == pytest.approx(bus_factor("all_reduce", 8), rel=1e-3)


def test_the_parts_of_the_hierarchy_are_the_times_of_the_schedule():
    title = lesson05.in_a_row(["ring", "hierarchical-ring"], GiB, "dgx-h100", 32).layout.title.text
    assert "8.25 ms" in title
    assert list(lesson05.parts_of_hierarchy(GiB, 4, 8, (1e-6, 450e9), (5e-6, 50e9)).values()) == [
        "2.09 ms",
        "4.06 ms",
        "2.09 ms",
    ]


def test_a_sweep_that_is_not_there_is_named():
    with pytest.raises(CourseError, match="m19"):
        lesson05.sweep_figure("m119")
