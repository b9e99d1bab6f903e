"""Targets in a file: lines and valid words for what is wrong; verdicts, log and roll-back for what is right."""

import datetime as dt
import json
import re

import pytest

from course_lib.base.errors import CourseError
from course_lib.cli.main import main
from course_lib.cluster.claims import read_claims
from course_lib.cluster.gates import MET, MISSED, OUTSIDE, OVERDUE, UNKNOWN, check, log_entry
from course_lib.cluster.quantities import MEASURES, parse, say
from course_lib.cluster.targets import read_targets

TARGETS = """title = "Roll-out"
roll_back = "drain the new pool"

[targets.goodput]
at_least = "90 %"
owner = "Ada"
review = 2027-03-01
escalate_to = "Grace"

[targets.token_latency]
at_most = "50 ms"
owner = "Alan"
review = "2027-02-01"
escalate_to = "Grace"
needs = "measured"
roll_back = "decode on the old pool"
"""
DESIGN = """name = "boxes"
reason = "the mix"
[values]
goodput = "92 %"
token_latency = { value = "48 ms", from = "measured" }
"""
DAY = dt.date(2026, 12, 1)


@pytest.fixture
def files(tmp_path):
    def write(targets=TARGETS, design=DESIGN):
        (tmp_path / "targets.toml").write_text(targets, encoding="utf-8")
        (tmp_path / "design.toml").write_text(design, encoding="utf-8")
        return str(tmp_path / "targets.toml"), str(tmp_path / "design.toml")

    return write


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('at_most = "50 ms"', 'at_most = "50 parsecs"', 11, "no unit 'parsecs'. Valid: ns"),
        ('at_most = "50 ms"', 'at_most = "50"', 11, "unit is missing"),
        ('at_most = "50 ms"', "at_most = 50", 11, "number with a unit"),
        ('at_most = "50 ms"', 'at_least = "50 ms"', 11, "write at_most"),
        ('owner = "Alan"', 'ownr = "Alan"', 12, "nearest is owner"),
        ('owner = "Alan"', 'owner = "Grace"', 14, "name another person"),
        ('owner = "Alan"', 'owner = ""', 12, "words in quotes"),
        ('"2027-02-01"', '"soon"', 13, "a date like"),
        ('needs = "measured"', 'needs = "hoped"', 15, "Valid: measured"),
        ("[targets.goodput]", "[targets.goodputt]", 4, "nearest is goodput"),
        ("roll_back =", "rollback =", 2, "nearest is 'roll_back'"),
        ('"90 %"', '"190 %"', 5, "more than 100"),
    ],
)
def test_a_wrong_word_names_its_line_and_the_valid_ones(files, old, new, line, words):
    path, _design = files(targets=TARGETS.replace(old, new, 1))
    with pytest.raises(CourseError) as error:
        read_targets(path)
    assert f"targets.toml, line {line}:" in str(error.value)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("goodput =", "godput =", 4, "nearest is goodput"),
        ('"92 %"', '"92 s"', 4, "Valid: %"),
        ("from =", "form =", 5, "nearest is from"),
        ('from = "measured"', 'from = "felt"', 5, "Valid: measured"),
        ("reason", "reasn", 2, "nearest is 'reason'"),
    ],
)
def test_a_wrong_word_in_a_design_names_its_line(files, old, new, line, words):
    _targets, path = files(design=DESIGN.replace(old, new, 1))
    with pytest.raises(CourseError) as error:
        read_claims(path)
    assert f"design.toml, line {line}:" in str(error.value)
    assert words in str(error.value)


@pytest.mark.parametrize("key", ["owner", "review", "escalate_to", "at_most"])
def test_owner_review_and_escalation_are_needed(files, key):
    kept = [line for line in TARGETS.splitlines() if not line.startswith(key)]
    path, _design = files(targets="\n".join(kept))
    with pytest.raises(CourseError, match=key):
        read_targets(path)


def states(design, on=DAY, targets=TARGETS, files=None):
    return [v.state for v in check(*files(targets, design), on).verdicts]


def test_every_state_is_reached(files):
    assert states(DESIGN, files=files) == [MET, MET]
    assert states(DESIGN.replace("92 %", "89.9 %"), files=files) == [MISSED, MET]
    assert states(DESIGN.replace("48 ms", "51 ms"), files=files) == [MET, MISSED]
    assert states(DESIGN.replace('from = "measured"', 'from = "predicted"'), files=files) == [MET, OUTSIDE]
    assert states(DESIGN.replace('"92 %"', '{ value = "92 %", valid = false }'), files=files) == [OUTSIDE, MET]
    assert states(DESIGN.replace('"92 %"', '{ value = "92 %", from = "assumed" }'), files=files) == [OUTSIDE, MET]
    assert states(DESIGN.replace('goodput = "92 %"\n', ""), files=files) == [UNKNOWN, MET]
    assert states(DESIGN, on=dt.date(2027, 2, 15), files=files) == [MET, OVERDUE]


def test_a_value_on_the_bound_is_met(files):
    assert states(DESIGN.replace("92 %", "90 %").replace("48 ms", "50 ms"), files=files) == [MET, MET]


def test_a_miss_names_the_person_it_goes_to(files):
    report = check(*files(design=DESIGN.replace("92 %", "80 %")), DAY)
    assert not report.passes
    assert "Grace" in report.verdicts[0].sentence
    assert "80 %" in report.verdicts[0].sentence
    assert "at least 90 %" in report.verdicts[0].sentence


def test_the_log_entry_has_decision_reason_roll_back_and_review(files):
    text = log_entry(check(*files(), DAY))
    for part in (
        "2026-12-01 · boxes",
        "all 2 gates",
        "the mix",
        "drain the new pool",
        "decode on the old pool",
        "2027-02-01",
    ):
        assert part in text
    assert "Stopped: 1 of 2" in log_entry(check(*files(design=DESIGN.replace("92 %", "80 %")), DAY))


@pytest.mark.parametrize("name", list(MEASURES))
def test_every_measure_is_read_in_each_of_its_units_and_said_again(name):
    measure = MEASURES[name]
    for unit in measure.units:
        value = parse(measure, f"0.5 {unit}")
        assert value > 0
        assert say(measure, value)


def test_the_command_says_by_its_status_what_happens(files, capsys):
    assert main(["gate", *files(), "--on", "2026-12-01"]) == 0
    assert main(["gate", *files(design=DESIGN.replace("92 %", "80 %")), "--on", "2026-12-01", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert rows["passes"] is False
    assert rows["gates"][0]["state"] == MISSED
    assert main(["gate", *files(targets=TARGETS.replace("50 ms", "50 mss"))]) == 2
    assert "line 11" in capsys.readouterr().err
    assert main(["gate", "none.toml", "none.toml"]) == 2


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_no_quantity_is_infinite_and_only_shares_and_alarms_are_nothing(name):
    measure = MEASURES[name]
    for text in (f"1e400 {measure.units[0]}", f"1e99 {measure.units[0]}"):
        with pytest.raises(CourseError):
            parse(measure, text)
    nothing = f"0 {measure.units[0]}"
    if measure.kind == "share" or name == "false_alarms":
        assert parse(measure, nothing) == 0
    else:
        with pytest.raises(CourseError, match="nothing has 0"):
            parse(measure, nothing)


def test_a_step_of_no_time_meets_no_gate(files, capsys):
    paths = files(design=DESIGN.replace('"48 ms"', '"0 ms"'))
    assert main(["gate", *paths]) == 2
    assert "design.toml, line 5" in capsys.readouterr().err


@pytest.mark.parametrize("language", ["zh_CN", "zh_TW"])
def test_the_lessons_gates_name_no_one_in_english(monkeypatch, language):
    from course_lib.base.columns import width
    from course_lib.base.language import _
    from course_lib.cluster.catalogue import items
    from course_lib.locales.extract import gates_say

    monkeypatch.setenv("INTERCONNECT_LANG", language)
    for words in gates_say():
        assert not re.search("[a-z]{3}", _(words)), words
    assert max(width(_(part.title)) for part in items()) <= 30  # what the box of lesson 14's select holds
