"""The check says the right thing whatever the learner wrote, returns a plain float, and never disturbs the notebook."""

import contextlib
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from course_lib.grading import bank, notebook
from course_lib.grading.answers import Entries, Number
from course_lib.grading.question import Case, Misconception, Question


def add(a, b):
    return a + b


ADD = Question(
    id="99.q1",
    title="add",
    points=4,
    answer="total",
    kind="function",
    expects=Number("GB/s"),
    inputs=lambda rng: (
        [Case({"a": 0.0, "b": 0.0}, "zero"), Case({"a": np.array([1.0, 2.0]), "b": 3.0}, "arrays")]
        + [Case({"a": float(a), "b": 5.0}, "numbers") for a in rng.uniform(1, 9, 5)]
    ),
    reference=add,
    misconceptions=(
        Misconception("times", lambda a, b: a * b, "You multiply."),
        Misconception("minus", lambda a, b: a - b, "You subtract."),
        Misconception("one more", lambda a, b: a + b + 1, "You count one too many."),
    ),
    withholds=("course_lib.links",),
    seconds=0.4,
)
PICK = Question(
    id="99.q2",
    title="pick",
    points=3,
    answer="picked",
    expects=Entries({"a": Number("GB/s"), "b": Number("s"), "c": Number("B")}),
    reference={"a": 450.0, "b": 2.0, "c": 64.0},
    misconceptions=(
        Misconception("both ways", {"a": 900.0}, "That is both directions."),
        Misconception("no latency", {"b": 1.0}, "You left the latency out."),
    ),
)
TABLE = Question(
    id="99.q3",
    title="table",
    points=2,
    answer="table",
    expects=Entries(Entries({"GB": Number("GB"), "ms": Number("ms")}, each=False)),
    reference={"fp16": {"GB": 2.0, "ms": 40.0}, "fp8": {"GB": 1.0, "ms": 20.0}},
    misconceptions=(
        Misconception("bits", {"fp16": {"GB": 16.0, "ms": 320.0}}, "That is bits."),
        Misconception("both ways", {"fp8": {"GB": 1.0, "ms": 10.0}}, "That is both directions."),
    ),
)


@pytest.fixture(autouse=True)
def _bank(monkeypatch):
    monkeypatch.setattr(bank, "question", lambda name: {"99.q1": ADD, "99.q2": PICK, "99.q3": TABLE}[name])


def judged(question, value):
    return notebook.ask(question, {question.answer: value})


def test_a_right_function_is_correct_and_the_score_is_a_builtin_float(capsys):
    total = lambda a, b: a + b  # noqa: E731, F841
    score = notebook.check("99.q1")
    assert type(score) is float
    assert score == 4.0
    out = capsys.readouterr()
    assert "correct" in out.out
    assert out.err == ""


def not_there(a, b):
    raise NotImplementedError


@pytest.mark.parametrize("value", [None, not_there])
def test_an_untouched_stub_is_not_attempted(value):
    verdict = judged(ADD, value)
    assert (verdict.state, verdict.points) == ("not attempted", 0.0)


EMPTY_ROW, FULL_ROW = {"GB": None, "ms": None}, {"GB": 2.0, "ms": 40.0}


@pytest.mark.parametrize("stub", [None, {"fp16": EMPTY_ROW, "fp8": EMPTY_ROW}, {"fp16": [None] * 2, "fp8": None}])
def test_an_untouched_table_is_not_attempted(stub):
    verdict = judged(TABLE, stub)
    assert (verdict.state, verdict.points, verdict.sentences) == ("not attempted", 0.0, ())


@pytest.mark.parametrize("row", [None, EMPTY_ROW, {}])
def test_a_row_that_is_still_empty_is_not_answered_yet_beside_one_that_is_right(row):
    verdict = judged(TABLE, {"fp16": FULL_ROW, "fp8": row})
    assert (verdict.state, verdict.points) == ("not yet", 1.0)
    assert "'fp8'" in verdict.sentences[0]
    assert row == {} or "not answered yet" in verdict.sentences[0]


def test_an_answer_that_was_never_run_is_not_attempted_and_says_so():
    verdict = notebook.ask(ADD, {})
    assert verdict.state == "not attempted"
    assert "total" in verdict.sentences[0]


def test_parts_earn_their_share():
    verdict = judged(ADD, lambda a, b: a + b if np.ndim(a) == 0 else a)
    assert verdict.state == "not yet"
    assert verdict.points == pytest.approx(4 * 2 / 3)


def test_a_misconception_is_named_and_a_counter_example_given():
    verdict = judged(ADD, lambda a, b: a - b)
    assert verdict.misconceptions == ("minus",)
    assert verdict.sentences[0] == "You subtract."
    assert "total(a=" in verdict.sentences[1]
    assert "expected" in verdict.sentences[1]


def test_a_coincidence_at_one_input_names_no_misconception():
    # At the smallest input, 0 and 0, this is what "one more" answers; elsewhere it is not.
    assert judged(ADD, lambda a, b: 1.0 if np.ndim(a) == 0 and a == b == 0 else a * b + 7).misconceptions == ()
    assert judged(ADD, lambda a, b: a + b + 1).misconceptions == ("one more",)


def test_a_wrong_model_of_one_part_is_named_beside_another_mistake_and_the_example_is_of_that_part():
    verdict = judged(ADD, lambda a, b: a - b if np.ndim(a) == 0 and b == 5 else a * b + 7)
    assert verdict.misconceptions == ("minus",)
    assert "b=5" in verdict.sentences[1]
    alone = judged(ADD, lambda a, b: a * b + 7 if np.ndim(a) == 0 else a - b)
    assert alone.misconceptions == (), "a part with one input proves nothing"


def test_a_failing_function_is_told_with_its_line():
    def total(a, b):
        return a / 0

    text = judged(ADD, total).sentences[0]
    assert "ZeroDivisionError" in text
    assert "`return a / 0`" in text


@pytest.mark.parametrize(
    "error", [SystemExit(0), KeyboardInterrupt(), MemoryError(), RecursionError("deep"), GeneratorExit()]
)
def test_no_exception_escapes(error):
    def total(a, b):
        raise error

    verdict = judged(ADD, total)
    assert (verdict.state, verdict.points) == ("not yet", 0.0)


def test_memory_is_named():
    def total(a, b):
        return np.zeros(10**14)

    assert "memory" in judged(ADD, total).sentences[0]


def test_a_loop_that_does_not_end_is_stopped():
    def total(a, b):
        while True:
            with contextlib.suppress(Exception):
                time.sleep(0.01)

    started = time.monotonic()
    verdict = judged(ADD, total)
    assert time.monotonic() - started < 60
    assert verdict.points == 0
    assert "0.4 s" in verdict.sentences[0]


def test_nothing_a_function_prints_or_warns_reaches_the_cell(capsys):
    def total(a, b):
        print("hello")
        print("oh", file=sys.stderr)
        import warnings

        warnings.warn("careful", stacklevel=1)
        np.float64(1) / np.float64(0)
        return a + b

    assert judged(ADD, total).state == "correct"
    out = capsys.readouterr()
    assert out.err == ""
    assert "hello" not in out.out


def test_inputs_are_fresh_copies():
    def total(a, b):
        result = a + b
        if isinstance(a, np.ndarray):
            a[:] = 0
        return result

    assert judged(ADD, total).state == "correct"


class Yes:
    """Equal to everything, and eager to be a float."""

    def __eq__(self, other):
        return True

    __hash__ = None

    def __float__(self):
        return 8.0

    __class__ = float


class Sly(float):
    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__

    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


@pytest.mark.parametrize(
    "value",
    [Yes(), Sly(1), np.array([5.0]), True, float("nan"), 5j, "5", object, [5.0], pytest.param(1 << 40000, id="huge")],
    ids=lambda v: type(v).__name__,  # never an address: all workers have to find the same tests
)
def test_what_only_looks_like_a_number_earns_nothing(value):
    verdict = judged(ADD, lambda a, b: value)
    assert verdict.points == 0
    verdict = judged(PICK, {"a": value, "b": value, "c": value})
    assert verdict.points == 0
    assert "a number in GB/s" in verdict.sentences[0]


def test_numpy_numbers_are_numbers():
    assert judged(PICK, {"a": np.float64(450), "b": np.float32(2), "c": np.int64(64)}).state == "correct"


def test_each_entry_is_a_part_and_carries_its_own_misconception():
    verdict = judged(PICK, {"a": 900.0, "b": 1.0, "c": 64})
    assert verdict.points == 1.0
    assert verdict.misconceptions == ("both ways", "no latency")
    verdict = judged(PICK, {"a": 450.0, "b": None, "c": 64e3})
    assert verdict.points == 1.0
    assert "not answered yet" in verdict.sentences[0]
    assert "1000 times" in verdict.sentences[1]
    assert judged(PICK, {"a": None, "b": None, "c": None}).state == "not attempted"
    assert judged(PICK, {"a": 450.0}).points == 1.0


def test_a_value_question_does_not_show_its_answer():
    verdict = judged(PICK, {"a": 451.0 + 20, "b": 2.1, "c": 65})
    assert not any("450" in s or "64" in s.replace("640", "") for s in verdict.sentences)


def test_keyboard_input_is_refused_wherever_it_runs():
    source = "x = input()\ndef total(a, b):\n    return a + b"
    verdict = notebook.ask(ADD, {"total": add, "In": ["", source]})
    assert verdict.points == 0
    assert "Line 1" in verdict.sentences[0]
    assert "input()" in verdict.sentences[0]
    assert notebook.ask(ADD, {"total": add, "In": ["", source, "def total(a, b): return a + b"]}).state == "correct"


@pytest.mark.parametrize(
    "line",
    [
        "from course_lib.links.alphabeta import time_s",
        "import course_lib.links",
        "from course_lib import links",
        "from course_lib.links import *",
    ],
)
def test_the_obvious_import_of_the_answer_is_refused(line):
    source = f"{line}\ndef total(a, b):\n    return a + b"
    verdict = notebook.ask(ADD, {"total": add, "In": [source]})
    assert verdict.points == 0
    assert "Line 1 imports" in verdict.sentences[0]


@pytest.mark.parametrize("junk", [3, "text", {"In": 5}, {"In": [None, 3, "def ("]}])
def test_odd_namespaces_do_not_matter(junk):
    assert notebook.ask(ADD, {"total": junk, "In": junk}).points == 0


@pytest.mark.parametrize("name", ["99.q9", "", None, 5])
def test_a_check_that_cannot_work_says_so_and_returns_zero(name, capsys):
    score = notebook.check(name)
    assert type(score) is float
    assert score == 0.0
    out = capsys.readouterr()
    assert "could not finish" in out.out
    assert out.err == ""


def test_a_learner_that_is_no_text_is_refused_in_words(capsys):
    LEARNER = 5  # noqa: F841
    assert notebook.check("99.q1") == 0.0
    assert "LEARNER is 5" in capsys.readouterr().out


def test_a_check_works_where_the_terminal_knows_only_ascii(tmp_path):
    code = "from course_lib.grading import check; print(check('00.q1'))"
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    folder = tmp_path / "mit ü und Leerzeichen"
    folder.mkdir()
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.endswith("0.0\n")
    assert done.stderr == ""


def play_sums(function, n_ranks):
    from course_lib.comm.driver import play

    results, log = play([function(rank, n_ranks) for rank in range(n_ranks)])
    return {"sum": float(results[0][0]), "all_reduces": log.counts().get("all_reduce", 0)}


def summing(times):
    def program(rank, n_ranks):
        from course_lib.comm.driver import AllReduce

        for _time in range(times):
            total = yield AllReduce(np.array([float(rank)]))
        return total

    return program


def test_a_driver_plays_the_network_for_generators_one_per_rank():
    question = Question(
        id="99.q3",
        title="sum",
        points=1,
        answer="program",
        kind="function",
        expects=Entries({"sum": Number(), "all_reduces": Number(whole=True)}, each=False),
        inputs=lambda rng: [Case({"n_ranks": n}) for n in (2, 3, 5)],
        reference=lambda n_ranks: {"sum": n_ranks * (n_ranks - 1) / 2, "all_reduces": 1},
        driver=play_sums,
        written=summing(1),
        misconceptions=(
            Misconception(
                "twice",
                lambda n_ranks: {"sum": n_ranks * (n_ranks - 1) / 2, "all_reduces": 2},
                "You sum twice.",
                written=summing(2),
            ),
            Misconception("mean", lambda n_ranks: {"sum": (n_ranks - 1) / 2, "all_reduces": 1}, "That is the mean."),
        ),
    )
    assert judged(question, summing(1)).state == "correct"
    assert judged(question, summing(2)).misconceptions == ("twice",)
    assert judged(question, lambda rank, n_ranks: 5).points == 0

    def stub(rank, n_ranks):
        yield
        raise NotImplementedError

    def untouched(rank, n_ranks):
        raise NotImplementedError

    assert judged(question, untouched).state == "not attempted"
    assert judged(question, stub).state == "not yet"

    def lonely(rank, n_ranks):
        from course_lib.comm.driver import AllReduce

        if rank == 0:
            yield AllReduce(np.zeros(1))
        return np.zeros(1)

    text = " ".join(judged(question, lonely).sentences)
    assert "CourseError" not in text


@pytest.mark.parametrize(
    ("given", "points", "words"),
    [
        ({"a": 450.0, "b": 2.0, "cc": 64.0}, 2.0, "Did you mean 'c'?"),
        ({"a": 450.0, "b": 2.0, "c": None, "cc": 64.0}, 2.0, "Did you mean 'c'?"),
        ({"a": 450.0, "b": 2.0, "c": 64.0, "note": "hi"}, 3.0, ""),
        ({"a": 450.0, "b": 2.0, "sum": 1.0}, 2.0, "'sum' is not asked for"),
        ({"a": 450.0, 7: 2.0}, 1.0, "7 is not asked for"),
        ({"a": 900.0, "b": 2.0, "cc": 64.0}, 1.0, "both directions"),
        ({"a": 450.0, "b": 2.0}, 2.0, "not answered yet"),
        ([450.0, 2.0, 64.0], 0.0, "Expected a dict"),
    ],
)
def test_a_misspelt_entry_costs_its_own_share_and_the_right_name_is_said(given, points, words):
    verdict = judged(PICK, given)
    assert verdict.points == points
    assert words in " ".join(verdict.sentences)
