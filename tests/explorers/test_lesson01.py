"""Lesson 01: two links side by side, flows in a tree, and the still pictures."""

import itertools

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib.base import hardware
from course_lib.base.errors import CourseError
from course_lib.explorers import lesson01, linkpictures
from course_lib.explorers.lesson01 import PATTERNS, compare_links, flows_in_a_tree, tree_flows, two_links
from course_lib.links.sidebyside import PCIE_TO_NVLINK, side


@pytest.mark.parametrize(("left", "right"), list(itertools.combinations(PCIE_TO_NVLINK, 2)))
def test_ratio_lies_between_that_of_latencies_and_that_of_bandwidths(left, right):
    for size, both in itertools.product((128, 2**20, 2**33), (False, True)):
        found = compare_links(left, right, size, both)
        a, b = found.left_at, found.right_at
        ends = sorted((a.latency_s / b.latency_s, b.bandwidth_Bps / a.bandwidth_Bps))
        assert ends[0] - 1e-12 <= found.ratio <= ends[1] + 1e-12


def test_links_take_the_same_time_for_bytes_and_part_for_gigabytes():
    assert compare_links("pcie5", "nvlink4", 128, False).ratio == pytest.approx(1, abs=0.01)
    assert compare_links("pcie5", "nvlink4", 2**33, False).ratio == pytest.approx(396.4 / 57.614, rel=1e-3)


def test_both_ways_is_less_than_twice_on_pcie_and_twice_on_nvlink():
    for name, ratio in (("pcie5", 2 * 54.49979 / 57.61407), ("nvlink4", 2.0)):
        one, two = side(name, 1e12), side(name, 1e12, both_ways=True)
        assert two.limit_Bps == 2 * one.limit_Bps
        assert float(two.rate_Bps / one.rate_Bps) == pytest.approx(ratio, rel=1e-4)


def _every_state(explorer):
    """Set one control at a time to each of its values, and yield what happens."""
    for name, control in explorer.controls.items():
        values = (
            control.values
            if hasattr(control, "values")
            else [value for _text, value in control.pairs()]
            if hasattr(control, "pairs")
            else (True, False)
        )
        for value in values:
            explorer.set(**{name: value})
            yield name, value
        explorer.reset()


@pytest.mark.parametrize("make", [two_links, flows_in_a_tree])
def test_every_control_moves_the_picture_and_nothing_breaks(make):
    explorer = make()
    seen = {}
    for name, value in _every_state(explorer):
        assert explorer.message == "", (name, value)
        assert not explorer.stale
        figure = explorer.figure
        go.Figure(figure.to_dict())  # Plotly's own validation
        assert "nan" not in figure.layout.title.text
        seen.setdefault(name, set()).add(str(figure.to_dict()["data"]) + figure.layout.title.text)
    if make is flows_in_a_tree:
        explorer.set(pattern="neighbours")
        off = explorer.figure.layout.title.text
        explorer.set(acs=True)
        assert explorer.figure.layout.title.text != off
        seen.pop("acs")
    assert all(len(pictures) > 1 for pictures in seen.values()), {k: len(v) for k, v in seen.items()}


def test_the_same_link_twice_and_extremes_are_said_in_words():
    explorer = two_links()
    explorer.set(left="nvlink4")
    assert explorer.figure.layout.title.text.startswith("The same link twice")
    explorer.set(left="pcie5", message_B=128)
    assert "Both wait for latency" in explorer.view.said.value
    explorer.set(message_B=2**33)
    assert "limited by the wire" in explorer.view.said.value


def test_a_slower_second_link_is_called_slower():
    explorer = two_links()
    explorer.set(left="nvlink5", right="pcie3", message_B=2**30)
    assert explorer.figure.layout.title.text.replace("<br>", " ").startswith("At 1 GiB NVLink 5 is 5")


def test_the_guess_is_compared_with_the_model_at_its_own_values():
    assert two_links().guess.truth() == pytest.approx(1.449, rel=1e-3)


@pytest.mark.parametrize(
    ("pattern", "acs", "shares"),
    [
        ("host", False, 2), ("host", True, 2), ("neighbours", False, 1), ("neighbours", True, 2),
        ("across", False, 2), ("cards", False, 1), ("cards", True, 2),
    ],
)  # fmt: skip
def test_slowest_flow_has_its_share_of_a_slot(pattern, acs, shares):
    rates = tree_flows(pattern, acs).shares.rate_Bps
    assert rates.min() == pytest.approx(57.614e9 / shares, rel=1e-4)


def test_every_pattern_names_parts_of_the_tree():
    names = set(tree_flows("host", False).box.names)
    assert {end for flows in PATTERNS.values() for flow in flows for end in flow} <= names
    assert [name for _text, name in lesson01.pattern_names()] == list(PATTERNS)


@pytest.mark.parametrize("bad", [-1.0, float("nan")])
def test_a_bad_size_is_refused_in_words(bad):
    with pytest.raises(CourseError, match="message_B"):
        compare_links("pcie5", "nvlink4", bad, False)
    with pytest.raises(CourseError, match="pcie5"):
        compare_links("pcie55", "nvlink4", 1.0, False)


PICTURES = [
    linkpictures.ladder,
    linkpictures.packets,
    linkpictures.losses,
    linkpictures.generations,
    linkpictures.host_copies,
    linkpictures.draw_overlay,
    linkpictures.draw_staging,
]


@pytest.mark.parametrize("picture", PICTURES, ids=lambda f: f.__name__)
def test_pictures_are_valid_and_described(picture):
    figure = picture()
    go.Figure(figure.to_dict())
    meta = figure.layout.meta
    assert len(meta["alt"]) > 40
    assert all(len(row) == len(meta["table"]["columns"]) for row in meta["table"]["rows"])
    assert any(c.isdigit() for c in figure.layout.title.text)


def test_numbers_that_the_lesson_says_in_words():
    """The lesson's prose carries a few numbers; they are recomputed here."""
    shown = {o.name: o for o in linkpictures.overlay()}
    host, nvlink, off = shown.values()
    assert 0.02 < 1 - host.measured_Bps / host.model_Bps < 0.03
    assert off.measured_Bps / off.model_Bps == pytest.approx(0.75, abs=0.05)
    assert nvlink.measured_Bps == nvlink.model_Bps
    assert pytest.approx(7.8, abs=0.05) == 1e9 / 128e9 * 1e3
    assert pytest.approx(4.7, abs=0.05) == 600 / 128
    writes = list(linkpictures.small_writes().values())
    assert 10 < writes[1] / writes[0] < 12
    assert writes[2] < writes[3]
    ratio = side("pcie5", 1e9).time_s / side("nvlink4", 1e9).time_s
    assert float(ratio) == pytest.approx(6.9, abs=0.05)
    from course_lib.links.linerate import measured_copies

    assert all(c.residual < 0 for c in measured_copies("pcie5"))
    h100 = next(c for c in measured_copies("nvlink4") if c.machine == "8x H100")
    assert h100.residual == pytest.approx(-0.05, abs=0.005)
    both = next(c for c in measured_copies("nvlink4") if "both" in c.case)
    assert both.measured_Bps / nvlink.measured_Bps == pytest.approx(0.99, abs=0.005)
    c2c = [c.measured_Bps / 1e9 for c in measured_copies("c2c")]
    assert (round(min(c2c)), round(max(c2c))) == (170, 420)
    assert np.isclose(off.line_Bps, host.line_Bps)


def test_staged_copies_of_100_KB_are_more_than_five_times_slower():
    from course_lib.links.staging import staged_ends

    ends = staged_ends(1e5)
    assert 5 < float(ends.direct_Bps / ends.pipelined_Bps) < 6


@pytest.mark.parametrize("gpu", hardware.items("gpu"))
def test_the_ladder_of_every_gpu_is_drawn_whoever_sells_it(gpu):
    assert linkpictures.ladder(gpu).layout.title.text.startswith("The rate falls")
