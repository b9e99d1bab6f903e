"""Lesson 02's explorers: the line follows its controls, the best line is the fit, one message in many costs its latencies."""

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib.base.errors import CourseError
from course_lib.base.scale import kept_together
from course_lib.explorers import lesson02
from course_lib.explorers.controls import Slider
from course_lib.figures.fits import say_miss, say_off
from course_lib.links import alphabeta, linerate
from course_lib.links.calibrate import fit

NAMES = ("host-write", "host-read", "peer-rdma", "peer-nvlink")


@pytest.fixture
def dragged():
    explorer = lesson02.drag_the_line()
    explorer.commit("10")
    return explorer


def moved(explorer):
    """Return what the figure shows as plain data."""
    return [(list(t.x), list(t.y)) for t in explorer.figure.data], explorer.figure.layout.title.text


@pytest.mark.parametrize("name", NAMES)
def test_every_series_is_drawn_with_seven_traces_and_says_its_source(dragged, name):
    dragged.set(name=name)
    assert dragged.message == ""
    assert len(dragged.figure.data) == 7
    assert lesson02.series(name).source.count("https://") == 1
    go.Figure(dragged.figure.to_dict())  # Plotly's own validation


def test_each_control_changes_the_picture(dragged):
    for change in ({"latency_s": 1e-6}, {"bandwidth_Bps": 1e10}, {"name": "host-read"}):
        before = moved(dragged)
        dragged.set(**change)
        assert moved(dragged) != before


def test_the_ends_of_every_slider_draw_and_keep_the_axes_of_the_points(dragged):
    axes = dragged.figure.layout.xaxis.range, dragged.figure.layout.yaxis.range
    controls = {n: c for n, c in dragged.controls.items() if isinstance(c, Slider)}
    for latency_s in (controls["latency_s"].values[0], controls["latency_s"].values[-1]):
        for bandwidth_Bps in (controls["bandwidth_Bps"].values[0], controls["bandwidth_Bps"].values[-1]):
            dragged.set(latency_s=latency_s, bandwidth_Bps=bandwidth_Bps)
            assert not dragged.stale
            assert (dragged.figure.layout.xaxis.range, dragged.figure.layout.yaxis.range) == axes
            ratio = dragged.figure.data[6].y
            low, high = dragged.figure.layout.yaxis2.range
            assert 10**low <= min(ratio)
            assert max(ratio) <= 10**high


def test_the_residuals_are_measured_over_line():
    r = lesson02.through_points("peer-rdma", 2e-6, 1e10)
    s = lesson02.series("peer-rdma")
    assert r["ratio"] == pytest.approx(s.time_s / (2e-6 + s.message_B / 1e10))
    assert r["half"] == pytest.approx((2e4, 4e-6))
    assert r["ratio"][r["worst"]] == max(r["ratio"], key=lambda v: abs(np.log(v)))


def test_the_best_line_stays_best_for_any_place_of_the_sliders():
    for name in NAMES:
        found, s = lesson02.best(name), lesson02.series(name)
        loss = (
            found.time_s / found.time_s - alphabeta.time_s(s.message_B, found.latency_s, found.bandwidth_Bps) / s.time_s
        ) ** 2
        for latency in (0.8, 1, 1.25):
            for rate in (0.8, 1, 1.25):
                line_s = alphabeta.time_s(s.message_B, found.latency_s * latency, found.bandwidth_Bps * rate)
                assert loss.sum() <= ((1 - line_s / s.time_s) ** 2).sum() + 1e-12


def test_the_answer_to_the_guess_is_not_shown_before_the_line_is_good(dragged):
    worst = kept_together(say_miss(1 + lesson02.best("peer-rdma").worst))
    assert worst not in dragged.view.said.value
    dragged.set(latency_s=1.8e-6, bandwidth_Bps=1e10)
    assert "as good as a line gets" in dragged.view.said.value
    assert worst in dragged.view.said.value


@pytest.mark.parametrize("name", NAMES)
def test_the_sliders_reach_a_line_as_good_as_the_best(dragged, name):
    found = lesson02.best(name)
    nearest = {}
    for control, value in (("latency_s", found.latency_s), ("bandwidth_Bps", found.bandwidth_Bps)):
        nearest[control] = min(dragged.controls[control].values, key=lambda step: abs(np.log(step / value)))
    dragged.set(name=name, **nearest)
    assert "as good as a line gets" in dragged.view.said.value


def test_controls_are_locked_until_a_guess_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("INTERCONNECT_HOME", str(tmp_path))
    monkeypatch.delenv("INTERCONNECT_GRADING", raising=False)
    explorer = lesson02.drag_the_line()
    assert all(widget.disabled for widget in explorer.view.inputs.values())
    explorer.commit("20")
    assert not any(widget.disabled for widget in explorer.view.inputs.values())
    assert "35.7 %" in explorer.asked.message


def test_a_series_that_is_not_there_is_named_with_the_nearest():
    with pytest.raises(CourseError, match="peer-rdma"):
        lesson02.series("peer-rmda")


def test_many_messages_cost_their_latencies_and_the_same_bytes():
    for count in lesson02.COUNTS:
        r = lesson02.split(1e6, count, "nvlink4")
        assert r["many_s"] == pytest.approx(count * r["latency_s"] + 1e6 / r["bandwidth_Bps"])
    assert r["total_s"] == pytest.approx(r["waiting_s"] + r["wire_s"])
    assert r["total_s"][0] == pytest.approx(r["one_s"])


def test_latencies_and_bytes_cross_where_each_message_has_the_half_size():
    for total_B in (1e8, 1e9):
        r = lesson02.split(total_B, 1, "nvlink4")
        crossing = np.interp(0, np.log(r["waiting_s"] / r["wire_s"]), np.log(r["counts"]))
        assert total_B / np.exp(crossing) == pytest.approx(r["half_B"], rel=0.01)


def test_every_control_of_many_or_one_changes_the_picture():
    explorer = lesson02.many_or_one()
    ends = {"count": 1_000_000, "total_B": 1e3}
    for change in ({"count": 10}, {"total_B": 1e9}, {"link": "ib-edr"}, {"link": "pcie5"}, {"count": 1}, ends):
        before = moved(explorer)
        explorer.set(**change)
        assert explorer.message == ""
        assert moved(explorer) != before
        assert len(explorer.figure.data) == 4


@pytest.mark.parametrize(
    ("ratio", "short", "words"),
    [
        (1.0, "0", "0 % above the line"),
        (0.5, "1/2", "1/2 of the line"),
        (2.0, "2 ×", "2 × the line"),
        (1.999, "+100 %", "100 % above the line"),
        (0.51, "−49 %", "49 % below the line"),
    ],
)
def test_misses_are_said_alike_at_their_bounds(ratio, short, words):
    assert (say_off(ratio), say_miss(ratio)) == (short, words)


def test_numbers_in_the_lessons_sentences_are_the_librarys():
    alpha_s, beta_Bps = (float(v[0]) for v in linerate.parameters(["nvlink4"]))
    half_B = alphabeta.half_size_B(alpha_s, beta_Bps)
    assert alphabeta.rate_Bps(1e3, alpha_s, beta_Bps) / beta_Bps == pytest.approx(1e-3, rel=0.3)
    series = lesson02.points()
    fits = {name: fit(one.message_B, one.time_s) for name, one in series.items()}
    halves_B = sorted(found.half_size_B for found in fits.values())
    assert 5e4 < halves_B[-1] / halves_B[0] < 1e5  # "nearly a factor of a hundred thousand"
    assert halves_B[-1] == fits["peer-nvlink"].half_size_B
    assert halves_B[-1] / half_B == pytest.approx(80, rel=0.02)
    writes, found = series["host-write"], fits["host-write"]
    between = (writes.message_B >= 256) & (writes.message_B <= 8192)
    line_s = alphabeta.time_s(writes.message_B, found.latency_s, found.bandwidth_Bps)
    assert np.abs(writes.time_s / line_s - 1)[between].max() == pytest.approx(0.1, abs=0.02)
    rdma = series["peer-rdma"]
    assert rdma.time_s.max() / rdma.time_s.min() == pytest.approx(400, rel=0.1)
    ends_s = alphabeta.time_s(rdma.message_B, 1.8e-6, 11.2e9)
    off = rdma.time_s / ends_s - 1
    assert off.max() == pytest.approx(0.4, abs=0.05)
    assert 4096 <= rdma.message_B[off.argmax()] <= 65536
    ports_B = alphabeta.half_size_B(*(float(v[0]) for v in linerate.parameters(["ib-ndr"])))
    assert (round(1e9 / half_B, -1), round(1e6 / ports_B), round(1e9 / ports_B, -3)) == (1260, 11, 11000)
