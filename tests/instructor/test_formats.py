"""The plans of classes are timed against the notebooks: what is written down is what the notebooks' cells take."""

import json
import re
import shutil
import tomllib
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from course_lib.base.errors import CourseError
from course_lib.grading import bank, lessonminutes, livenotebooks, workshop
from tests.notebooks.lessons import LESSONS, minutes, read, tags

ROOT = Path(__file__).parents[2]
PLAN = tomllib.loads((ROOT / "instructor" / "formats.toml").read_text(encoding="utf-8"))
KNOWN = lessonminutes.lessons(ROOT)


def test_the_pages_are_up_to_date():
    assert workshop.main(["--check"]) == 0, "run: python -m course_lib.grading.workshop"


def test_minutes_are_those_of_the_rule_that_lessons_are_held_to():
    for path in LESSONS:
        cells = read(path)["cells"]
        live = [c for c in cells if "workshop" in tags(c)]
        one = KNOWN[path.stem.split("_")[0]]
        assert one.live_minutes == pytest.approx(minutes(live))
        assert lessonminutes.minutes(cells) == pytest.approx(minutes(cells))
        assert one.minutes == read(path)["metadata"]["interconnect"]["minutes"]


def rows(table):
    for line in table.splitlines():
        if found := re.match(r"\| (\d+):(\d\d) \| (\d+) \| (.+?) \|", line):
            yield int(found[1]) * 60 + int(found[2]), int(found[3]), found[4]


@pytest.mark.parametrize("form", [form for form in PLAN["format"] if "day" in form], ids=lambda form: form["name"])
def test_a_plan_adds_up_to_its_length(form):
    page = workshop.formats_page(KNOWN, {"format": [form], "lesson": PLAN["lesson"]})
    days = [list(rows(part)) for part in page.split("| at |")[1:]]
    assert len(days) == len(form["day"])
    for day, listed in zip(form["day"], days, strict=True):
        clock = 0
        for at, takes, _what in listed:
            assert at == clock
            clock += takes
        assert clock == day["minutes"]
        for text in day["steps"]:
            kind, number = text.split()[0], re.split(r"[.:]", text.split()[1])[0]
            if kind == "live" and number in KNOWN:
                (row,) = [r for r in listed if r[2].startswith(f"Lesson {KNOWN[number].title}")]
                assert 0 <= row[1] - KNOWN[number].live_minutes < 1


def test_a_live_path_takes_the_same_minutes_wherever_it_is_written():
    pages = workshop.pages(ROOT)
    for one in KNOWN.values():
        title = re.escape(one.title)
        said = re.findall(rf"^\| {title} \| \d+ \| (\d+) \| \d+ \|$", pages["formats.md"], re.MULTILINE)
        assert len(said) == 1
        said += re.findall(rf"^\| \d+:\d\d \| (\d+) \| Lesson {title}: all cells", pages["formats.md"], re.MULTILINE)
        said += re.findall(rf"^\| \d+ \| {title} \| (\d+) \|", pages["formats.md"], re.MULTILINE)
        said += re.findall(rf"^## {title}\n.*?^Together (\d+) ", pages["lessons.md"], re.MULTILINE | re.DOTALL)
        assert len(said) >= 3
        assert len(set(said)) == 1, (one.title, said)


def test_all_formats_that_were_promised_are_there():
    assert [form["name"] for form in PLAN["format"]] == ["90 minutes", "half day", "two days", "semester"]


def test_every_lesson_has_questions_to_ask_and_places_where_people_get_stuck():
    for number in KNOWN:
        notes = PLAN["lesson"][number]
        assert len(notes["ask"]) >= 2
        assert len(notes["stuck"]) > 80


def test_every_wrong_answer_that_a_check_knows_is_in_the_lessons_page():
    page = workshop.lessons_page(KNOWN, PLAN)
    for number in KNOWN:
        for question in bank.questions(number) if number in bank.exercises() else []:
            for wrong in question.misconceptions:
                assert f"*{wrong.name}*: " in page


@pytest.fixture
def root(tmp_path):
    """Return a copy of what plans are made from."""
    for name in ("notebooks", "exercises", "instructor"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("hub", ".*"))
    shutil.copy(ROOT / "README.md", tmp_path)
    return tmp_path


def test_a_lesson_that_grows_changes_the_plan_or_is_refused(root):
    (path,) = (root / "notebooks").glob("05_*.ipynb")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cell = next(c for c in notebook["cells"] if "workshop" in tags(c) and c["cell_type"] == "markdown")
    before = workshop.pages(root)["formats.md"]
    cell["source"] = [*cell["source"], " word" * 180]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    assert workshop.pages(root)["formats.md"] != before
    cell["source"] = [*cell["source"], " word" * 180 * 60]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    with pytest.raises(CourseError, match="90 minutes: the steps take"):
        workshop.pages(root)


def test_a_lesson_that_is_not_there_is_said_and_not_counted(root):
    for path in (root / "notebooks").glob("05_*.ipynb"):
        path.unlink()
    page = workshop.pages(root)["formats.md"]
    assert "Not written yet, and not in this plan: live 05" in page
    assert "| 6 | 05: not written yet |" in page


def test_an_item_that_people_mark_has_its_share_and_a_rubric():
    page = workshop.lessons_page(KNOWN, PLAN)
    for number, one in KNOWN.items():
        assert (
            sum(q.points for q in bank.questions(number)) + sum(points for _name, points in one.by_hand) == one.points
        )
        for name, _points in one.by_hand:
            assert f"- {name}, written" in page
            assert (ROOT / "instructor" / f"rubric_{number}.md").is_file()


def test_a_section_that_was_renamed_is_named():
    with pytest.raises(CourseError, match="no section 'Three regimens' on its live path; it has"):
        workshop.step("part 02: Three regimens", KNOWN, {})


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("part 02: Two numbers for a link", r"needs \w+, which '02 How fast is this link\?' makes"),
        ("part 04: 04 Eight GPUs add a vector; Two bandwidths", "needs (all_four|n), which '(One|The first)"),
        ("part 04: Six promises; 04 Eight GPUs add a vector", "Take it in, before"),
    ],
)
def test_a_part_that_does_not_run_alone_is_refused_with_what_it_lacks(text, missing):
    with pytest.raises(CourseError, match=missing):
        workshop.step(text, KNOWN, {})


def test_every_heading_of_a_live_path_is_a_section_wherever_in_its_cell_it_stands():
    """One in the middle of a text was no section: its cells were shown under the heading before, and nobody could leave it out."""
    for path in LESSONS:
        texts = [
            "".join(c["source"]) for c in read(path)["cells"] if "workshop" in tags(c) and c["cell_type"] == "markdown"
        ]
        headings = [found.strip() for text in texts for found in re.findall(r"(?m)^#+ +(.+)", text)]
        assert [section.heading for section in KNOWN[path.stem.split("_")[0]].sections] == headings
        assert len(headings) == len(set(headings))


def test_the_page_of_a_lesson_begins_with_its_question():
    page = workshop.lessons_page(KNOWN, PLAN)
    for one in KNOWN.values():
        assert one.question.endswith("?"), one.title
        assert f"## {one.title}\n\n{one.question}\n" in page


def test_a_part_that_compares_with_a_guess_has_asked_for_it():
    asked, compared = KNOWN["02"].sections[0], KNOWN["02"].sections[4]
    assert "the guess 02.many" in asked.makes
    assert "the guess 02.many" in compared.needs


SHORTEST = list(livenotebooks.of_format(PLAN["format"][0], ROOT))


@pytest.mark.parametrize(("name", "notebook"), SHORTEST, ids=[name for name, _notebook in SHORTEST])
def test_each_step_of_the_shortest_plan_runs_alone_and_meets_every_guess(name, notebook, monkeypatch, capsys):
    """What a teacher with 90 minutes runs: the step's cells and no other, guesses typed, in a fresh shell."""
    monkeypatch.chdir(ROOT / "notebooks")
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shown = []
    try:
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            result = shell.run_cell(cell["source"], store_history=False)
            assert result.success, f"{cell['source']}\n{result.error_before_exec or result.error_in_exec!r}"
            if "predict" in tags(cell):
                result.result.commit("7")
            shown.append(capsys.readouterr().out)
    finally:
        InteractiveShell.clear_instance()
    said = " ".join(shown)
    assert said.count("You said 7") == sum("predict" in tags(cell) for cell in notebook["cells"])
    assert "There is no prediction of yours" not in said


def test_notebooks_of_a_class_hold_the_live_cells_and_no_link_into_the_course(tmp_path):
    assert workshop.main(["--notebooks", str(tmp_path)]) == 0
    for form in PLAN["format"]:
        for path in (tmp_path / form["name"].replace(" ", "_")).glob("*.ipynb"):
            nbformat.validate(nbformat.read(path, as_version=4))
            cells = read(path)["cells"]
            assert all("workshop" in tags(cell) for cell in cells)
            assert not re.search(r"\]\([^)]*\.(ipynb|md)\)", "".join(cell["source"] for cell in cells))
    half = {path.stem.split("_")[0] for path in (tmp_path / "half_day").iterdir()}
    assert half == {"00", "01", "03", "04", "05", "06"}
    assert len(list((tmp_path / "semester").iterdir())) == len(PLAN["format"][3]["weeks"])
