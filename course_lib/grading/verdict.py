"""From replies to a verdict: not attempted, not yet (and why), or correct. The same in every venue; runs no learner code."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _, punctuated
from course_lib.grading import probe, wire
from course_lib.grading.answers import Entries
from course_lib.grading.question import Case, Misconception, Question, apply
from course_lib.grading.shown import say

NOT_ATTEMPTED, NOT_YET, CORRECT = "not attempted", "not yet", "correct"


@dataclass(frozen=True)
class Verdict:
    """What a question earned and what there is to say about it. `misconceptions` are the names of those recognised."""

    question: str
    state: str
    points: float
    of: float
    sentences: tuple[str, ...] = ()
    misconceptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Outcome:
    """One comparison: its part; if it failed, why, the wrong models that answer just so, where to look, and a named factor."""

    part: str
    passed: bool
    problem: str = ""
    matches: tuple[Misconception, ...] = ()
    weight: int = 0
    place: str = ""
    hint: str = ""


def judge(
    question: Question, parameters: Mapping[str, Any], cases: Sequence[Case], replies: Sequence[probe.Reply]
) -> Verdict:
    """Return the verdict on `replies`, one per case. Points need positive proof: a reply that is missing passes nothing."""
    if len(replies) != len(cases) or not cases:
        return blank(question, NOT_YET, _("The answers did not all arrive."))
    answers = [_opened(reply) for reply in replies]
    if all(reply.state in (probe.ABSENT, probe.UNTOUCHED) for reply in answers):
        return blank(question, NOT_ATTEMPTED, next((r.why for r in answers if r.why), ""))
    outcomes = [
        outcome
        for case, reply in zip(cases, answers, strict=True)
        for outcome in _outcomes(question, parameters, case, reply)
    ]
    parts = dict.fromkeys(outcome.part for outcome in outcomes)
    passed = [part for part in parts if all(o.passed for o in outcomes if o.part == part)]
    if len(passed) == len(parts):
        return Verdict(question.id, CORRECT, float(question.points), float(question.points))
    points = float(question.points) * len(passed) / len(parts)
    sentences, names = _explain(question, parameters, outcomes)
    return Verdict(question.id, NOT_YET, points, float(question.points), sentences, names)


def blank(question: Question, state: str, *sentences: str) -> Verdict:
    """Return a verdict of zero points."""
    return Verdict(question.id, state, 0.0, float(question.points), tuple(s for s in sentences if s))


def _opened(reply: probe.Reply) -> probe.Reply:
    """Turn a stub's container of Nones into "untouched", and text that is no wire text into a refusal."""
    if reply.state != probe.VALUE:
        return reply
    try:
        value = wire.decode(reply.text)
    except CourseError as error:
        return probe.Reply(probe.REFUSED, why=str(error))
    return probe.Reply(probe.UNTOUCHED) if _empty(value) else reply


def _empty(value: Any) -> bool:
    """Whether a value is as a stub has it: None, or a container of Nones, a table's rows included.

    >>> _empty({"fp8": {"GB": None}, "fp4": [None, None]}), _empty({"fp8": {"GB": None, "ms": 2}}), _empty([])
    (True, False, False)
    """
    if type(value) not in (dict, list, tuple):
        return value is None
    items = list(value.values()) if type(value) is dict else value
    return len(items) > 0 and all(map(_empty, items))


def _outcomes(question: Question, parameters: Mapping[str, Any], case: Case, reply: probe.Reply) -> list[_Outcome]:
    right = question.right(case, parameters)
    form = question.expects
    by_key = question.kind == "value" and isinstance(form, Entries) and form.each and question.accept is None
    parts = [str(key) for key in right] if by_key else [case.part]
    weight = len(wire.encode(list(case.inputs.values())))
    if reply.state == probe.UNTOUCHED and not by_key:
        return [
            _Outcome(case.part, False, _("For {inputs} it is not written yet.").format(inputs=_call(question, case)))
        ]
    if reply.state != probe.VALUE:
        return [_Outcome(part, False, _for(question, case, reply.why), weight=weight) for part in parts]
    given = wire.decode(reply.text)
    if by_key and type(given) is dict:  # a key that is misspelt costs its own share, not the whole question
        return [_entry(question, parameters, case, key, given, right) for key in right]
    if problem := form.refuse(given, right):
        return [_Outcome(part, False, _for(question, case, problem), weight=weight) for part in parts]
    problem = _problem(question, parameters, case, given, right)
    if not problem:
        return [_Outcome(case.part, True)]
    matches = tuple(m for m in question.misconceptions if _matches(question, parameters, case, given, right, m))
    if isinstance(problem, Mapping):  # one answer that is judged in parts, each with its own sentence
        found = [_Outcome(str(part), not text, text, (), weight) for part, text in problem.items()]
        first = next((outcome.part for outcome in found if not outcome.passed), None)
        return [*found, _Outcome(first, False, "", matches, weight)] if first and matches else found
    hints = [form.hint(given, right, slips) for slips in (False, True)] if question.accept is None else []
    return [_Outcome(case.part, False, problem, matches, weight, *hints)]


def _problem(
    question: Question, parameters: Mapping[str, Any], case: Case, given: Any, right: Any
) -> str | Mapping[str, str]:
    form = question.expects
    if question.accept is not None:
        try:
            problem = question.accept(given, **wire.decode(wire.encode(dict(case.inputs))), **parameters)
        except Exception as error:
            problem = str(error) if isinstance(error, CourseError) else f"{type(error).__name__}: {error}"[:200]
        if isinstance(problem, Mapping):
            return {part: _for(question, case, text) if text else "" for part, text in problem.items()}
        return _for(question, case, problem) if problem else ""
    if form.agrees(given, right):
        return ""
    words = [_("it returns {given}") if question.kind == "function" else _("{given} is not right")]
    if question.shows_expected:
        words.append(_("expected {right}"))
    return _for(question, case, ", ".join(words).format(given=form.show(given), right=form.show(right)) + ".")


def _entry(
    question: Question,
    parameters: Mapping[str, Any],
    case: Case,
    key: Any,
    given: Mapping[Any, Any],
    right: Mapping[Any, Any],
) -> _Outcome:
    form = question.expects.form(key)
    if _empty(given.get(key)):
        return _Outcome(str(key), False, _missing(key, [k for k in given if k not in right], list(right)))
    if problem := form.refuse(given[key], right[key]):
        return _Outcome(str(key), False, f"{say(key)}: {problem}")
    if form.agrees(given[key], right[key]):
        return _Outcome(str(key), True)
    matches = []
    for misconception in question.misconceptions:
        wrong = apply(misconception.wrong, case, parameters)
        if key in wrong and not form.same(wrong[key], right[key]) and form.same(given[key], wrong[key]):
            matches.append(misconception)
    text = _("{key}: {given} is not right.").format(key=say(key), given=form.show(given[key]))
    return _Outcome(str(key), False, f"{text} {form.hint(given[key], right[key])}".strip(), tuple(matches))


def _missing(key: Any, strays: Sequence[Any], keys: Sequence[Any]) -> str:
    """Return what to say of an entry without a value: the stray entry that was meant for it, or all strays."""
    mine = [s for s in strays if difflib.get_close_matches(str(s), [str(k) for k in keys], n=1) == [str(key)]]
    if mine or len(strays) == 1 == len(keys):
        text = _("{key}: not answered, but there is an entry {stray}. Did you mean {key}?")
        return text.format(key=say(key), stray=say((mine or strays)[0]))
    if strays:
        text = _("{key}: not answered; {strays} is not asked for.")
        return text.format(key=say(key), strays=", ".join(say(s) for s in strays))
    return _("{key}: not answered yet.").format(key=say(key))


def _matches(
    question: Question, parameters: Mapping[str, Any], case: Case, given: Any, right: Any, misconception: Misconception
) -> bool:
    """Return whether the learner's wrong answer is the one that this wrong model gives."""
    try:
        if misconception.recognise is not None:
            return bool(misconception.recognise(given, **case.inputs, **parameters))
        wrong = wire.decode(wire.encode(apply(misconception.wrong, case, parameters)))
        return question.expects.same(given, wrong) and not question.expects.same(right, wrong)
    except Exception:
        return False


def _explain(
    question: Question, parameters: Mapping[str, Any], outcomes: Sequence[_Outcome]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if question.kind == "value":
        found = dict.fromkeys(m for outcome in failed for m in outcome.matches[:1])
        others = [
            f"{outcome.problem} {outcome.hint}".strip() for outcome in failed if not outcome.matches and outcome.problem
        ]
        sentences = [m.says(parameters) for m in found] + others
        return tuple(dict.fromkeys(sentences)), tuple(m.name for m in found)
    # A wrong model has to explain every failure, or every one of a part, so that a coincidence at one input names nothing.
    parts = [[o for o in failed if o.part == part] for part in dict.fromkeys(o.part for o in failed)]
    for group in (failed, *(part for part in parts if len(part) > 1), failed):
        smallest = min(group, key=lambda outcome: outcome.weight)
        found = [m for m in smallest.matches if all(m in outcome.matches for outcome in group)]
        if found:
            break
    # Nor does a factor: twice too much may be n times, for two ranks. Beside the name of a wrong model it says something else.
    named = not found and len({outcome.hint.removeprefix(outcome.place) for outcome in failed}) == 1
    text = f"{smallest.problem} {smallest.hint if named else smallest.place}".strip()
    sentences = [m.says(parameters) for m in found[:1]] + [text]
    return tuple(sentences), tuple(m.name for m in found[:1])


def _call(question: Question, case: Case) -> str:
    inputs = ", ".join(f"{k}={say(v, most=600)}" for k, v in case.inputs.items())
    # a driver calls the learner's function in its own way: that call has other arguments than these
    return inputs if question.driver else f"{question.answer}({inputs})"


def _for(question: Question, case: Case, problem: str) -> str:
    return f"`{_call(question, case)}`: {punctuated(problem)}" if question.kind == "function" else punctuated(problem)
