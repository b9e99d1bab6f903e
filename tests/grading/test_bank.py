"""Every question of the bank keeps the promises that learners and instructors rely on; new exercises are covered as they come."""

import ast
import importlib
import json
import re
from pathlib import Path

import pytest

from course_lib.grading import bank, notebook, release
from course_lib.grading.answers import Entries
from course_lib.grading.question import Question, apply
from course_lib.grading.verdict import CORRECT, NOT_ATTEMPTED, NOT_YET
from tests.grading.test_slips import numbers

ROOT = Path(__file__).parents[2]
QUESTIONS = bank.all_questions()
SOURCES = release.exercises(ROOT)
every_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
every_notebook = pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.parent.name)
MISTAKES = [(q, m) for q in QUESTIONS for m in q.misconceptions]


def written(question, model, parameters):
    """Return what a learner who thinks `model` would write under the question's name."""
    if question.kind == "value":
        wrong = model(**parameters) if callable(model) else model
        right = apply(question.reference, question.cases(parameters, None)[0], parameters)
        return {**right, **wrong} if isinstance(right, dict) and isinstance(wrong, dict) else wrong

    def answer(*arguments):
        names = list(question.cases(parameters, notebook.seeded("names"))[0].inputs)
        return model(**dict(zip(names, arguments, strict=True)), **parameters)

    return answer


def verdict_on(question, model, learner="", as_written=None):
    parameters = question.parameters_for(learner)
    answer = as_written if as_written is not None else written(question, model, parameters)
    return notebook.ask(question, {question.answer: answer}, learner)


@every_question
def test_the_reference_is_correct(question):
    if question.driver and question.written is None:
        pytest.skip("a driver calls the answer in its own way; the solutions notebook shows it right")
    verdict = verdict_on(question, question.reference, as_written=question.written)
    assert verdict.state == CORRECT, verdict.sentences
    assert verdict.points == question.points


@pytest.mark.parametrize(("question", "mistake"), MISTAKES, ids=lambda x: getattr(x, "id", getattr(x, "name", "")))
def test_each_misconception_is_refused_with_its_own_sentence(question, mistake):
    if question.driver and mistake.written is None:
        pytest.skip("a driver calls the answer in its own way; give the misconception as `written`")
    for learner in ["", *map(str, range(20 if question.kind == "function" else 200))] if question.parameters else [""]:
        verdict = verdict_on(question, mistake.wrong, learner, mistake.written)
        assert verdict.state == NOT_YET
        assert verdict.points < question.points
        assert verdict.misconceptions == (mistake.name,), (learner, verdict)
        assert verdict.sentences[0] == mistake.says(question.parameters_for(learner))


GAINS = [
    (question, key)
    for question in QUESTIONS
    if question.kind == "value" and isinstance(question.expects, Entries)
    for key in question.right(question.cases(question.parameters_for(""), None)[0], question.parameters_for(""))
    if getattr(question.expects.form(key), "unit", "") == "×"
]


@pytest.mark.parametrize(("question", "key"), GAINS, ids=[f"{question.id} {key}" for question, key in GAINS])
def test_a_gain_is_told_from_none_and_from_its_inverse(question, key):
    for learner in ["", *map(str, range(200))]:
        parameters = question.parameters_for(learner)
        right = question.right(question.cases(parameters, None)[0], parameters)[key]
        form = question.expects.form(key)
        assert not form.same(1.0, right), (learner, right)
        assert not form.same(1 / right, right), (learner, right)


def leaves(answer):
    """Return every number in an answer."""
    inner = answer.values() if isinstance(answer, dict) else answer if isinstance(answer, list | tuple) else None
    if inner is not None:
        return [number for one in inner for number in leaves(one)]
    return [answer] if isinstance(answer, int | float) and not isinstance(answer, bool) else []


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.kind == "value"], ids=lambda q: q.id)
def test_no_sentence_gives_the_number_that_is_asked_for(question):
    """A function's counter-example shows the right answer; where one number is asked for, it is the learner's to find."""
    for learner in ["", *map(str, range(20))] if question.parameters else [""]:
        parameters = question.parameters_for(learner)
        right = question.right(question.cases(parameters, None)[0], parameters)
        for mistake in question.misconceptions:
            wrong = written(question, mistake.wrong, parameters)
            both = isinstance(right, dict) and isinstance(wrong, dict)
            asked = {k: v for k, v in right.items() if wrong.get(k) != v} if both else right
            text = mistake.says(parameters)
            said = [float(n.replace(",", "").rstrip(".")) for n in re.findall(r"(?<![\w.])\d[\d,]*\.?\d*", text)]
            given = [n for n in leaves(asked) for s in said if n > 1 and abs(s / n - 1) < 0.005]
            assert not given, (learner, mistake.name, given, text)


@every_question
def test_sentences_of_misconceptions_differ(question):
    parameters = question.parameters_for()
    said = [m.says(parameters) for m in question.misconceptions]
    where = f"{question.id}: docs/add_a_question.md, step 1"
    twice = {m.name: text for m, text in zip(question.misconceptions, said) if said.count(text) > 1}
    assert not twice, f"misconceptions with one and the same sentence, {twice}; {where}"
    broken = [text for text in said if not text.endswith((".", "?"))]
    assert not broken, f"a misconception says a sentence with a stop, not {broken}; {where}"


@every_question
def test_an_untouched_answer_is_not_attempted(question):
    def stub(*arguments):
        raise NotImplementedError

    for nothing in (None, stub) if question.kind == "function" else (None,):
        verdict = notebook.ask(question, {question.answer: nothing})
        assert (verdict.state, verdict.points) == (NOT_ATTEMPTED, 0.0)


@every_question
def test_two_hundred_learners_can_all_be_right(question):
    if question.driver and question.written is None:
        pytest.skip("a driver calls the answer in its own way")
    for learner in map(str, range(200 if question.parameters else 5)):
        verdict = verdict_on(question, question.reference, learner, question.written)
        assert verdict.state == CORRECT, (learner, verdict.sentences)


@every_question
def test_numbers_repeat_for_a_learner_and_differ_between_learners(question):
    if not question.parameters:
        pytest.skip("all learners get the same numbers")
    assert question.parameters_for("kim") == question.parameters_for("kim")
    assert len({json.dumps(question.parameters_for(str(s)), default=str, sort_keys=True) for s in range(20)}) > 5


@every_question
def test_parts_are_the_same_for_all_inputs(question):
    parts = [{c.part for c in question.cases(question.parameters_for(s), notebook.seeded("parts", s))} for s in "abcd"]
    assert all(one == parts[0] for one in parts)


@every_question
def test_garbage_earns_nothing(question):
    for garbage in (object(), True, "yes", [], {}, float("nan"), lambda *a: float("nan"), lambda *a: None, lambda: 1):
        verdict = notebook.ask(question, {question.answer: garbage})
        assert verdict.points == 0, (garbage, verdict)


def test_ids_are_unique_and_belong_to_their_exercise():
    names = [q.id for q in QUESTIONS]
    assert len(set(names)) == len(names)
    for number in bank.exercises():
        assert {q.exercise for q in bank.questions(number)} == {number}


@pytest.mark.parametrize(
    "path", sorted(Path(bank.__path__[0]).glob("ex*/q*.py")), ids=lambda p: f"{p.parent.name}.{p.stem}"
)
def test_every_question_that_is_written_is_listed(path):
    module = importlib.import_module(f"course_lib.grading.bank.{path.parent.name}.{path.stem}")
    made = {one.id for one in vars(module).values() if isinstance(one, Question)}
    listed = {one.id for one in bank.questions(path.parent.name.removeprefix("ex").upper())}
    assert made, f"{path.name} holds no question"
    assert made <= listed, (
        f"{path.parent.name}/__init__.py does not list {made - listed}: docs/add_a_question.md, step 2"
    )


def test_every_exercise_of_the_bank_has_a_notebook_and_the_other_way_round():
    assert {p.parent.name.split("_")[0] for p in SOURCES} == set(bank.exercises())
    for path in SOURCES:
        assert path.stem == path.parent.name


@every_notebook
def test_every_question_that_is_asked_is_listed(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    asked = {release.checked("".join(c["source"])) for c in cells if c["cell_type"] == "code"} - {None}
    number = path.parent.name.split("_")[0]
    missing = sorted(asked - {q.id for q in bank.questions(number)})
    assert not missing, (
        f"{path.name} asks for {missing}, which QUESTIONS in course_lib/grading/bank/ex{number.lower()}/__init__.py "
        "does not list: docs/add_a_question.md, step 2"
    )


@every_notebook
def test_how_far_a_number_may_be_off_is_what_the_exercise_says(path):
    text = "".join("".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"])
    if "may be off by 1 %" not in text:
        return
    for question in bank.questions(path.parent.name.split("_")[0]):
        for number in numbers(question.expects):
            said = f"in question {question.id.split('.q')[1]} by {100 * number.tolerance:g} %" in text
            assert said or number.whole or number.tolerance >= 0.01, f"{question.id}: {number.tolerance}"


@every_notebook
def test_notebook_and_bank_agree(path):
    notebook_json = json.loads(path.read_text(encoding="utf-8"))
    stamped = release.stamp(notebook_json, path.parent.name)
    assert release.problems(path, stamped) == []
    assert release.text_of(stamped) == path.read_text(encoding="utf-8"), "run: make exercises"
    cells = {c["metadata"]["nbgrader"]["grade_id"]: c for c in notebook_json["cells"] if "nbgrader" in c["metadata"]}
    for question in bank.questions(path.parent.name.split("_")[0]):
        name = question.id.replace(".", "-")
        graded, answer = cells[name], cells[f"{name}-answer"]
        meta = graded["metadata"]["nbgrader"]
        assert (meta["points"], meta["grade"], meta["locked"], meta["solution"]) == (question.points, True, True, False)
        assert answer["metadata"]["nbgrader"]["solution"]
        tree = ast.parse("".join(answer["source"]))
        names = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        names |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        assert question.answer in names, f"{question.id}: the answer cell does not set {question.answer}"


def run_all(path):
    """Run every code cell in order, as Run All does; return the scores of the checks. An exception fails the test."""
    space = {"__name__": "__main__", "In": [""]}
    scores = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        space["In"].append(source)
        tree = ast.parse(source)
        last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), space)
        value = eval(compile(last, path.name, "eval"), space) if last else None
        if name := release.checked(source):
            assert type(value) is float
            scores[name] = (value, notebook.ask(bank.question(name), space, space.get("LEARNER", "")).state)
    return scores


@every_notebook
def test_an_untouched_exercise_runs_to_its_end_with_every_question_not_attempted(path, tmp_path, monkeypatch):
    released = ROOT / "exercises" / path.parent.name / path.name
    monkeypatch.chdir(tmp_path)
    scores = run_all(released)
    assert set(scores) == {q.id for q in bank.questions(path.parent.name.split("_")[0])}
    assert set(scores.values()) == {(0.0, NOT_ATTEMPTED)}
    text = released.read_text(encoding="utf-8")
    assert "BEGIN SOLUTION" not in text
    assert "END SOLUTION" not in text


@every_notebook
def test_the_solutions_earn_full_marks(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores = run_all(path)
    for question in bank.questions(path.parent.name.split("_")[0]):
        assert scores[question.id] == (question.points, CORRECT)


@pytest.mark.nbgrader
def test_exercises_are_what_nbgrader_generates_today():
    assert release.main(["--check"]) == 0
