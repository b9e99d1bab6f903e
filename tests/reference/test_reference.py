"""One table of published numbers: what the course computes is within the stated tolerance, and a remark says why it differs."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest

from course_lib.base import hardware
from course_lib.base.table import UNITS
from course_lib.links import linerate

with (Path(__file__).parent / "reference.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))

QUANTITIES = {
    "line_rate_Bps": linerate.line_rate_Bps,
    "packet_efficiency": linerate.packet_efficiency,
    "packet_overhead_B": linerate.packet_overhead_B,
    "payload_Bps": linerate.payload_Bps,
    "value": hardware.value,
    "link.line_Bps": lambda name: hardware.link(name).line_Bps,
}


@pytest.mark.parametrize("row", ROWS, ids=[f"{i + 2}:{row['quantity']}" for i, row in enumerate(ROWS)])
def test_published_numbers_are_met_within_their_tolerance(row):
    arguments = json.loads(row["arguments"])
    if isinstance(arguments.get("encoding"), str):
        arguments["encoding"] = float(Fraction(arguments["encoding"]))
    unit = 1.25e8 if row["unit"] == "Gb/s" else UNITS.get(row["unit"], 1.0)
    published, tolerance = float(row["published"]) * unit, float(row["tolerance"])
    computed = QUANTITIES[row["quantity"]](**arguments)
    assert computed == pytest.approx(published, rel=tolerance)
    assert row["source"]
    # A band of more than 5 % has to say why.
    assert tolerance <= 0.05 or row["remark"]
