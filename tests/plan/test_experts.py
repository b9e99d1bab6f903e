"""Exchanges of experts: counting copies by brute force, limits, what must grow, and published times within their bands."""

import csv
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.plan import expertevidence, expertfit, expertruns
from course_lib.plan.expertconstants import PATH, PHASES, WAYS
from course_lib.plan.experts import exchange, sent_copies, token_B, visits
from course_lib.timing.tuning import predict


@pytest.mark.parametrize(("n_experts", "n_active", "groups"), [(8, 2, 4), (8, 3, 2), (12, 4, 6), (6, 1, 3)])
def test_visits_are_those_of_all_choices_counted_one_by_one(n_experts, n_active, groups):
    each = n_experts // groups
    counts = [len({e // each for e in chosen}) for chosen in itertools.combinations(range(n_experts), n_active)]
    assert visits(n_experts, n_active, groups) == pytest.approx(np.mean(counts), rel=1e-12)


@given(st.integers(1, 256), st.integers(1, 16), st.integers(1, 256))
def test_visits_stay_between_one_and_what_there_is(n_experts, n_active, groups):
    n_active, groups = min(n_active, n_experts), min(groups, n_experts)
    found = visits(n_experts, n_active, groups)
    assert 1 - 1e-9 <= found <= min(n_active, groups) + 1e-9


def test_a_copy_is_a_token_in_fp8_with_scales_and_comes_back_in_bf16():
    assert token_B(7168, "dispatch") == 7168 + 4 * 56 + 16
    assert token_B(7168, "combine") == 2 * 7168


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("phase", PHASES)
def test_an_exchange_takes_longer_with_more_tokens_and_over_more_boxes(way, phase):
    tokens = np.array([0.0, 1, 16, 256, 4096])
    times = exchange(tokens, "dgx-b200", 64, phase, way=way).time_s
    assert (np.diff(times) > 0).all()
    inside = exchange(tokens, "gb200-nvl72", 64, phase, way=way).time_s
    assert (inside[2:] < times[2:]).all()
    one = exchange(256, "dgx-b200", 64, phase, way=way)
    assert one.time_s == pytest.approx(times[3])
    assert sum(one.parts.values()) == pytest.approx(one.time_s)


@pytest.mark.parametrize("way", WAYS)
def test_one_rank_exchanges_with_nobody(way):
    assert exchange(100, "dgx-b200", 1, "dispatch", way=way).time_s == 0


def test_no_kernel_beats_the_wires():
    for system, n in (("dgx-b200", 8), ("dgx-b200", 64), ("gb200-nvl72", 64), ("gb200-nvl72", 144)):
        for phase in PHASES:
            found = exchange(4096, system, n, phase)
            assert found.time_s > predict("all_to_all", found.message_B, system, n, ideal=True).time_s


def test_two_levels_cross_the_network_less_often_and_the_links_inside_more_often():
    flat, two = sent_copies("deepseek-v3", "dgx-b200", 64), sent_copies("deepseek-v3", "dgx-b200", 64, "throughput")
    assert two[0] < flat[0]
    assert two[1] > flat[1]
    assert sum(flat) == pytest.approx(8 * 63 / 64)
    assert sent_copies("deepseek-v3", "gb200-nvl72", 64)[0] == 0


def test_imbalance_stretches_the_bytes_only():
    even, uneven = (exchange(512, "dgx-b200", 8, "dispatch", imbalance=i) for i in (1, 2))
    assert uneven.parts["launch"] == even.parts["launch"]
    assert uneven.parts["bytes"] == pytest.approx(2 * even.parts["bytes"])


def test_bad_input_gets_a_sentence():
    for wrong, words in (
        (lambda: exchange(1, "dgx-b200", 8, "dispatch", shape="llama3-8b"), "no experts"),
        (lambda: exchange(1, "dgx-b200", 8, "despatch"), "dispatch"),
        (lambda: exchange(-1, "dgx-b200", 8, "dispatch"), "tokens"),
        (lambda: exchange(1, "dgx-b200", 8, "dispatch", way="nccl"), "way to exchange"),
        (lambda: exchange(1, "dgx-b200", 8, "dispatch", imbalance=0.5), "imbalance"),
        (lambda: exchange(1, "dgx-b200", 8, "dispatch", way="throughput", sms=0), "sms"),
        (lambda: visits(8, 9, 2), "n_active"),
    ):
        with pytest.raises(CourseError, match=words):
            wrong()


# Evidence


@pytest.fixture(scope="module")
def found():
    return expertevidence.groups()


@pytest.mark.parametrize("way", sorted(expertevidence.TARGETS))
def test_rows_that_no_constant_saw_are_within_the_target(found, way):
    mine = [g for g in found if (g.part, g.way) == ("judging", way)]
    assert sum(len(g.tokens) for g in mine) > 70
    assert expertevidence.median(mine) <= expertevidence.TARGETS[way]


def test_a_wrong_rate_would_leave_the_band(found):
    mine = [g for g in found if (g.part, g.way) == ("judging", "throughput")]
    shifted = np.concatenate([g.residual for g in mine]) + math.log(1.3)
    assert np.median(np.abs(shifted)) > expertevidence.TARGETS["throughput"]


def test_no_row_is_off_by_more_than_a_third(found):
    assert max(np.abs(g.residual).max() for g in found) < 0.29


def test_across_hosts_the_librarys_all_to_all_is_several_times_slower_than_kernels_made_for_it(found):
    mine = [g for g in found if "h800" in g.title]
    slower = np.concatenate([(g.library_s / g.measured_s)[g.n_ranks >= 64] for g in mine])
    assert slower.min() > 2.5
    assert slower.max() > 8


def test_published_rates_are_within_a_sixth():
    assert max(abs(r.residual) for r in expertruns.rates()) < 0.16


def test_the_fit_can_be_run_again_and_gives_the_committed_constants():
    with open(PATH, encoding="utf-8", newline="") as file:
        kept = list(csv.DictReader(file))
    again = expertfit.fit()
    assert len(kept) == len(again)
    for one, two in zip(kept, again, strict=True):
        for name, value in two.items():
            assert one[name] == value if isinstance(value, str) else float(one[name]) == pytest.approx(value, rel=1e-3)


def test_every_row_has_a_source_with_an_address():
    assert {r.source for r in expertruns.runs()} <= set(expertruns.sources())
    assert all(s.address.startswith("https://") and s.title for s in expertruns.sources().values())


def without_the_library(page):
    """The page without what follows from the collective predictor: its constants are fitted elsewhere, and more often."""
    kept, drop = [], None
    for line in page.splitlines():
        cells = line.split("|")
        if not line.startswith("|"):
            drop = None
        elif drop is None:
            drop = next((i for i, cell in enumerate(cells) if "library" in cell), -1)
        kept.append("|".join(c for i, c in enumerate(cells) if i != drop) if line.startswith("|") else line)
    return kept


def test_the_page_holds_the_committed_numbers():
    page = (PATH.parents[3] / "docs" / "accuracy_experts.md").read_text(encoding="utf-8")
    assert without_the_library(page) == without_the_library(expertevidence.report())
