"""The capstone done honestly, half, and by cheating; the incident report by shotgun; the page that a person marks."""

import json
import math
from pathlib import Path

import pytest

from course_lib.cluster.design import Work, margin, price
from course_lib.grading import bank, notebook
from course_lib.grading.bank.ex14 import q1_design, q2_report
from course_lib.grading.verdict import CORRECT, NOT_YET

ROOT = Path(__file__).parents[2]
DESIGN, REVIEW = bank.question("14.q1"), bank.question("14.q2")
LEARNERS = ["", *map(str, range(12))]


def right(learner):
    return q1_design.design(**DESIGN.parameters_for(learner))


def ask(answer, learner=""):
    return notebook.ask(DESIGN, {"design": answer}, learner)


@pytest.mark.parametrize("learner", LEARNERS)
def test_each_brief_has_a_design_that_passes_and_the_newest_part_does_not(learner):
    assert ask(right(learner), learner).state == CORRECT
    newest = ask(right(learner) | {"part": "rubin-rack", "units": 1, "spares": 2}, learner)
    assert newest.state == NOT_YET
    assert "newest part" in newest.sentences[0]


def test_loads_differ_so_much_that_the_right_part_does():
    parts = {right(str(n))["part"] for n in range(30)}
    assert parts == {"b200-box", "gb200-rack"}


def test_each_gate_that_is_met_earns_its_share_and_each_other_has_its_sentence():
    verdict = ask(right("") | {"interval_s": 900.0, "cards": 1})
    gates = len(DESIGN.parameters_for()["targets"]["targets"])
    assert verdict.points == pytest.approx(DESIGN.points * (gates - 2) / gates)
    assert any("largest all-reduce" in text for text in verdict.sentences)
    assert any("goodput" in text for text in verdict.sentences)
    assert "as often as a cluster of thousands" in verdict.sentences[0]


CHEATS = {
    "claims its numbers": {"token_latency": "1 ms"},
    "claims its goodput": {"goodput": 1.0},
    "brings its own targets": {"targets": {"budget": {"at_most": "900 MUSD"}}},
    "no hosts": {"units": 0},
    "minus one host": {"units": -1},
    "half a host": {"units": 0.5},
    "not a number of hosts": {"units": math.nan},
    "true hosts": {"units": True},
    "only spares": {"spares": 10**6},
    "minus spares": {"spares": -4},
    "minus cards": {"cards": -8},
    "cards that do not exist": {"cards": 64},
    "requests without end": {"requests": 10**300},
    "requests that do not fit": {"requests": 900_000},
    "minus requests": {"requests": -1},
    "an endless interval": {"interval_s": math.inf},
    "no interval": {"interval_s": 0.0},
    "not a number of seconds": {"interval_s": math.nan},
    "a precision of its own": {"precision": "fp1"},
    "a part of its own": {"part": "free-rack"},
    "a part that is a list": {"part": ["b200-box"]},
}


@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS)
def test_a_design_that_cheats_earns_nothing_and_is_told_why(cheat):
    verdict = ask(right("") | cheat)
    assert (verdict.state, verdict.points) == (NOT_YET, 0.0)
    assert verdict.sentences[0].endswith((".", "…"))
    assert "Error" not in verdict.sentences[0]


def test_absurd_spares_are_paid_for():
    verdict = ask(right("") | {"units": 40, "spares": 37})
    assert verdict.state == NOT_YET
    assert any("purchase" in text for text in verdict.sentences)


def test_editing_the_brief_in_the_notebook_changes_nothing():
    numbers = DESIGN.parameters_for()
    numbers["targets"]["targets"]["budget"]["at_most"] = "900 MUSD"
    assert "900" not in str(DESIGN.parameters_for())


def test_a_dict_that_pretends_is_no_dict():
    class Agrees(dict):
        def __eq__(self, other):
            return True

        __hash__ = None

        def __getitem__(self, key):
            return 1.0

    assert ask(Agrees(right(""))).points == 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_report_has_five_errors_and_copying_it_earns_nothing(learner):
    numbers = REVIEW.parameters_for(learner)
    due = q2_report.review(**numbers)
    errors = [k for k in due if not q2_report._near(numbers["stated"][k], due[k])]
    assert len(errors) == 5
    for copied in (numbers["stated"], {k: numbers["stated"][k] for k in errors[:1]}):
        verdict = notebook.ask(REVIEW, {"review": copied}, learner)
        assert (verdict.points, verdict.misconceptions) == (0, ("the report as it is",))
    assert notebook.ask(REVIEW, {"review": {k: due[k] for k in errors}}, learner).state == CORRECT
    one = notebook.ask(REVIEW, {"review": {errors[0]: due[errors[0]]}}, learner)
    assert one.points == pytest.approx(REVIEW.points * 2 / 6)


def test_changing_lines_that_are_right_costs_its_share():
    numbers = REVIEW.parameters_for("")
    due = q2_report.review(**numbers)
    fine = next(k for k in due if q2_report._near(numbers["stated"][k], due[k]))
    verdict = notebook.ask(REVIEW, {"review": due | {fine: 1.5 * due[fine]}})
    assert verdict.points == pytest.approx(REVIEW.points * 5 / 6)
    assert fine in verdict.sentences[-1]


@pytest.mark.parametrize(
    "answer", [{"speed": 3.0}, {"sent": math.nan}, {"sent": "1"}, {"sent": True}, {"sent": [1.998]}]
)
def test_a_review_of_something_else_earns_nothing(answer):
    assert notebook.ask(REVIEW, {"review": answer}).points == 0


def test_the_sample_page_says_what_its_design_reaches():
    page = (ROOT / "solutions" / "14_design_review" / "14_design_review.ipynb").read_text(encoding="utf-8")
    boxes = q1_design.BOXES | q1_design.PLACED | {"units": 4, "interval_s": 71_000.0}
    found = price(boxes, Work(tokens_per_s=80e3))
    said = (
        f"cut to {100 * margin():.0f} %",
        f"{1e3 * found.latency_s:.0f} ms a token",
        f"{found.tokens_per_s / 1e3:.0f},000 tokens a second",
        f"{found.usd_per_mtoken:.1f} USD a million",
        f"{100 * found.goodput:.0f} % of the time",
        f"{found.bill.purchase_usd / 1e6:.1f} MUSD",
    )
    assert [text for text in said if text not in page] == []
    assert found.best_interval_s / 3600 == pytest.approx(20, abs=0.5)  # "every twenty hours"


def test_the_page_is_a_cell_that_a_person_marks_and_its_sample_stays_with_the_instructor():
    name = "14_design_review"
    for folder in ("solutions", "exercises"):
        cells = json.loads((ROOT / folder / name / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        page = next(c for c in cells if c["metadata"].get("nbgrader", {}).get("grade_id") == "14-q3")
        meta = page["metadata"]["nbgrader"]
        assert (meta["grade"], meta["solution"], meta["locked"], meta["points"]) == (True, True, False, 4)
        assert page["cell_type"] == "markdown"
        assert ("YOUR ANSWER HERE" in "".join(page["source"])) == (folder == "exercises")
