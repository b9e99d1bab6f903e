"""Hand-ins that attack, in the sandbox: no cheat earns a mark, no honest question loses one, and it always ends."""

import contextlib
import csv
import json
import os
import shutil
import socket
from pathlib import Path

import pytest

from course_lib.grading import bank, marks, notebook, sandbox
from course_lib.grading.jobs import Job, Settings
from course_lib.grading.marks import marker
from course_lib.grading.sandbox import Limits
from tests.grading.handins import MISTAKEN, RIGHT, filled, release
from tests.grading.test_typed_mistakes import TYPED

pytestmark = [
    pytest.mark.hostile,
    pytest.mark.skipif(bool(sandbox.available()), reason="bubblewrap does not work here"),
]
SECRET = "a word that is in no kernel"
FULL = (2.0, 5.0, 2.0, 1.0)


@pytest.fixture(scope="module")
def mark():
    """Return a function that marks a notebook as the runner does; no hand-in here loops, so a busy machine has its time."""
    limits = Limits(cell_s=20.0, total_s=600.0, memory_B=600 * 2**20, files_B=16 * 2**20, processes=24)
    one, close = marker(Settings(SECRET, limits, known=("alice", "bob")))

    def run(made, student="alice", name="00_start_here"):
        content = made if isinstance(made, bytes) else json.dumps(made).encode("utf-8")
        return one(Job("key", student, f"{student}/{name}/{name}.ipynb", content))

    yield run
    close()


def points(result):
    return tuple(row["points"] for row in result["questions"])


def said(result, place):
    return " ".join(result["questions"][place]["sentences"])


def test_an_honest_hand_in_has_all_marks_and_a_stub_none(mark):
    assert points(mark(filled(RIGHT, "alice"))) == FULL
    assert mark(filled(RIGHT, "alice"))["notes"] == []
    stub = mark(release())
    assert {row["state"] for row in stub["questions"]} == {"not attempted"}
    assert points(mark(filled(MISTAKEN, "alice"))) == (0.0, 4.0, 2.0, 0.0)


def test_memory_is_named_as_the_reason(mark):
    result = mark(filled(RIGHT | {"00-q1": "import numpy as np\npayload_GBps = np.zeros(10**11)"}, "alice"))
    assert points(result) == (0.0, 5.0, 2.0, 1.0)
    assert "memory" in said(result, 0)
    grows = "def payload_GBps(*a):\n    x = []\n    while True: x.append(b'x' * 10**7)"
    result = mark(filled(RIGHT | {"00-q1": grows}, "alice"))
    assert points(result) == (0.0, 5.0, 2.0, 1.0)
    assert "memory" in said(result, 0)


def test_a_right_answer_for_the_public_inputs_alone_is_not_right(mark):
    """It learns the notebook's own inputs by heart; the secret ones are others, and the page does not show them."""
    question = bank.question("00.q1")
    cases = question.cases({}, notebook.seeded("00.q1", "alice", "inputs"))
    table = {tuple(case.inputs.values()): question.right(case, {}) for case in cases}
    result = mark(filled(RIGHT | {"00-q1": f"T = {table!r}\ndef payload_GBps(*a): return T.get(a, 0.0)"}, "alice"))
    assert result["questions"][0]["state"] == "not yet"
    assert result["questions"][0]["private"]
    assert "wrong for others" in said(result, 0)
    shown = result["questions"][0]["private"]
    assert shown not in result["feedback"]
    assert shown not in result["autograded"]


def test_a_hand_in_sees_neither_network_nor_files_nor_processes_nor_the_secret(mark, tmp_path, monkeypatch):
    monkeypatch.setenv("INTERCONNECT_SECRET_WORD", SECRET)
    (tmp_path / "gradebook.db").write_text("marks", encoding="utf-8")
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    root = Path(marks.__file__).resolve().parents[2]
    spy = f"""
import os, socket, subprocess, sys
seen = {{}}
def can(name, do):
    try: seen[name] = bool(do())
    except BaseException: seen[name] = False
can("network", lambda: socket.create_connection(("127.0.0.1", {port}), timeout=1))
can("gradebook", lambda: os.path.exists({str(tmp_path / "gradebook.db")!r}))
can("solutions", lambda: os.path.exists({str(root / "solutions")!r}))
can("bank", lambda: [f for _, _, files in os.walk("/course") for f in files if f in ("q1_payload.py", "question.py", "verdict.py")])
can("secret", lambda: {SECRET!r} in str(os.environ))
can("processes", lambda: [p for p in os.listdir("/proc") if p.isdigit() and int(p) > 2])
can("root", lambda: os.getuid() == 0 or os.getgid() == 0 or os.getgroups())
can("setuid", lambda: os.setuid(0) is None)
status = "/proc/self/status"
kinds = ("CapInh", "CapPrm", "CapEff", "CapAmb")
rights = lambda text: [line for line in text.splitlines() if line[:6] in kinds and line[7:].strip("0\\t")]
can("rights", lambda: rights(open(status).read()))
can("rights after a start", lambda: rights(subprocess.run(["cat", status], capture_output=True, text=True).stdout))
can("hostname", lambda: socket.sethostname("mine") is None)
can("library", lambda: open("/course/course_lib/__init__.py", "a"))
can("packages", lambda: open("/packages/0/x", "w"))
can("usr", lambda: open("/usr/x", "w"))
can("namespaces", lambda: subprocess.run(["unshare", "-Ur", "true"]).returncode == 0)
can("memory without a process", lambda: os.memfd_create("x"))
can("own folder", lambda: open("x", "w"))
payload_GBps = lambda *a: seen
"""
    before = sorted(p.name for p in tmp_path.iterdir())
    result = mark(filled(RIGHT | {"00-q1": spy + "\nraise ValueError(sorted(k for k in seen if seen[k]))"}, "alice"))
    # Where the grader is no root, the one user that there is counts as 0 inside: a number without a right.
    sees = ["own folder"] if os.geteuid() == 0 else ["own folder", "root", "setuid"]
    assert f"ValueError: {sees}" in said(result, 0), said(result, 0)
    listener.settimeout(0.2)
    with pytest.raises(TimeoutError):
        listener.accept()
    listener.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_nothing_of_one_hand_in_is_left_for_the_next(mark):
    leave = "open('/tmp/left', 'w').write('x'); open('/dev/shm/left', 'w').write('x'); open('left', 'w').write('x')\n"
    leave += "import subprocess; subprocess.Popen(['sleep', '60']); import course_lib; course_lib.left = 1\n"
    mark(filled(RIGHT | {"00-q1": leave + RIGHT["00-q1"]}, "alice"))
    look = "import os, course_lib\nleft = [p for p in ('/tmp/left', '/dev/shm/left', 'left') if os.path.exists(p)]\n"
    look += "left += [p for p in os.listdir('/proc') if p.isdigit() and int(p) > 2] + [x for x in dir(course_lib) if x == 'left']\n"
    result = mark(filled(RIGHT | {"00-q1": look + "raise ValueError(left)"}, "bob"), "bob")
    assert "ValueError: []" in said(result, 0)


def test_huge_outputs_and_marked_up_text_reach_no_marker(mark):
    loud = (
        RIGHT["00-q1"]
        + "\nprint('x' * 10**8)\nfrom IPython.display import HTML, display\ndisplay(HTML('<script>bad()</script>'))"
    )
    made = filled(RIGHT | {"00-q1": loud}, "alice")
    made["cells"].append({"cell_type": "markdown", "metadata": {}, "id": "m", "source": "<script>bad()</script> a < b"})
    made["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "y" * 10**7}]
    result = mark(made)
    assert points(result) == FULL
    assert len(result["autograded"]) < 1_000_000
    page = json.loads(result["autograded"])
    assert not any("<script" in c["source"] for c in page["cells"] if c["cell_type"] == "markdown")
    assert not any(
        "text/html" in o.get("data", {}) for c in page["cells"][:4] for o in c.get("outputs", ()) if "data" in o
    )


def test_another_learner_s_numbers_are_recognised_not_silently_failed(mark):
    stolen = mark(filled(RIGHT, "bob"), "alice")
    assert points(stolen) == (2.0, 5.0, 2.0, 0.0)
    assert stolen["questions"][3]["look"]
    assert "numbers of bob" in stolen["flags"][0]
    assert "bob" not in stolen["feedback"]
    value = bank.question("00.q4").right(
        bank.question("00.q4").cases({}, None)[0], bank.question("00.q4").parameters_for("bob")
    )
    typed = mark(filled(RIGHT | {"00-q4": f"ben_GBps = {value!r}"}, "alice"))
    assert "numbers of bob" in typed["flags"][0]
    for name in ("bob", "nobody7"):  # set where nobody reads it: what counts is the value when a question is asked
        hidden = mark(
            filled(RIGHT | {"00-q3": RIGHT["00-q3"] + f"\nglobals()['LEARNER'] = {name!r}"}, "alice"), "alice"
        )
        assert hidden["learner"] == name
    assert mark(filled(RIGHT, " ALICE "))["points"] == 10.0
    assert mark(filled(RIGHT, ""))["points"] == 10.0


def test_questions_may_use_what_only_others_withhold(mark):
    """04.q4 withholds nothing, so an answer of it may count the bytes of a ring; 04.q1 may not hand the ring over."""
    made = json.loads(Path(marks.repair.release_path("04")).read_text(encoding="utf-8"))
    answers = {
        "04-q4-answer": "from course_lib.comm import registry\ndef sent_B(op, n_ranks, message_B):\n"
        "    s = registry.build(op, 'direct' if op == 'all_to_all' else 'ring', n_ranks)\n"
        "    return float(s.sent_B(message_B).max()) if n_ranks > 1 else 0.0",
        "04-q1-answer": "import importlib\nring_reduce_scatter = importlib.import_module('course_lib.comm.' + 'ring').reduce_scatter",
    }
    for one in made["cells"]:
        name = one["metadata"].get("nbgrader", {}).get("grade_id")
        one["source"] = answers.get(name, one["source"])
    result = mark(made, name="04_eight_gpus_add_a_vector")
    earned = {row["question"]: row["points"] for row in result["questions"]}
    assert earned["04.q1"] == 0.0
    assert "left out" in said(result, 0)
    assert "04.q4" in earned


def outside_and_in_the_notebook(mark, codes, learner):
    """Return the verdicts of one hand-in with these answers (question: code): the runner's, and the learner's own check's."""
    number = next(iter(codes))[:2]
    made = json.loads(marks.repair.release_path(number).read_text(encoding="utf-8"))
    for one in made["cells"]:
        name = one["metadata"].get("nbgrader", {}).get("grade_id", "").removesuffix("-answer").replace("-", ".")
        one["source"] = codes.get(name, "".join(one["source"])) if one["cell_type"] == "code" else ""
        one["source"] = f'check("{name}")' if one["metadata"].get("nbgrader", {}).get("grade") else one["source"]
        one["source"] = one["source"].replace('LEARNER = ""', f"LEARNER = {learner!r}")
    result = mark(made, name=marks.repair.release_path(number).stem)
    outside = {row["question"]: row for row in result["questions"]}
    for name, code in codes.items():
        space = {"LEARNER": learner, "check": notebook.check, "parameters": notebook.parameters}
        exec(code, space)
        yield name, outside[name], notebook.ask(bank.question(name), space, learner)


def classes_of_mistakes(number):
    """Return as few hand-ins as hold every typed mistake of an exercise, one per question in each."""
    left = [(name, code) for name, _mistake, code in TYPED if name.startswith(number)]
    while left:
        codes = dict(reversed(left))
        yield codes
        left = [(name, code) for name, code in left if codes[name] != code]


@pytest.mark.parametrize("number", ["00", "01", "02"])
def test_the_runner_and_the_learner_s_check_agree_on_every_typed_mistake(mark, number):
    for codes in classes_of_mistakes(number):
        for name, outside, inside in outside_and_in_the_notebook(mark, codes, "alice"):
            assert (outside["state"], outside["points"]) == (inside.state, inside.points), codes[name]
            assert outside["misconceptions"] == list(inside.misconceptions), codes[name]
            assert tuple(outside["sentences"]) == inside.sentences, codes[name]


NEAR = ["23.5", "1e999", "23.5j", "'23.5'", "[23.5]", "None", "{}", "float('nan')", "-0.0", "10**400", "True"]
EXACT = ["v", "v * 1.0099", "v * 1.0101", "v * 0.9901", "v / 1.0737418", "v * 1000", "__import__('numpy').float32(v)"]


def test_near_misses_fall_on_the_same_side_outside_and_in_the_notebook(mark):
    given = "b = parameters('00.q4')\nv = b['moved_GiB'] * 1.0737418 / b['time_s']\nben_GBps = "
    for text in NEAR + EXACT:
        for _name, outside, inside in outside_and_in_the_notebook(mark, {"00.q4": given + text}, "alice"):
            assert (outside["state"], outside["points"]) == (inside.state, inside.points), text


BENT = """
def _bent(value, k):
    if isinstance(value, dict):
        return {key: _bent(one, k) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_bent(one, k) for one in value)
    real = isinstance(value, float) or (hasattr(value, "dtype") and value.dtype.kind == "f")
    return value * k if real else value
"""


def bent(made):
    """Return a solution whose answers are off by half, or by so little that it does not matter; driven programs stay."""
    for cell in made["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "").removesuffix("-answer").replace("-", ".")
        if cell["cell_type"] != "code" or not name or cell["metadata"]["nbgrader"]["grade"]:
            continue
        question = bank.question(name)
        factor = 1.5 if name[-1] in "13579" else 1 + 2e-4
        answer, source = question.answer, "".join(cell["source"]) + BENT
        if question.kind == "value":
            source += f"{answer} = _bent({answer}, {factor})"
        elif question.driver is None:
            source += (
                f"_right_{answer} = {answer}\ndef {answer}(*a, **k): return _bent(_right_{answer}(*a, **k), {factor})"
            )
        cell["source"] = source
    return made


def in_the_notebook(made):
    """Return the verdicts of the learner's own check at each graded cell."""
    space, found = {}, {}
    for cell in made["cells"]:
        meta = cell["metadata"].get("nbgrader", {})
        if cell["cell_type"] == "code" and meta.get("grade"):
            name = meta["grade_id"].replace("-", ".")
            found[name] = notebook.ask(bank.question(name), space, "")
        elif cell["cell_type"] == "code":
            with contextlib.suppress(Exception):  # "Run All" goes on to the next cell, too, when a grader runs it
                exec("".join(cell["source"]), space)
    return found


ROOT = Path(marks.__file__).resolve().parents[2]
SOLUTIONS = sorted(path.parent.name for path in (ROOT / "exercises").glob("*/*.ipynb"))


@pytest.mark.parametrize("name", SOLUTIONS)
def test_solutions_have_all_marks_stubs_none_and_mistakes_what_the_learner_s_check_gives(mark, name):
    path = ROOT / "solutions" / name / f"{name}.ipynb"
    result = mark(path.read_bytes(), "kim", name)
    assert all(row["state"] == "correct" for row in result["questions"]), result["questions"]
    assert result["notes"] == []
    stub = mark((ROOT / "exercises" / name / f"{name}.ipynb").read_bytes(), "kim", name)
    assert {(row["state"], row["points"]) for row in stub["questions"]} == {("not attempted", 0.0)}
    made = bent(json.loads(path.read_text(encoding="utf-8")))
    inside, outside = in_the_notebook(made), mark(made, "", name)
    for row in outside["questions"]:
        verdict = inside[row["question"]]
        assert (row["state"], row["points"]) == (verdict.state, verdict.points), (row, verdict)
        assert row["misconceptions"] == list(verdict.misconceptions), (row, verdict)


def a_class(folder, n):
    from tests.grading.handins import write

    for place in range(n):
        who = f"s{place:02d}"
        write(
            folder / who / "00_start_here" / "00_start_here.ipynb", filled(MISTAKEN if place % 3 == 2 else RIGHT, who)
        )
    write(folder / "broken" / "00_start_here" / "00_start_here.ipynb", "{")
    write(
        folder / "dies" / "00_start_here" / "Kim 00.ipynb", filled(RIGHT | {"00-q2": "import os; os._exit(1)"}, "dies")
    )


def rows(folder):
    with open(folder / "report.csv", encoding="utf-8", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_a_class_that_is_stopped_halfway_goes_on_and_marks_nobody_twice(tmp_path, monkeypatch, capsys):
    from nbgrader.api import Gradebook

    from course_lib.grading.runner import Options, grade

    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setattr("course_lib.grading.library.fingerprint", lambda: "one version")
    a_class(tmp_path / "submitted", 6)
    options = Options(to=tmp_path / "out", n_processes=2, limits=Limits(cell_s=5.0))

    class Pulled(Exception):
        pass

    def pull(done, of, who):
        if done == 4:
            raise Pulled

    with pytest.raises(Pulled):
        grade(tmp_path / "submitted", options, pull)
    entries = [
        json.loads(line) for line in (tmp_path / "out" / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    before = [entry["key"] for entry in entries if entry["is"] == "marked"]
    assert 4 <= len(before) < 8
    outcome = grade(tmp_path / "submitted", options)
    entries = [
        json.loads(line) for line in (tmp_path / "out" / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    after = [entry["key"] for entry in entries if entry["is"] == "marked"]
    assert after[: len(before)] == before
    assert len(after) == len(set(after)) == 8
    assert outcome.status == 1
    table = rows(tmp_path / "out")
    assert len(table) == 8
    assert table["broken"]["state"] == "refused"
    assert "JSON" in table["broken"]["reason"]
    assert float(table["dies"]["score"]) == 5.0
    assert [float(table[f"s{n:02d}"]["score"]) for n in range(6)] == [10.0, 10.0, 6.0] * 2
    again = grade(tmp_path / "submitted", options)
    assert again.repeated == 7
    assert sorted(map(str, again.rows)) == sorted(map(str, outcome.rows))
    with Gradebook(f"sqlite:///{tmp_path / 'out' / 'gradebook.db'}") as book:
        for student, score in (("s00", 10.0), ("s02", 6.0), ("dies", 5.0)):
            one = book.find_submission("00_start_here", student)
            assert one.score == score
            assert not one.needs_manual_grade
        assert book.find_submission("00_start_here", "broken").needs_manual_grade
    for kind, suffix in (("autograded", "ipynb"), ("feedback", "html")):
        page = (tmp_path / "out" / kind / "s02" / "00_start_here" / f"00_start_here.{suffix}").read_text(
            encoding="utf-8"
        )
        assert "eight bits make a byte" in page
        assert "BEGIN SOLUTION" not in page
        assert "wire_Gbps" not in page
    assert "http" not in page
    without_bubblewrap_it_refuses(tmp_path, monkeypatch, capsys)


def without_bubblewrap_it_refuses(folder, monkeypatch, capsys):
    """Refuse, or with --no-sandbox mark all the same and say so in the report; in the same gradebook, to save time."""
    from course_lib.cli.main import main

    monkeypatch.setattr("course_lib.grading.runner.available", lambda: "bubblewrap is not installed; --no-sandbox …")
    command = ["grade", str(folder / "submitted"), "--to", str(folder / "out")]
    assert main(command) == 2
    assert "--no-sandbox" in capsys.readouterr().err
    shutil.rmtree(folder / "submitted" / "broken")
    assert main([*command, "--no-sandbox", "--jobs", "2"]) == 0
    told = json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))
    assert told["sandbox"] == "none"
    assert "Graded without a sandbox" in told["warning"]
    assert float(rows(folder / "out")["s00"]["score"]) == 10.0
    assert float(rows(folder / "out")["dies"]["score"]) == 5.0
