"""The spec-line decoder: every usual form gives the same rate, and slips of units have names."""

import pytest

from course_lib.base.errors import CourseError
from course_lib.base.specline import decode, encoding_share, unit_slip

GEN5_Bps = 32e9 * 16 / 8 * 128 / 130


@pytest.mark.parametrize(
    "text",
    [
        "32 GT/s x16 128b/130b",
        "x16 32 GT/s",
        "16 lanes at 32 GT/s",
        "16 x 32 GT/s",
        "16 × 32GT/s, 128b/130b",
        "PCIe 5.0 x16",
        "PCIe Gen5",
        "pcie5",
        "PCIe Gen 5 x16",
    ],
)
def test_one_link_typed_in_many_ways_is_one_rate(text):
    assert decode(text).rate.per_direction_Bps == pytest.approx(GEN5_Bps, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "rate_Bps"),
    [
        ("18 x 50 GB/s per direction", 900e9),
        ("18 × 100 GB/s both directions", 900e9),
        ("8 x 400 Gb/s", 400e9),
        ("2.5 GT/s x1 8b/10b", 0.25e9),
        ("64 GT/s x16 flit", 121e9),
        ("PCIe Gen5 x8", GEN5_Bps / 2),
        ("NVLink 5", 900e9),
        ("400 Gb/s", 50e9),
    ],
)
def test_other_lines(text, rate_Bps):
    assert decode(text).rate.per_direction_Bps == pytest.approx(rate_Bps, rel=1e-12)


def test_every_form_is_the_same_rate():
    forms = dict(decode("450 GB/s per direction", lanes=18).forms)
    assert forms["per direction"] == "450 GB/s"
    assert forms["both directions summed"] == "900 GB/s"
    assert forms["per direction, in bits"] == "3.6 Tb/s"
    assert forms["per direction, binary prefix"] == "419.1 GiB/s"
    assert forms["1 GB takes"] == "2.22 ms"
    assert "18 lanes" in " ".join(forms)


def test_transfers_come_back_with_the_lanes_and_code_they_were_typed_with():
    assert dict(decode("64 GT/s x8 flit").forms)["8 lanes, flit"] == "64 GT/s"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "400G",
        "900 GB/s",
        "banana",
        "nvlink7",
        "32 GT/s x0",
        "PCIe 5.0 x0",
        "PCIe 9",
        "32 GT/s wat",
        None,
        3,
        "x16",
        "8 GT/s 1b/0b",
    ],
)
def test_lines_that_cannot_be_read_are_refused_in_words(text):
    with pytest.raises(CourseError):
        decode(text)


def test_zero_takes_no_finite_time_and_is_shown_as_a_dash():
    assert dict(decode("0 GB/s per direction").forms)["1 GB takes"] == "–"


@pytest.mark.parametrize("wrong", ["130b/128b", "0b/8b", "PAM", 0, 1.5, float("nan"), None])
def test_encodings_keep_at_most_all_bits(wrong):
    with pytest.raises(CourseError):
        encoding_share(wrong)


def test_slips_of_units_have_names():
    assert "GiB for GB" in unit_slip(50 * 2**30 / 1e9, 50)
    assert "both directions" in unit_slip(900, 450)
    assert "bits for bytes" in unit_slip(400, 50)
    assert "1000" in unit_slip(1800e12, 1.8e12)
    assert "1024" in unit_slip(1024, 1)
    for pair in ((1, 1), (1.03, 1), (3, 1), (0, 1), (1, 0), (float("nan"), 1), (None, 1), ("a", 1), (-2, 1)):
        assert unit_slip(*pair) is None
