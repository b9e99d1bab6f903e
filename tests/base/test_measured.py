"""Published measurements: complete, sorted, sourced, one direction."""

import re
from pathlib import Path

import numpy as np
import pytest

from course_lib.base import hardware, measured, sources
from course_lib.base.errors import CourseError


def test_every_copy_names_a_link_a_machine_and_a_source():
    assert len(measured.copies()) >= 40
    for copy in measured.copies():
        assert hardware.link(copy.link).line_Bps * copy.share > copy.measured_Bps > 0
        assert copy.machine
        assert copy.source.address.startswith("https://")
        assert copy.request in ("read", "write") if copy.link.startswith("pcie") else copy.request == ""


def test_a_copy_in_both_directions_is_halved():
    summed = [c for c in measured.copies() if c.direction == "both" and "783" in str(round(2 * c.measured_Bps / 1e9))]
    assert not summed
    both = next(c for c in measured.copies() if c.machine == "8x H200" and c.direction == "both")
    assert both.measured_Bps == pytest.approx(783.7e9 / 2)


@pytest.mark.parametrize("name", measured.series_names())
def test_series_are_sorted_and_time_is_size_over_rate(name):
    series = measured.series(name)
    assert (np.diff(series.message_B) > 0).all()
    assert series.time_s * series.rate_Bps == pytest.approx(series.message_B, rel=1e-12)
    assert series.rate_Bps.max() < hardware.link(series.link).line_Bps * 1.001
    with pytest.raises(ValueError, match="read-only"):
        series.time_s[0] = 1


def test_perftest_megabytes_are_binary():
    # perftest divides by 0x100000: read as 1e6 the card would reach 93 % of its payload rate, as 2**20 98 %.
    assert measured.series("rdma-loopback-hdr").rate_Bps[-1] == pytest.approx(23240.68 * 2**20, rel=1e-5)


@pytest.mark.parametrize("name", measured.matrix_names())
def test_matrices_hold_what_the_source_gives(name):
    matrix = measured.matrix(name)
    assert matrix.values.shape == (len(matrix.src), len(matrix.dst))
    given = matrix.values[np.isfinite(matrix.values)]
    assert (given > 0).all()
    assert given.max() < (1e-3 if matrix.unit == "s" else 1e13)


def test_the_cube_mesh_shows_its_links_one_direction():
    row = measured.matrix("dgx1-v100-row0").values[0] / 1e9
    assert row[1:3] == pytest.approx(24.2, abs=0.2)
    assert row[3:5] == pytest.approx(48.4, abs=0.2)
    assert row[5:] == pytest.approx(7.2, abs=0.2)


def pairs(name):
    values = measured.matrix(name).values
    return values[~np.eye(len(values), dtype=bool)]


def test_values_that_the_hardware_table_takes_from_a_series_are_in_it():
    assert hardware.value("ib-edr", "latency_s") == measured.series("rdma-gpu-edr-latency").time_s[0]
    for link, matrix in (("nvlink3", "a100-8"), ("nvlink5", "gb200-4")):
        assert pairs(matrix).min() < hardware.value(link, "copy_Bps") < pairs(matrix).max()
    row = measured.matrix("dgx1-v100-latency").values[0, 1:5]
    assert row.min() == pytest.approx(hardware.value("nvlink2", "latency_s"), rel=0.03)


@pytest.mark.parametrize("link", ["nvlink1", "nvlink4", "nvlink5"])
def test_what_a_note_says_of_a_matrix_is_in_it(link):
    low, high = re.search(r"four-GPU NVLink node ([\d.]+) to ([\d.]+)", hardware.line(link, "latency_s").note).groups()
    seen = pairs("nvlink4gpu-latency") * 1e6
    assert (float(low), float(high)) == pytest.approx((seen.min(), seen.max()), abs=0.05)
    assert pairs("nvlink4gpu-latency-off").min() * 1e6 > 4 * seen.max()  # staged in host memory


def test_every_series_and_matrix_is_read_by_somebody():
    root = Path(__file__).parents[2]
    files = [
        p for place in ("course_lib", "notebooks", "solutions", "tests") for p in (root / place).rglob("*.[pi][yp]*")
    ]
    text = " ".join(p.read_text(encoding="utf-8") for p in files if p.suffix in (".py", ".ipynb"))
    assert [
        n for n in (*measured.series_names(), *measured.matrix_names()) if f'"{n}' not in text.replace("\\", "")
    ] == []


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(CourseError, match="gdrcopy-write"):
        measured.series("gdrcopy-writes")
    with pytest.raises(CourseError, match="h100-8"):
        measured.matrix("h100")


def test_a_missing_file_and_a_short_line_are_said(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "DATA", tmp_path)
    with pytest.raises(CourseError, match="missing"):
        sources.rows("copies.csv")
    (tmp_path / "copies.csv").write_text("a,b\n1\n", encoding="utf-8")
    with pytest.raises(CourseError, match="line 2"):
        sources.rows("copies.csv")
