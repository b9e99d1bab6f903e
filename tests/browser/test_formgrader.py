"""Formgrader in a browser, on what `interconnect grade` has booked: marks, comments, written answers that wait."""

import json
import shutil

import pytest

from course_lib.grading import sandbox
from course_lib.grading.runner import Options, grade

from .lab import ROOT, Lab, PATIENCE_ms

pytestmark = pytest.mark.browser
FIRST, LAST = "00_start_here", "14_design_review"


def hand_in(folder, who, name, change):
    """Write a hand-in of exercise `name` made from its solutions, with `change(cell, id)` applied to its graded cells."""
    made = json.loads((ROOT / "solutions" / name / f"{name}.ipynb").read_text(encoding="utf-8"))
    for cell in made["cells"]:
        change(cell, cell["metadata"].get("nbgrader", {}).get("grade_id", ""))
    path = folder / who / name / f"{name}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(made), encoding="utf-8")


def mistaken(cell, name):
    if name == "00-q1-answer":
        cell["source"] = "def payload_GBps(t, lanes, p, c):\n    return t * lanes * p / c"


def wrote(cell, name):
    if cell["cell_type"] == "markdown" and name:
        cell["source"] = (
            "The design breaks gate 2: <script>document.title = 'taken'</script> the spine is oversubscribed."
        )


@pytest.fixture(scope="module")
def formgrader(tmp_path_factory):
    """Return a JupyterLab over a course in which the runner has marked two learners."""
    folder = tmp_path_factory.mktemp("a class with ü")
    (folder / "notebooks").mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    for name in (FIRST, LAST):
        for kind in ("exercises", "solutions"):
            shutil.copytree(ROOT / kind / name, folder / kind / name)
    submitted = folder / "grading" / "submitted"
    hand_in(submitted, "Zoë-李", FIRST, mistaken)
    hand_in(submitted, "kim", LAST, wrote)
    done = grade(submitted, Options(to=folder / "grading", walled=not sandbox.available()))
    assert done.status == 0, done.rows
    running = Lab(folder)
    yield running
    running.stop()


def test_formgrader_shows_marks_comments_and_what_waits_for_a_person(browser, formgrader):
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE_ms)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    base = f"http://127.0.0.1:{formgrader.port}/formgrader"

    page.goto(f"{base}/gradebook/{FIRST}/{FIRST}/")
    page.wait_for_selector("text=Submission #1")
    row = page.locator("tbody tr").first.inner_text().replace(" ", "")
    assert "8/10" in row, row
    page.goto(f"{base}/manage_submissions/{FIRST}/")
    page.wait_for_selector("text=Zoë-李")
    page.goto(f"{base}/gradebook/{FIRST}/{FIRST}/")
    page.locator("tbody tr a").first.click()
    page.wait_for_selector("text=eight bits make a byte")
    comment = (
        "[...document.querySelectorAll('.comment')].some(one => (one.value || one.placeholder).includes('eight bits'))"
    )
    page.wait_for_function(comment)
    scores = page.eval_on_selector_all("input.score", "all => all.map(one => one.value || one.placeholder)")
    assert sorted(map(float, scores)) == [0.0, 1.0, 2.0, 5.0]

    page.goto(f"{base}/gradebook/{LAST}/{LAST}/")
    page.wait_for_selector("text=Submission #1")
    page.locator("tbody tr a").first.click()
    page.wait_for_selector("text=the spine is oversubscribed")
    assert page.title() != "taken"
    page.wait_for_selector("input.score.needs_manual_grade")
    assert page.locator("input.score.needs_manual_grade").count() == 1
    assert set(errors) <= {"MathJax is not defined"}  # nbgrader's own page fetches it from elsewhere
    context.close()
