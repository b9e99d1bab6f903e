"""Mutated and random texts: no crash, no hang, and no number that was not in the text."""

import json
import os
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.machine import gallery, nccltests, nvbandwidth, nvlink, p2p, recognise, say, topo
from course_lib.machine.diagnose import diagnose
from course_lib.machine.text import Unreadable

TEXTS = {
    path.name: path.read_bytes().decode("utf-16" if "utf16" in path.name else "utf-8", "replace")
    for path in sorted(gallery.FIXTURES.iterdir())
    if path.suffix in (".txt", ".json") and path.stat().st_size
}
NOISE = (
    "host-a:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2",
    "",
    "\x1b[31mwarning\x1b[0m",
    "GPU0",
    "0 1 2 3",
    "# size count",
    "SECRET=hunter2hunter2",
    "\x00\x00",
    "   9999999 999 float",
)
FUZZ = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "40")), deadline=None, suppress_health_check=list(HealthCheck)
)


@st.composite
def mutated(draw, names=tuple(TEXTS)):
    lines = TEXTS[draw(st.sampled_from(names))].split("\n")
    for _turn in range(draw(st.integers(1, 4))):
        if not lines:
            break
        k = draw(st.integers(0, len(lines) - 1))
        how = draw(st.integers(0, 9))
        words = lines[k].split()
        if how == 0:
            del lines[k]
        elif how == 1:
            lines[k] = lines[k][: draw(st.integers(0, len(lines[k])))]
        elif how == 2 and k + 1 < len(lines):
            lines[k] += lines.pop(k + 1)
        elif how == 3 and words:
            del words[draw(st.integers(0, len(words) - 1))]
            lines[k] = "  ".join(words)
        elif how == 4:
            lines.insert(k, draw(st.sampled_from(NOISE)))
        elif how == 5:
            at = draw(st.integers(0, len(lines[k])))
            lines[k] = lines[k][:at] + draw(st.sampled_from(NOISE)) + lines[k][at:]
        elif how == 6:
            lines = lines[: k + 1]
        elif how == 7:
            lines.insert(k, lines[draw(st.integers(0, len(lines) - 1))])
        elif how == 8 and words:
            i, j = (draw(st.integers(0, len(words) - 1)) for _end in range(2))
            words[i], words[j] = words[j], words[i]
            lines[k] = "\t".join(words)
        elif how == 9:
            lines[k] = lines[k][draw(st.integers(0, len(lines[k]))) :]
    return "\n".join(lines) + "\n"


def numbers_in(text: str) -> set[float]:
    return {float(word) for word in re.findall(r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", text) if len(word) < 40}


def close(value: float, known: set[float], scale: float = 1.0) -> bool:
    return any(abs(value - k * scale) <= 1e-9 * max(abs(value), 1e-30) for k in known)


def check_numbers(text: str) -> None:
    known = numbers_in(text)
    try:
        log = nccltests.read(text)
    except Unreadable:  # what little is left is no text
        return
    for row in log.rows if log else ():
        assert row.size_B in known
        assert row.count in known
        for half in (row.out, row.inplace):
            assert half.time_s is None or close(half.time_s, known, 1e-6)
            assert half.algbw_Bps is None or close(half.algbw_Bps, known, 1e9)
            assert half.busbw_Bps is None or close(half.busbw_Bps, known, 1e9)
            assert half.wrong is None or half.wrong in known
            if half.time_s and half.algbw_Bps and half.algbw_Bps > 1e9:
                assert row.size_B / half.time_s == pytest.approx(half.algbw_Bps, rel=0.3)
    for record in (p2p.read(text), nvbandwidth.read(text)):
        for matrix in record.matrices if record else ():
            for value in matrix.values[np.isfinite(matrix.values)]:
                assert float(value) in known
    status = nvlink.read(text)
    for gpu in status.gpus if status else ():
        assert all(rate is None or close(rate, known, 1e9) or close(rate, known, 1e6) for _k, rate in gpu.links)
    matrix = topo.read(text)
    if matrix is not None:
        words = re.sub(r"\x1b\[[0-9;]*m", "", text)
        for row in matrix.links:
            assert all(word in ("", "X") or word in words for word in row)
        if matrix.complete:
            assert (matrix.nvlinks == matrix.nvlinks.T).all()


@FUZZ
@given(mutated())
def test_readers_invent_no_number(text):
    check_numbers(text)


@FUZZ
@given(mutated(), st.sampled_from([None, "dgx-h100", "a100-quad"]))
def test_a_mutated_text_gives_a_report(text, system):
    report = diagnose(text, system=system, names=["text"])
    said = say.in_words(report) + json.dumps(say.as_json(report), allow_nan=False)
    assert report.exit_status in (0, 1, 2)
    assert "hunter2" not in said
    assert "nan" not in re.findall(r"[A-Za-z]+", said)


@FUZZ
@given(st.one_of(st.text(max_size=400), st.binary(max_size=400)))
def test_random_input_is_refused_or_read_in_words(data):
    report = diagnose(data + "\n" if isinstance(data, str) else data, names=["data"])
    assert report.exit_status in (1, 2)
    assert report.headline


@FUZZ
@given(st.lists(mutated(), min_size=2, max_size=3))
def test_several_mutated_texts_together_give_a_report(texts):
    assert diagnose(*texts).exit_status in (0, 1, 2)


@FUZZ
@given(mutated(("nccl_json_v3.json",)))
def test_a_broken_json_shows_nothing_of_its_environment(text):
    report = diagnose(text, names=["json"])
    said = say.in_words(report) + json.dumps(say.as_json(report)) + repr(report.readings)
    for secret in ("planted-secret", "API_TOKEN", "host-a"):
        assert secret not in said


@pytest.mark.parametrize(
    "line",
    ["(" * 200_000, "GPU0 " * 100_000, "1 2 float " * 50_000, "NVLS " * 40_000, "[1,0]<stdout>:" * 20_000, "\x1b[" * 100_000,
     "0 " * 200_000, "Device: 0, " * 50_000, "{" * 100_000, '{"a":' * 50_000, "GPU(row)" * 50_000, "node: " * 50_000],
)  # fmt: skip
def test_long_lines_end_soon(line):
    assert diagnose(line + "\n", names=["long"]).exit_status == 2


def test_a_source_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(CourseError, match="cannot be read"):
        recognise.read(tmp_path / "none.txt")
    with pytest.raises(CourseError, match="folder"):
        recognise.read(tmp_path)
    with pytest.raises(CourseError, match="Nothing to read"):
        diagnose()
