"""Quantities as people type them: every clear form is read exactly, every unclear one is asked about."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.base import units, unitwords
from course_lib.base.errors import CourseError
from course_lib.base.specline import decode
from course_lib.base.units import (
    GB,
    GBPS,
    GiB,
    MiB,
    Rate,
    parse_bytes,
    parse_rate,
    parse_time,
    say_bit_rate,
    say_bytes,
    say_number,
    say_rate,
    say_time,
)
from course_lib.explorers import answers
from course_lib.explorers.controls import Number


def _guess(text):
    return answers.read(text, "")


@pytest.mark.parametrize(
    ("text", "per_direction_Bps"),
    [
        ("400Gb/s", 50e9),
        ("400 Gbps", 50e9),
        ("400 Gbit/s", 50e9),
        ("400 gigabits per second", 50e9),
        ("0.4 Tb/s", 50e9),
        ("450 GB/s per direction", 450e9),
        ("450GB/s/dir", 450e9),
        ("450 GB/s each way", 450e9),
        ("450 GB/sec unidirectional", 450e9),
        ("450 GBps one-way", 450e9),
        ("450 gigabytes per second per direction", 450e9),
        ("900 GB/s bidirectional", 450e9),
        ("900 GB/s (both directions)", 450e9),
        ("900 GB/s bi-directional", 450e9),
        ("1.8 TB/s bidirectional", 900e9),
        ("1,800 GB/s both ways", 900e9),
        ("46.6 GiB/s per direction", 46.6 * 2**30),
        ("0 GB/s per direction", 0.0),
    ],
)
def test_clear_rates_are_read_exactly(text, per_direction_Bps):
    assert parse_rate(text).per_direction_Bps == pytest.approx(per_direction_Bps, rel=1e-12)


def test_a_byte_rate_without_direction_is_asked_with_both_readings():
    with pytest.raises(CourseError, match=r"900 GB/s each way.*450 GB/s each way"):
        parse_rate("900 GB/s")
    assert parse_rate("900 GB/s", direction="both") == Rate(450e9)
    assert parse_rate("50GB/s", direction="per direction") == Rate(50e9)


def test_a_switch_total_in_bits_is_asked_too():
    with pytest.raises(CourseError, match="direction"):
        parse_rate("51.2 Tb/s")
    assert parse_rate("1.6 Tb/s").per_direction_Bps == 200e9


@pytest.mark.parametrize("text", ["400G", "400", "400 g"])
def test_a_bare_number_or_prefix_is_asked_bits_or_bytes(text):
    with pytest.raises(CourseError, match=r"bits or bytes\? .*50 GB/s.*400 GB/s"):
        parse_rate(text)


@pytest.mark.parametrize("text", ["900 gb/s", "900 gbps", "400 Gib/s", "400 GBPS", "64 mb"])
def test_case_that_hides_bits_or_bytes_is_asked(text):
    read = parse_bytes if text.endswith("mb") else parse_rate
    with pytest.raises(CourseError, match=r"bits or bytes|not known|direction|per second"):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "fast",
        "-1 GB/s each way",
        "nan GB/s",
        "inf GB/s",
        "1e400 GB/s each way",
        "0,5 GB/s",
        "1.2.3 GB/s",
        "400 GB",
        "32 GT/s",
        "5 furlongs/s",
        "900 GB/s aggregate",
        None,
        5,
        b"400 Gb/s",
        "1,23 GB/s",
        "٤٠٠ Gb/s",
        "GB/s",
    ],
)
def test_what_is_no_rate_is_refused_in_words(text):
    with pytest.raises(CourseError) as caught:
        parse_rate(text)
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize("parse", [parse_bytes, parse_rate, parse_time, decode, Number("n", 1).parse, _guess])
@pytest.mark.parametrize(
    ("number", "point"), [("0,5", "0.5"), ("1,5", "1.5"), ("0,500", "0.500"), ("1,5000", "1.5000"), ("1.500,5", "1500.5"),
                          ("1,50,000", "1.5"), ("1,", "1.5")]
)  # fmt: skip
def test_a_comma_that_marks_no_thousands_is_refused_with_the_point_by_everything_that_reads_numbers(
    parse, number, point
):
    unit = {"parse_bytes": " GB", "parse_time": " ms", "parse_rate": " Gb/s", "decode": " Gb/s"}.get(parse.__name__, "")
    with pytest.raises(CourseError) as caught:
        parse(number + unit)
    assert "comma marks thousands" in str(caught.value)
    assert str(caught.value).endswith(f"write {point}.")


@pytest.mark.parametrize(
    ("number", "value"), [("1,500", 1500), ("12,345,678.5", 12345678.5), ("1_000", 1000), ("2.", 2)]
)
def test_a_comma_before_every_three_digits_is_passed_over_by_everything_that_reads_numbers(number, value):
    found = [parse_bytes(f"{number} B"), parse_rate(f"{number} B/s", "per direction").per_direction_Bps]
    assert found == [value, value]
    assert parse_time(f"{number} s") == Number("n", 1).parse(number) == _guess(number) == value


@pytest.mark.parametrize("kind", unitwords.KINDS)
def test_every_way_to_write_a_unit_is_in_the_words_that_pages_get(kind):
    words = unitwords.spellings(kind)
    for word in {"time": ["sec", "seconds", "days", "µs", "h"], "size": ["kiB", "MiB", "gigabytes", "KiB"],
                 "rate": ["Gbit/s", "GBps", "Tb/s", "gigabits/s", "kiB/s"]}[kind]:  # fmt: skip
        assert word in words
    assert set(answers.USUAL[kind]) <= set(words)
    assert not {"", "gb", "GT/s", "parsec"} & set(words)


def test_text_and_argument_that_disagree_about_direction_are_refused():
    with pytest.raises(CourseError, match="another"):
        parse_rate("900 GB/s bidirectional", direction="per direction")
    with pytest.raises(CourseError, match="no direction"):
        parse_rate("900 GB/s", direction="sideways")


@pytest.mark.parametrize(
    ("text", "size_B"),
    [
        ("64 MiB", 64 * 2**20),
        ("64MB", 64e6),
        ("1e6", 1e6),
        ("1Mi", 2**20),
        ("1_000_000", 1e6),
        ("1,000,000 B", 1e6),
        ("12 kB", 12e3),
        ("64 Mbit", 8e6),
        ("64 mebibytes", 2**26),
        ("0", 0.0),
        ("0.5 GiB", 2**29),
        (2**60, 2.0**60),
        (np.int32(2**31 - 1), 2.0**31 - 1),
    ],
)
def test_clear_sizes_are_read_exactly(text, size_B):
    assert parse_bytes(text) == size_B


def test_a_bare_1M_names_both_readings_and_can_be_told():
    with pytest.raises(CourseError, match=r"1 MiB \(1,048,576 bytes.*1 MB \(1,000,000 bytes"):
        parse_bytes("1M")
    assert parse_bytes("1M", bare="binary") == MiB
    assert parse_bytes("8G", bare="decimal") == 8 * GB
    with pytest.raises(CourseError, match=r"Valid|nearest"):
        parse_bytes("1M", bare="both")


@pytest.mark.parametrize(
    "text", ["64 Mb", "-1", "-1 MB", "nan", "inf", "2 GB/s", "5 parsecs", True, None, [1], "1e400", "1 MB 2"]
)
def test_what_is_no_size_is_refused_in_words(text):
    if text == [1]:
        assert parse_bytes(text).tolist() == [1.0]  # arrays of plain numbers are sizes
        return
    with pytest.raises(CourseError):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "time_s"),
    [
        ("12 us", 12e-6),
        ("12µs", 12e-6),
        ("12 μs", 12e-6),
        ("3 seconds", 3),
        ("2 hours", 7200),
        ("1.5 ms", 1.5e-3),
        ("5 mins", 300),
    ],
)
def test_times_are_read(text, time_s):
    assert parse_time(text) == pytest.approx(time_s, rel=1e-15)


@pytest.mark.parametrize("text", ["7", "5 m", "5 lightyears", "-2 us", "", None, True])
def test_a_time_without_a_unit_is_refused(text):
    with pytest.raises(CourseError):
        parse_time(text)


def test_what_is_said_reads_back():
    assert parse_bytes(say_bytes(64 * MiB)) == 64 * MiB
    assert parse_bytes(say_bytes(1.5 * GiB)) == 1.5 * GiB
    assert parse_rate(say_rate(450 * GBPS), "per direction").per_direction_Bps == 450e9
    assert parse_rate(say_bit_rate(50e9)).per_direction_Bps == 50e9


@given(st.floats(min_value=1e-3, max_value=1e20))
def test_said_numbers_never_reach_the_next_prefix_and_stay_within_half_a_percent(value):
    for say, factor in ((say_bytes, 1.0), (say_rate, 1.0), (say_bit_rate, 8.0)):
        number, unit = say(value).split(" ")
        shown = float(number.replace(",", ""))
        if value * factor >= 1 and not unit.startswith("E"):
            assert shown < (1024 if "i" in unit else 1000)
        prefix = units.PREFIXES[unit.split("/")[0].rstrip("Bb")]
        assert shown * prefix == pytest.approx(value * factor, rel=6e-3)


@given(st.floats(min_value=1e-12, max_value=1e9))
def test_said_times_stay_below_the_next_unit(value):
    number, unit = say_time(value).split(" ")
    limit = {"ns": 1000, "µs": 1000, "ms": 1000, "s": 60, "min": 60, "h": 24, "days": 366, "years": math.inf}[unit]
    assert float(number.replace(",", "")) < limit


def test_a_quantity_that_does_not_exist_is_a_dash():
    for say in (say_bytes, say_rate, say_bit_rate, say_time, say_number):
        assert say(float("nan")) == say(None) == say(float("inf")) == "–"
        assert say(0).split(" ")[0] == "0"
        assert "nan" not in say(-1.0)
        for most in (1e300, 1.7e308, 5e-324):
            assert say(most) != "–"


def test_a_rate_is_one_direction_and_refuses_nonsense():
    assert Rate(450e9).bidirectional_Bps == 900e9
    for wrong in (-1, float("nan"), None, "450"):
        with pytest.raises(CourseError):
            Rate(wrong)
