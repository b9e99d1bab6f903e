"""The check a learner calls in the notebook: one look at the answer, a verdict in words, and a plain float for nbgrader."""

import html
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.grading import bank, probe, progress
from course_lib.grading.question import Question, seeded
from course_lib.grading.verdict import CORRECT, NOT_ATTEMPTED, NOT_YET, Verdict, blank, judge

MIMETYPE = "application/vnd.interconnect.verdict+json"
MARKS = {CORRECT: "✓", NOT_YET: "✗", NOT_ATTEMPTED: "○"}


def check(name: str) -> float:
    """Look at the answer to question `name` ("02.q3"), show the verdict, and return its points as a Python float.

    As the last line of a cell its value is what nbgrader reads. It never raises and writes nothing to stderr; an answer that
    is not there, a loop that does not end or an object that claims to equal everything earns nothing.
    """
    frame = sys._getframe(1)
    try:
        namespace = {**frame.f_globals, **frame.f_locals}
        return _checked(name, namespace)
    except (Exception, KeyboardInterrupt) as error:
        sentence = str(error) if isinstance(error, CourseError) else f"{type(error).__name__}: {error}"
        _show(Verdict(str(name), NOT_YET, 0.0, 0.0, (_("The check could not finish. {why}").format(why=sentence),)), "")
        return 0.0
    finally:
        del frame


def parameters(name: str, learner: str | None = None) -> dict[str, Any]:
    """Return the numbers of question `name` for this learner: LEARNER of the notebook, "" being the public variant.

    >>> parameters("00.q1", learner="")
    {}
    """
    if learner is None:
        frame = sys._getframe(1)
        learner = _learner({**frame.f_globals, **frame.f_locals})
    return bank.question(name).parameters_for(learner)


def grading_now() -> bool:
    """Return whether nbgrader runs this notebook: then nothing is recorded."""
    return bool(os.environ.get("NBGRADER_EXECUTION"))


def ask(question: Question, namespace: Mapping[str, Any], learner: str = "") -> Verdict:
    """Return the verdict on the answer in `namespace`, on inputs that are the same every time."""
    numbers = question.parameters_for(learner)
    sources = namespace.get("In", ())
    cells = [cell for cell in sources if isinstance(cell, str)] if isinstance(sources, (list, tuple)) else []
    if objection := probe.objections(cells, question.answer, question.withholds):
        return blank(question, NOT_YET, objection)
    cases = question.cases(numbers, seeded(question.id, learner, "inputs"))
    if question.kind == "value":
        replies = [probe.ask_value(namespace, question.answer)]
    else:
        inputs = [tuple(case.inputs.values()) for case in cases]
        replies = probe.ask_function(namespace, question.answer, inputs, question.seconds, question.driver)
    return judge(question, numbers, cases, replies)


def _learner(namespace: Mapping[str, Any]) -> str:
    learner = namespace.get("LEARNER", "")
    if type(learner) is not str:
        text = _("LEARNER is {given}; text is expected, such as the name you hand in under.")
        raise CourseError(text.format(given=repr(learner)[:60]))
    return learner.strip()


def _checked(name: str, namespace: Mapping[str, Any]) -> float:
    question = bank.question(name)
    learner = _learner(namespace)
    verdict = ask(question, namespace, learner)
    note = "" if grading_now() else progress.record(verdict, learner)
    _show(verdict, question.title, note)
    return min(max(float(verdict.points), 0.0), float(question.points))


def lines(verdict: Verdict, title: str) -> tuple[str, list[str]]:
    """Return the head line and the sentences of a verdict, as plain text."""
    words = {CORRECT: _("correct"), NOT_YET: _("not yet"), NOT_ATTEMPTED: _("not attempted")}
    head = _("{mark} {name} {title}: {state}, {points:g} of {of:g} points").format(
        mark=MARKS[verdict.state],
        name=verdict.question,
        title=title,
        state=words[verdict.state],
        points=round(verdict.points, 2),
        of=verdict.of,
    )
    shown = list(verdict.sentences[:5])
    if len(verdict.sentences) > 5:
        shown.append(_("… and {n} more.").format(n=len(verdict.sentences) - 5))
    return head.replace(" :", ":"), shown


def _show(verdict: Verdict, title: str, note: str = "") -> None:
    head, sentences = lines(verdict, title)
    sentences += [note] if note else []
    plain = "\n".join([head, *("  " + sentence for sentence in sentences)])
    # Outside of a notebook IPython need not be loaded, or even installed.
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        _print(plain)
        return
    from IPython.display import display

    body = "".join(f"<div>{_code(html.escape(sentence))}</div>" for sentence in sentences)
    page = (
        '<div style="border-left:3px solid currentColor;padding:0.2em 0.8em;max-width:44em">'
        f"<strong>{html.escape(head)}</strong>{body}</div>"
    )
    data = {
        "question": verdict.question,
        "state": verdict.state,
        "points": verdict.points,
        "of": verdict.of,
        "sentences": list(verdict.sentences),
        "misconceptions": list(verdict.misconceptions),
    }
    display({"text/plain": plain, "text/html": page, MIMETYPE: data}, raw=True)


def _code(text: str) -> str:
    return re.sub("`([^`]+)`", r"<code>\1</code>", text)


def _print(text: str) -> None:
    try:
        print(text)
    except UnicodeEncodeError:
        print(text.encode("ascii", "replace").decode("ascii"))
