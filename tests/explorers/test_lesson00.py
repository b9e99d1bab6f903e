"""The spec-line decoder reads every usual form alike, fills in only what a line leaves open, and says no in words."""

import json
import re

import pytest

from course_lib.base import hardware
from course_lib.base.errors import CourseError
from course_lib.base.units import GB, GiB, MiB
from course_lib.explorers.lesson00 import ASK, data_sheet, decoder, duplex, nearest_links, read_line, typed_form
from course_lib.links.linerate import measured_copies
from tests.notebooks.lessons import ROOT, read, source

LESSON = ROOT / "notebooks" / "00_start_here.ipynb"

SAME_450 = [
    ("450 GB/s per direction", 0), ("900 GB/s both directions", 1), ("900 GB/s", 1), ("900GB/s bidirectional", 1),
    ("0.9 TB/s both ways", 1),
    ("3600 Gb/s per direction", 2), ("3.6 Tb/s per direction", 2), ("7200 Gb/s both directions", 3), ("18 x 25 GB/s per direction", None),
    ("18 × 50 GB/s both directions", None), ("nvlink4", None), ("NVLink 4", None),
]  # fmt: skip


@pytest.mark.parametrize(("line", "row"), SAME_450)
def test_every_usual_form_is_one_rate_and_the_typed_row_is_marked(line, row):
    reading = read_line(line, "both", 1e9)
    assert reading.decoded.rate.per_direction_Bps == pytest.approx(450e9)
    assert reading.time_s == pytest.approx(1 / 450)
    assert typed_form(reading) == row


LANES_AND_BINARY = [
    ("32 GT/s x16 128b/130b", 32 * 16 * 128 / 130 / 8, 6), ("2.5 GT/s x4 8b/10b", 1.0, 6),
    ("46.6 GiB/s per direction", 46.6 * 2**30 / 1e9, 4), ("93.2 GiB/s both", 46.6 * 2**30 / 1e9, 5),
]  # fmt: skip


@pytest.mark.parametrize(("line", "rate_GBps", "row"), LANES_AND_BINARY)
def test_lanes_codes_and_binary_prefixes_are_read(line, rate_GBps, row):
    reading = read_line(line, ASK, 1.0)
    assert reading.decoded.rate.per_direction_Bps / 1e9 == pytest.approx(rate_GBps)
    assert typed_form(reading) == row


def test_only_what_a_line_leaves_open_is_filled_in():
    assert read_line("400 Gb/s", "both", 1.0).decoded.rate.per_direction_Bps == 50e9
    assert read_line("450 GB/s per direction", "both", 1.0).filled_in is None
    assert read_line("900 GB/s", "per direction", 1.0).decoded.rate.per_direction_Bps == 900e9
    assert read_line("900 GB/s", "both", 1.0).filled_in == "both"
    with pytest.raises(CourseError, match="does not say its direction"):
        read_line("900 GB/s", ASK, 1.0)


def test_the_table_holds_every_form_and_the_bars_hold_their_numbers():
    explorer = decoder()
    explorer.set(line="50 GB/s per direction")
    bars = explorer.figure.data[0]
    lengths = [x + b for x, b in zip(bars["x"], bars["base"], strict=True)]
    assert lengths[:6] == pytest.approx([50, 100, 400, 800, 50e9 / 2**30, 100e9 / 2**30])
    assert lengths[6] == pytest.approx(50 * 8 / 16 / (128 / 130))
    forms = dict(explorer.figure.layout.meta["table"]["rows"])
    assert (forms["per direction"], forms["both directions, in bits"], forms["1 GB takes"]) == (
        "50 GB/s",
        "800 Gb/s",
        "20 ms",
    )


UNREADABLE = [
    "", "nonsense", "-1", "0 GB/s", "nan GB/s", "1e300 GB/s", "1e-12 B/s per direction", "400G", "400 GB", "<b>9", "PCIe 9", "x16",
    "9" * 400 + " GB/s",
]  # fmt: skip


@pytest.mark.parametrize("line", UNREADABLE)
def test_what_cannot_be_read_is_said_and_the_next_line_works(line):
    explorer = decoder()
    explorer.set(line=line)
    assert explorer.stale
    assert "Traceback" not in explorer.message
    assert "Error" not in explorer.message
    explorer.set(line="400 Gb/s")
    assert not explorer.stale
    assert explorer.figure.layout.title.text.startswith('"400 Gb/s" is 50 GB/s')


def test_a_rate_of_zero_and_one_beyond_all_links_are_refused_for_what_they_are():
    with pytest.raises(CourseError, match="rate of zero"):
        read_line("0 GB/s", "both", 1.0)
    with pytest.raises(CourseError, match="Look at the prefix"):
        read_line("1e12 GB/s", "both", 1.0)


def test_each_control_changes_what_is_seen():
    explorer = decoder()
    seen = [_seen(explorer)]
    for change in ({"line": "1.8 TB/s"}, {"unsaid": "per direction"}, {"message_B": 10**6}):
        explorer.set(**change)
        assert _seen(explorer) not in seen, change
        seen.append(_seen(explorer))


def _seen(explorer):
    return explorer.figure.to_json() + explorer.view.formula.value + explorer.view.said.value


def test_every_link_is_found_by_its_own_rate():
    for name in hardware.items("link"):
        link = hardware.link(name)
        assert nearest_links(link.line_Bps).startswith("That is the line rate of")
        assert link.title in nearest_links(link.line_Bps)
    assert nearest_links(1.0).startswith("Every link")
    assert nearest_links(1e18).startswith("No link")
    assert nearest_links(220e9).startswith("It lies between")
    assert "within 2 %" in nearest_links(50e9 * 1.01)


def test_the_sheet_prints_what_vendors_print():
    assert [(line.printed, line.number, line.rate_Bps) for line in data_sheet()] == [
        ("900 GB/s", 900, 450e9), ("128 GB/s", 128, 64e9), ("400 Gb/s", 400, 50e9)
    ]  # fmt: skip


def test_what_the_lesson_writes_in_words_is_what_the_library_computes():
    text = "\n".join(source(cell) for cell in read(LESSON)["cells"] if cell["cell_type"] == "markdown")
    nvlink4, nvlink5 = hardware.value("nvlink4", "line_Bps"), hardware.value("nvlink5", "line_Bps")
    card, slot = hardware.value("ib-ndr", "line_Bps"), hardware.value("pcie5", "raw_Bps")
    alone, together = duplex()
    claims = {
        "If you said 2.25": 900 / 400 == 2.25,
        "If you said 18": 900 / 50 == 900 / 2 / (50 / 2) == 18,
        "If you said 1.1": round(450 / 400, 1) == 1.1,
        "14 times PCIe 5": round(2 * nvlink5 / (2 * slot)) == 14,
        "about one part in a hundred": 0.005 < 1 - together.measured_Bps / alone.measured_Bps < 0.015,
        "reaches 396 of 900": round(alone.measured_Bps / GB) == 396,
        "about 17": round(16 * GiB / GB) == 17,
        "7.4 %": round(100 * (GiB / GB - 1), 1) == 7.4,
        "1024 is 2.4 % more": 1024 / 1000 == 1.024,
        "63 GB/s": round(hardware.value("pcie5", "line_Bps") / GB) == 63,
        "429 GB/s": round(8 * GiB / 0.02 / GB) == 429,
        "97 % of it": round(96.9) == 97,
        "leaves 97 % of them": round(100 * 64 / 66) == 97,
        "47 for 50 is 6 % too small": round(100 * (1 - 47 / 50)) == 6,
        "a little less than a seventh": 0.97 / 7 < 64 / 450 < 1 / 7,
        "less than half arrives": measured_copies("pcie5")[0].measured_Bps < slot,
        "140 GB in all": 70e9 * 2 == 140e9,
        "is 50 GB/s, the line rate of a 400 Gb/s port": abs(46.6 * GiB / card - 1) < 1e-3,
        "450 GB/s, 900 GB/s and 3.6 Tb/s": nvlink4 == 900e9 / 2 == 3.6e12 / 8,
    }
    assert [claim for claim, holds in claims.items() if not holds] == []
    assert [claim for claim in claims if claim not in text] == []
    assert measured_copies("ib-hdr")[0].measured_Bps / MiB < measured_copies("ib-hdr")[0].measured_Bps / 1e6
    assert len(re.findall("<details>", text)) == len(re.findall("</details>", text)) == 6


def test_figures_of_the_decoder_carry_words_numbers_and_no_formulas():
    explorer = decoder()
    plain = json.dumps(explorer.snapshot()["application/vnd.plotly.v1+json"])
    assert "$" not in plain
    assert "450 GB/s" in explorer.figure.layout.meta["alt"]
    assert len(explorer.figure.data) == 1
