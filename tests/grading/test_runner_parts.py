"""The runner's parts that need no sandbox: intake, repair, lateness, whose numbers, ledger, tables."""

import codecs
import copy
import csv
import json
import os
import zipfile
from datetime import datetime
from pathlib import Path, PurePath

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.grading import intake, late, library, owner, repair, report, sandbox, shown, wire
from course_lib.grading.ledger import Ledger
from course_lib.grading.rivals import rank, winners
from tests.grading.handins import RIGHT, cell, copied, filled, release, without, write

NAME = "00_start_here/00_start_here.ipynb"


def as_bytes(notebook):
    return json.dumps(notebook, ensure_ascii=False).encode("utf-8")


def read(notebook, path="kim/" + NAME):
    content = notebook if isinstance(notebook, bytes) else as_bytes(notebook)
    return repair.read(content, PurePath(path))


def graded(repaired):
    return {c.metadata.nbgrader.grade_id: c for c in repaired.notebook.cells if c.metadata.get("nbgrader")}


def test_every_input_gets_an_entry_whatever_it_is(tmp_path):
    write(tmp_path / "kim" / NAME, filled(RIGHT))
    write(tmp_path / "Zoë-李" / "00_start_here" / "mine (1).ipynb", filled(RIGHT))
    write(tmp_path / "lee.ipynb", filled(RIGHT))
    (tmp_path / "empty").mkdir()
    (tmp_path / "stray.pdf").write_bytes(b"x")
    (tmp_path / "linked").symlink_to(tmp_path / "kim")
    (tmp_path / "sly").mkdir()
    (tmp_path / "sly" / "00.ipynb").symlink_to(tmp_path / "lee.ipynb")
    os.mkfifo(tmp_path / "sly" / "pipe.ipynb")
    write(tmp_path / "kim" / "00_start_here" / ".ipynb_checkpoints" / "00_start_here-checkpoint.ipynb", "{")
    found = {one.shown: one for one in intake.collect(tmp_path)}
    assert set(found) == {
        "kim/" + NAME,
        "Zoë-李/00_start_here/mine (1).ipynb",
        "lee.ipynb",
        "empty/",
        "stray.pdf",
        "linked",
        "sly/00.ipynb",
        "sly/pipe.ipynb",
    }
    assert {name for name, one in found.items() if not one.problem} == {
        "kim/" + NAME,
        "Zoë-李/00_start_here/mine (1).ipynb",
        "lee.ipynb",
    }
    assert found["lee.ipynb"].student == "lee"


def test_names_in_an_archive_are_only_names(tmp_path):
    with zipfile.ZipFile(tmp_path / "mallory.zip", "w") as archive:
        archive.writestr("../../../outside.ipynb", as_bytes(filled(RIGHT)))
        link = zipfile.ZipInfo("link.ipynb")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    found = {one.shown: one for one in intake.collect(tmp_path)}
    assert found["mallory.zip:../../../outside.ipynb"].student == "mallory"
    assert json.loads(found["mallory.zip:../../../outside.ipynb"].read())["nbformat"] == 4
    assert "link" in found["mallory.zip:link.ipynb"].problem
    assert "archive" in found["broken.zip"].problem
    assert sorted(p.name for p in tmp_path.iterdir()) == ["broken.zip", "mallory.zip"]
    assert not (tmp_path.parent.parent.parent / "outside.ipynb").exists()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_a_notebook_in_any_encoding_is_read(encoding):
    text = json.dumps(filled(RIGHT | {"00-q1": "# ü é\n" + RIGHT["00-q1"]}, "Zoë"), ensure_ascii=False)
    repaired = read(text.encode(encoding, "replace"))
    assert graded(repaired)["00-q1-answer"].source.startswith("# ü é")
    assert bool(repaired.notes) == (encoding not in ("utf-8", "utf-8-sig"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"{", "cannot be read as JSON"),
        (b"[]", "no cells"),
        (b'{"cells": null, "nbformat": 4}', "no cells"),
        (b"\xff\xd8\xff\xe0 a picture", "JSON"),
        (b'{"cells":' + b"[" * 100_000, "nested too deeply"),
        (b'{"cells": [], "nbformat": 4}', "no exercise of this course"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8", "encoding"),
    ],
)
def test_what_is_no_notebook_is_refused_with_its_reason(content, said):
    with pytest.raises(CourseError, match=said):
        read(content, "kim/x/y.ipynb")


def test_another_language_is_refused_and_another_kernel_is_not():
    notebook = filled(RIGHT)
    notebook["metadata"]["kernelspec"] = {"name": "conda-env-my env-py", "display_name": "My Env", "language": "python"}
    assert read(notebook).notebook.metadata.kernelspec.name == "python3"
    del notebook["metadata"]["kernelspec"]
    assert read(notebook).notebook.metadata.kernelspec.name == "python3"
    notebook["metadata"] = {"kernelspec": {"name": "ir", "language": "R"}, "language_info": {"name": "R"}}
    with pytest.raises(CourseError, match="Python is expected"):
        read(notebook)


def test_old_newer_and_ragged_notebooks_are_read():
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": []}]}
    for one in filled(RIGHT)["cells"]:
        key = "input" if one["cell_type"] == "code" else "source"
        old["worksheets"][0]["cells"].append(
            {"cell_type": one["cell_type"], "metadata": one["metadata"], key: one["source"]}
        )
    assert "format 3" in read(old).notes[0]
    new = filled(RIGHT) | {"nbformat": 7}
    assert "newer version" in read(new).notes[0]
    ragged = filled(RIGHT)
    ragged["cells"] += [None, 3, {"cell_type": "code"}, {"cell_type": 4, "source": 3, "metadata": []}]
    ragged["cells"][0]["id"] = ragged["cells"][1]["id"] = "twice"
    repaired = read(ragged)
    assert "no cells were left out: 2" in " ".join(repaired.notes)
    ids = [c.id for c in repaired.notebook.cells]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 99, "x", None])
def test_metadata_of_any_version_is_put_right(version):
    notebook = filled(RIGHT)
    for one in notebook["cells"]:
        if "nbgrader" in one["metadata"]:
            one["metadata"]["nbgrader"]["schema_version"] = version
    repaired = read(notebook)
    assert graded(repaired)["00-q1"].metadata.nbgrader.schema_version == 3
    assert ("newer version of nbgrader" in " ".join(repaired.notes)) == (version == 99)


def test_graded_cells_are_those_of_the_release_and_what_was_done_is_said():
    notebook = copied(without(filled(RIGHT), "00-q2", "00-q3-answer"), "00-q1-answer")
    cell(notebook, "00-q1")["source"] = "2.0"
    cell(notebook, "00-q3")["cell_type"] = "markdown"
    cell(notebook, "00-q4")["metadata"]["nbgrader"]["points"] = 1000
    repaired = read(notebook)
    said = " ".join(repaired.notes)
    for part in (
        "several cells of 00.q1",
        "00.q2 was missing",
        "answer cell of 00.q3 was deleted",
        "00.q1 was changed",
    ):
        assert part in said
    assert "00.q3 had another type" in said
    cells = graded(repaired)
    assert [cells[f"00-q{n}"].source for n in (1, 2, 3, 4)] == [f'check("00.q{n}")' for n in (1, 2, 3, 4)]
    assert cells["00-q4"].metadata.nbgrader.points == 1
    assert all(c.cell_type == "code" for c in cells.values())


def test_honest_hand_ins_have_nothing_to_repair():
    assert read(release()).notes == []
    assert read(filled(RIGHT, "kim"), "kim/whatever (2).ipynb").notes == []


def test_lateness_is_the_difference_of_two_instants():
    due = late.instant("2026-12-01 23:59 +01:00")
    taken = [late.penalty(10, late.instant(f"2026-12-01T{t}Z"), due, "zero") for t in ("22:58", "22:59:30", "23:00")]
    assert taken == [0.0, 10.0, 10.0]
    moved = late.instant("2026-12-02 23:59 +01:00")
    assert late.penalty(10, late.instant("2026-12-01T23:00Z"), moved, "zero") == 0.0
    with pytest.raises(CourseError, match="no time zone"):
        late.instant("2026-12-01 23:59")
    with pytest.raises(CourseError, match="no time zone"):
        late.penalty(10, datetime(2026, 12, 1), due, "zero")
    with pytest.raises(CourseError, match="no rule"):
        late.penalty(10, due, due, "half")
    when, said = late.handed_in("2026-12-01 22:58:00")
    assert when == late.instant("2026-12-01T22:58Z")
    assert "read as UTC" in said
    assert late.handed_in("yesterday")[0] is None


def test_whose_numbers_are_told_apart():
    known = ["kim", "lee", "Zoë-李"]
    kinds = [owner.identify("kim", stated, known).kind for stated in ("", "kim", " KIM ", "lee", "k.i.m@uni")]
    assert kinds == ["public", "own", "own", "another", "unknown"]
    assert owner.identify("kim", "lee", known).learner == "kim"
    assert owner.identify("Zoë-李", "zoe\u0308 李", known).kind == "own"


def test_a_ledger_survives_a_torn_line_and_one_run_at_a_time_writes(tmp_path):
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.mark("a", {"points": 1})
        ledger.book("a")
        ledger.mark("b", {"points": 2})
        with pytest.raises(CourseError, match="Another run"), Ledger(path):
            pass
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"is": "marked", "key": "c", "res')
    with Ledger(path) as ledger:
        assert ledger.marked == {"a": {"points": 1}, "b": {"points": 2}}
        assert ledger.booked == {"a"}
        ledger.mark("d", {"points": 4})
    with Ledger(path) as ledger:
        assert set(ledger.marked) == {"a", "b", "d"}


def test_of_several_files_the_one_with_the_right_name_is_marked(tmp_path):
    from course_lib.grading.jobs import Job

    for name in ("00_start_here/00_start_here.ipynb", "00_start_here/Kim 00.ipynb", "old/00_start_here (1).ipynb"):
        write(tmp_path / "kim" / name, filled(RIGHT))
    found = [(one, Job("", one.student, one.shown, one.read())) for one in intake.collect(tmp_path)]
    won = dict(zip([one.shown for one, _job in found], winners(found), strict=True))
    assert won.pop("kim/00_start_here/00_start_here.ipynb") is None
    assert set(won.values()) == {"kim/00_start_here/00_start_here.ipynb"}
    assert rank(found[0][0], "00")[0]


def test_the_library_of_a_hand_in_holds_no_question_and_no_withheld_module(tmp_path):
    library.build(tmp_path, ("course_lib.comm.ring", "course_lib.fabric", "course_lib.cli", "course_lib.nothing"))
    files = {
        p.relative_to(tmp_path / "course_lib").as_posix() for p in tmp_path.rglob("*.py") if p.name != "nursery.py"
    }
    kept = {name for name in files if name.startswith("grading/")}
    inside = ("__init__", "channel", "kernel", "outputs", "seccomp", "shell", "withheld")
    assert kept == {f"grading/{name}.py" for name in ("__init__", "wire", "probe", *(f"inside/{n}" for n in inside))}
    assert not any(name.startswith("cli/") for name in files)
    ring = (tmp_path / "course_lib/comm/ring.py").read_text(encoding="utf-8")
    assert "def " not in ring
    assert all("withheld" in p.read_text(encoding="utf-8") for p in (tmp_path / "course_lib/fabric").rglob("*.py"))


def test_no_name_becomes_a_formula_in_a_table(tmp_path):
    report.write_table(tmp_path / "t.csv", ["student", "score"], [{"student": "=cmd|'/c calc'!A0", "score": -1.0}])
    with open(tmp_path / "t.csv", encoding="utf-8", newline="") as file:
        assert next(csv.DictReader(file)) == {"student": "'=cmd|'/c calc'!A0", "score": "-1.0"}


def test_a_copy_is_not_changed_by_reading_it():
    notebook = filled(RIGHT)
    before = copy.deepcopy(notebook)
    read(notebook)
    assert notebook == before


@pytest.mark.nbgrader
def test_written_answers_wait_for_people_and_their_points_stay(tmp_path, monkeypatch):
    import nbformat
    from nbgrader.utils import compute_checksum

    from course_lib.grading import results
    from course_lib.grading.gradebook import Book

    def with_memo(text):
        notebook = nbformat.reads(json.dumps(release()), as_version=4)
        meta = {"grade": True, "solution": True, "locked": False, "task": False, "points": 4, "grade_id": "memo"}
        memo = nbformat.v4.new_markdown_cell("Your memo.", metadata={"nbgrader": meta | {"schema_version": 3}})
        memo.metadata.nbgrader["checksum"] = compute_checksum(memo)
        memo.source = text
        notebook.cells.append(memo)
        return notebook

    monkeypatch.setattr(repair, "release", lambda exercise: with_memo("Your memo."))
    book = Book(tmp_path / "gradebook.db")
    base = {"exercise": "00", "state": "marked", "reason": "", "questions": []}
    for student, text in (("kim", "We buy switches."), ("lee", "Your memo.")):
        manual = results.manual_cells(read(json.loads(nbformat.writes(with_memo(text)))))
        assert manual == [{"cell": "memo", "of": 4.0, "written": text != "Your memo."}]
        book.book(base | {"student": student, "manual": manual}, None, 0.0)

    def memo(student):
        return book._book.find_grade("memo", "00_start_here", "00_start_here", student)

    assert memo("kim").needs_manual_grade
    assert not memo("lee").needs_manual_grade
    memo("kim").manual_score = 3.0
    book.book(base | {"student": "kim", "manual": [{"cell": "memo", "of": 4.0, "written": True}]}, None, 0.0)
    assert memo("kim").score == 3.0
    book.close()


def test_a_course_that_lies_where_programs_do_is_covered(monkeypatch):
    monkeypatch.setattr(sandbox.library, "PACKAGE", Path("/usr/src/course/course_lib"))
    monkeypatch.setattr(sandbox, "course_root", lambda: Path("/usr/src/course"))
    assert sandbox._hidden(["/usr", "/opt/python"]) == ["--tmpfs", "/usr/src/course"]
    assert sandbox._hidden(["/bin", "/usr/src/course"]) == []


def test_what_swells_is_refused_on_both_sides_of_the_wire():
    huge = np.zeros((10**5, 10**5, 0))
    for value in (huge, {n: n for n in range(wire.MAX_ENTRIES + 1)}):
        with pytest.raises(CourseError):
            wire.encode(value)
    made = '{"$":"array","dtype":"<f8","shape":[100000,100000,0],"data":""}'
    with pytest.raises(CourseError, match="shape"):
        wire.decode(made)
    with pytest.raises(CourseError, match="entries"):
        wire.decode('{"$":"dict","v":[' + ",".join(f"[{n},1]" for n in range(wire.MAX_ENTRIES + 1)) + "]}")
    assert "shape" in shown.say(huge)


def test_a_large_file_loses_its_outputs_and_keeps_its_encoding(monkeypatch):
    notebook = filled(RIGHT)
    notebook["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "ü" * 50_000}]
    for encoding in ("utf-8", "utf-16"):
        content = json.dumps(notebook, ensure_ascii=False).encode(encoding)
        monkeypatch.setattr(repair, "SLIM_B", len(content))
        assert repair.slim(content) is content
        monkeypatch.setattr(repair, "SLIM_B", 1000)
        slim = repair.slim(content)
        assert len(slim) < len(content) / 1.5
        assert graded(read(slim)) == graded(read(content))
    monkeypatch.setattr(repair, "MOST_B", 1000)
    with pytest.raises(CourseError, match="without its outputs"):
        repair.slim(json.dumps(notebook).encode("utf-8"))
