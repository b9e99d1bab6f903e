"""Lanes to payload: the arithmetic, the packet model, and the model beside published copies."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.base import hardware
from course_lib.base.errors import CourseError
from course_lib.links import linerate, packets
from course_lib.links.linerate import (
    line_rate_Bps,
    measured_copies,
    packet_efficiency,
    packet_overhead_B,
    payload_Bps,
    spec,
    wire_B,
)


def test_lanes_times_rate_times_encoding():
    assert line_rate_Bps(16, 32e9, 128 / 130) == pytest.approx(63.0154e9, rel=1e-5)
    assert line_rate_Bps([1, 4, 16], 8e9).tolist() == [1e9, 4e9, 16e9]
    assert line_rate_Bps(np.int32(16), np.int64(64 * 10**9)) == 128e9


@pytest.mark.parametrize(
    "wrong",
    [
        {"lanes": 0},
        {"lanes": -1},
        {"lanes": float("nan")},
        {"encoding": 1.01},
        {"encoding": 0},
        {"lane_bps": -1},
        {"lanes": "16"},
        {"lanes": 1e308, "lane_bps": 1e308},
        {"lanes": [1, 2], "lane_bps": [1e9, 2e9, 3e9]},
    ],
)
def test_line_rate_refuses_what_is_out_of_range(wrong):
    with pytest.raises(CourseError):
        line_rate_Bps(**({"lanes": 16, "lane_bps": 32e9, "encoding": 1} | wrong))


def test_headers_of_a_packet_by_kind():
    assert packet_overhead_B("pcie5") == 4 + 16 + 4
    assert packet_overhead_B("pcie5", request="read") == 4 + 12 + 4 + 2 * 8 * 256 / 512
    assert packet_overhead_B("pcie5", ecrc=True) == 28
    assert packet_overhead_B("pcie5", both_ways=True) == 40
    assert packet_overhead_B("pcie6") == 16
    assert packet_overhead_B("ib-ndr") == 8 + 12 + 4 + 2
    assert packet_overhead_B("eth-400") == 8 + 14 + 20 + 8 + 12 + 4 + 4 + 12
    # 20 to 28 bytes is what the vendor's note allows without and with the optional check.
    for request in ("write", "read"):
        assert 20 <= packet_overhead_B("pcie3", request=request, max_payload_B=128) <= 28


def test_payload_rate_of_pcie_5_by_payload_size():
    sizes = np.array(linerate.PCIE_PAYLOADS_B)
    rates = payload_Bps("pcie5", max_payload_B=sizes)
    assert rates == pytest.approx(hardware.value("pcie5", "line_Bps") * sizes / (sizes + 24), rel=1e-12)
    assert (np.diff(rates) > 0).all()
    assert rates[1] / 1e9 == pytest.approx(57.6, abs=0.05)


def test_flits_leave_236_of_256_bytes_for_packets():
    assert payload_Bps("pcie6") == pytest.approx(128e9 * 236 / 256 * 256 / 272, rel=1e-12)
    assert payload_Bps("pcie7") == pytest.approx(2 * payload_Bps("pcie6"), rel=1e-12)


@pytest.mark.parametrize("name", linerate.names())
def test_payload_is_below_line_rate_and_headers_are_not_forgotten(name):
    found = spec(name)
    assert 0.8 * found.line_Bps < found.payload_Bps < found.line_Bps
    assert found.bidirectional_Bps == 2 * found.line_Bps
    assert found.latency_s > 0


@pytest.fixture
def only(monkeypatch):
    """Give the link of a family as if the table had no more of it than these fields."""

    def change(family, fields):
        name = next(n for n in linerate.names() if hardware.table().items[n].family == family)
        kept = {field: v for field, v in hardware.record(name).items() if field in fields}
        real = hardware.record
        monkeypatch.setattr(packets.hardware, "record", lambda item: kept if item == name else real(item))
        packets._names.cache_clear()
        spec.cache_clear()
        return name

    yield change
    packets._names.cache_clear()
    spec.cache_clear()


@pytest.mark.parametrize("family", packets.NEEDED)
def test_a_new_link_needs_no_more_than_is_said(family, only):
    name = only(family, ("line_Bps", *packets.NEEDED[family]))
    assert linerate.waterfall(name)[-1][1] == spec(name).payload_Bps
    if family in packets.MODELLED:
        assert wire_B(name, 1000, ecrc=True) > 1000
        assert packet_overhead_B(name, request="read", both_ways=True) > 0


@pytest.mark.parametrize(
    ("family", "field"), [(family, f) for family in packets.NEEDED for f in packets.NEEDED[family]]
)
def test_a_link_whose_packets_are_half_known_is_refused_in_words(family, field, only):
    name = only(family, {"line_Bps", *packets.NEEDED[family]} - {field})
    assert name not in linerate.names()
    with pytest.raises(CourseError, match="neither a packet format nor a measured copy"):
        payload_Bps(name)


def test_lanes_and_links_scale():
    lanes = np.array([1, 2, 4, 8, 16])
    assert payload_Bps("pcie4", lanes=lanes) * 16 == pytest.approx(payload_Bps("pcie4") * lanes, rel=1e-12)
    assert payload_Bps("nvlink4", links=6) * 3 == pytest.approx(payload_Bps("nvlink4"), rel=1e-12)
    assert payload_Bps("pcie5", lanes=lanes[:, None], max_payload_B=np.array([128, 256])).shape == (5, 2)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("nvlink7", {}),
        (None, {}),
        ("pcie5", {"lanes": 3}),
        ("pcie5", {"lanes": 0}),
        ("pcie5", {"lanes": float("nan")}),
        ("pcie5", {"max_payload_B": 300}),
        ("pcie5", {"max_payload_B": [256, 0]}),
        ("pcie5", {"request": "erase"}),
        ("pcie5", {"links": 2}),
        ("nvlink4", {"lanes": 2}),
        ("nvlink4", {"links": 19}),
        ("nvlink4", {"links": 2.5}),
        ("nvlink4", {"max_payload_B": 256}),
        ("nvlink4", {"both_ways": True}),
        ("ib-ndr", {"lanes": 4}),
        ("ib-ndr", {"max_payload_B": 9000}),
        ("nvlink6", {"links": 4}),
        ("xgmi-mi300x", {}),
        ("ici-v5p", {}),
    ],
)
def test_what_a_link_has_not_is_refused_in_words(name, arguments):
    with pytest.raises(CourseError) as caught:
        payload_Bps(name, **arguments)
    assert len(str(caught.value)) > 20


def test_measured_links_have_no_packet_model():
    with pytest.raises(CourseError, match="measured"):
        packet_overhead_B("nvlink4")
    with pytest.raises(CourseError, match="measured"):
        wire_B("c2c", 1024)
    assert packet_efficiency("nvlink4") == hardware.value("nvlink4", "packet_efficiency")


def test_bytes_on_the_wire_count_the_last_packet_too():
    assert wire_B("pcie5", [0, 1, 255, 256, 257, 512]).tolist() == [24, 25, 279, 280, 305, 560]
    assert wire_B("ib-ndr", 4096) == 4096 + 26 + 16
    assert wire_B("pcie5", np.int32(2**31 - 1)) == pytest.approx((2**31 - 1) + 2**23 * 24, rel=1e-12)
    assert wire_B("pcie5", 2**60) == pytest.approx(2**60 * 280 / 256, rel=1e-12)
    with pytest.raises(CourseError):
        wire_B("pcie5", -1)


@given(st.integers(min_value=1, max_value=2**50), st.sampled_from(["pcie3", "pcie6", "ib-hdr", "eth-100"]))
def test_long_messages_reach_the_payload_rate_and_short_ones_never_pass_it(message_B, name):
    efficiency = message_B / wire_B(name, message_B)
    assert efficiency <= packet_efficiency(name) * (1 + 1e-12)
    assert 2**50 / wire_B(name, 2**50) == pytest.approx(packet_efficiency(name), rel=1e-9)


def test_the_waterfall_starts_with_both_directions_and_falls():
    for name in linerate.names():
        rates = [rate for _step, rate in linerate.waterfall(name)]
        assert rates[0] == 2 * rates[1]
        assert all(a > b for a, b in itertools.pairwise(rates))
        assert rates[-1] == pytest.approx(spec(name).payload_Bps, rel=1e-12)


def test_the_ladder_falls_from_memory_to_the_network_card():
    for gpu in ("h100", "b200", "a100", "gb200"):
        rungs = linerate.ladder(gpu)
        assert rungs[0][1] == "memory"
        assert [r for *_x, r in rungs] == sorted((r for *_x, r in rungs), reverse=True)
    assert len(linerate.ladder("gb200")) == 4  # C2C is its host link, once


def test_parameters_come_as_arrays():
    latency_s, bandwidth_Bps = linerate.parameters(["pcie3", "pcie5"])
    assert bandwidth_Bps.tolist() == [spec("pcie3").payload_Bps, spec("pcie5").payload_Bps]
    assert latency_s.shape == (2,)
    with pytest.raises(CourseError, match="list"):
        linerate.parameters("pcie5")


def test_published_pcie_and_network_copies_stay_in_the_stated_band():
    found = [c for c in measured_copies() if c.modelled]
    assert len(found) >= 20
    for copy in found:
        assert -0.15 < copy.residual < 0.01, copy
    assert np.median([abs(c.residual) for c in found]) < 0.07


def test_half_the_link_is_never_a_better_prediction():
    # Forgetting a direction or a factor of eight would move every residual out of the band.
    for copy in measured_copies("pcie5"):
        assert abs(copy.residual) < abs(copy.measured_Bps / (2 * copy.predicted_Bps) - 1)


def test_other_copies_over_nvlink_are_near_the_share_of_one():
    others = [c for c in measured_copies() if c.link.startswith("nvlink") and c.independent]
    assert len(others) >= 7
    assert max(abs(c.residual) for c in others) < 0.06
    assert all(c.residual == pytest.approx(0, abs=1e-3) for c in measured_copies() if not c.independent)
