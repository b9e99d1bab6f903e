"""One question asked from outside: inputs as in the notebook, then inputs that only the instructor's secret gives."""

import contextlib
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from course_lib.base.language import _
from course_lib.grading import owner, probe, wire
from course_lib.grading.outside import Kernel
from course_lib.grading.owner import ANOTHER, Identity
from course_lib.grading.question import Case, Question, seeded
from course_lib.grading.verdict import CORRECT, NOT_YET, Verdict, blank, judge

JUDGE_S = 60


@dataclass(frozen=True)
class Asked:
    """A verdict for the learner, a sentence for the instructor only, and whether nothing was there to ask yet."""

    verdict: Verdict
    private: str = ""
    absent: bool = False
    flags: tuple[str, ...] = ()
    stated: str | None = None  # what LEARNER was when the question was asked


class _TooLong(BaseException):
    pass


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Stop a comparison that an answer has made endless."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_signal: int, _frame: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def ask(
    kernel: Kernel, question: Question, sources: Sequence[str], student: str, known: Sequence[str], secret: str
) -> Asked:
    """Return what the answer in `kernel` earns. `sources` are the cells run so far. Raises replies.Ended."""
    if objection := probe.objections(_parsed(sources, question.answer), question.answer, question.withholds):
        return Asked(blank(question, NOT_YET, objection))
    stated = _stated(kernel)
    if isinstance(stated, probe.Reply):
        text = _("LEARNER is {given}; text is expected, such as the name you hand in under.")
        return Asked(blank(question, NOT_YET, text.format(given=stated.why or _("no text"))))
    identity = owner.identify(student, stated, known)
    return replace(_asked(kernel, question, identity, known, secret), stated=identity.stated)


def _asked(kernel: Kernel, question: Question, identity: Identity, known: Sequence[str], secret: str) -> Asked:
    own = owner.numbers_of(question, identity.learner)
    cases = question.cases(own, seeded(question.id, identity.learner, "inputs"))
    replies = kernel.ask(question, cases)
    absent = all(reply.state in (probe.ABSENT, probe.UNTOUCHED) for reply in replies)
    verdict = _judged(question, own, cases, replies)
    if verdict.state != CORRECT and not absent:
        verdict, flags = _wrong(question, identity, replies, known, verdict)
        if question.kind == "value" or not verdict.points:
            return Asked(verdict, flags=flags)
    elif absent or question.kind == "value":
        return Asked(verdict, absent=absent)
    hidden = question.cases(own, seeded(question.id, secret, "runner"))
    return _fresh(question, verdict, _judged(question, own, hidden, kernel.ask(question, hidden)))


def _judged(
    question: Question, own: Mapping[str, Any], cases: Sequence[Case], replies: Sequence[probe.Reply]
) -> Verdict:
    try:
        with _at_most(JUDGE_S):
            return judge(question, own, cases, replies)
    except (_TooLong, MemoryError):
        return blank(question, NOT_YET, _("The answer is too large to be looked at."))


def _fresh(question: Question, public: Verdict, hidden: Verdict) -> Asked:
    """Join both verdicts. What the secret inputs were is for the instructor; the learner hears the wrong model's name."""
    if public.state != CORRECT or hidden.state == CORRECT:
        points = min(public.points, hidden.points)
        return Asked(replace(public, points=points), private=" ".join(hidden.sentences)[:2000])
    names = set(hidden.misconceptions)
    named = [m for m in question.misconceptions if m.name in names and not callable(m.sentence)]
    said = [m.sentence for m in named] or [
        _("It is right for the inputs of the notebook's check, and wrong for others.")
    ]
    verdict = Verdict(question.id, NOT_YET, hidden.points, public.of, tuple(said), hidden.misconceptions)
    return Asked(verdict, private=" ".join(hidden.sentences)[:2000])


def _wrong(
    question: Question, identity: Identity, replies: Sequence[probe.Reply], known: Sequence[str], verdict: Verdict
) -> tuple[Verdict, tuple[str, ...]]:
    """Say so where a wrong answer is right for other numbers than the learner's own; to the learner without a name."""
    stated = identity.stated if identity.kind == ANOTHER else ""
    try:
        with _at_most(JUDGE_S):
            fits = owner.whose(question, replies, identity.learner, stated, known)
    except (_TooLong, MemoryError):
        fits = []
    if not fits:
        return verdict, ()
    if fits == [""]:
        said = _("This is right for the public numbers, those of a blank LEARNER; yours are others.")
        flag = _("{name}: right for the public numbers (LEARNER was blank), not for this learner's own.")
        flag = flag.format(name=question.id)
    else:
        said = _("This is right for another learner's numbers; yours are others.")
        flag = _("{name}: right for the numbers of {who}, not for this learner's own.")
        flag = flag.format(name=question.id, who=", ".join(fits))
    return replace(verdict, sentences=(said, *verdict.sentences)), (flag,)


def _stated(kernel: Kernel) -> str | probe.Reply:
    reply = kernel.value("LEARNER")
    if reply.state in (probe.ABSENT, probe.UNTOUCHED):
        return "" if reply.state == probe.ABSENT else probe.Reply(probe.REFUSED, why="None")
    value = _plain(reply)
    return value if type(value) is str and len(value) <= 200 else probe.Reply(probe.REFUSED, why=repr(value)[:60])


def _plain(reply: probe.Reply) -> object:
    from course_lib.base.errors import CourseError

    try:
        return wire.decode(reply.text, 4000) if reply.state == probe.VALUE else None
    except CourseError:
        return None


def _parsed(sources: Sequence[str], name: str) -> list[str]:
    """Return the cells that may set `name`, with IPython's own commands turned into Python."""
    from IPython.core.inputtransformer2 import TransformerManager

    kept = []
    for source in sources:
        if name not in source or len(source) > 200_000:
            continue
        try:
            kept.append(TransformerManager().transform_cell(source))
        except Exception:
            kept.append(source)
    return kept
