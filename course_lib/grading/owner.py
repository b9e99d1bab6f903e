"""Whose numbers a hand-in answers: the learner's own, the public ones, or another learner's; said, never silently failed."""

import ast
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.grading import bank, probe
from course_lib.grading.answers import Entries, Expected, Number, Record
from course_lib.grading.question import Question
from course_lib.grading.verdict import CORRECT, judge

OWN, PUBLIC, UNKNOWN, ANOTHER = "own", "public", "unknown", "another"


@dataclass(frozen=True)
class Identity:
    """Who handed in (by the path), who the notebook says it is, and with whose numbers it is marked."""

    student: str
    stated: str
    kind: str
    learner: str


def plain(name: str) -> str:
    """Return a name without what people type differently: case, spaces, accents' forms.

    >>> plain(" Zoe\\u0308 Li "), plain("zoë-li")
    ('zoëli', 'zoëli')
    """
    text = unicodedata.normalize("NFKC", name).casefold()
    return "".join(letter for letter in text if letter.isalnum())


def identify(student: str, stated: str, known: Sequence[str]) -> Identity:
    """Compare LEARNER in the notebook with the learner's folder; `known` are the ids of the class.

    A blank LEARNER has the public numbers. A name that is nobody else's is a way of writing; another learner's is not.

    >>> identify("kim", "Kim ", ["kim", "lee"]).kind, identify("kim", "lee", ["kim", "lee"]).kind
    ('own', 'another')
    """
    stated = stated.strip()
    if not stated:
        return Identity(student, "", PUBLIC, "")
    if plain(stated) == plain(student):
        return Identity(student, stated, OWN, stated)
    if any(plain(stated) == plain(other) for other in known):
        return Identity(student, stated, ANOTHER, student)
    return Identity(student, stated, UNKNOWN, stated)


def stated_in(cells: Sequence[str]) -> str | None:
    """Return the text that the cells give to LEARNER, the last one, or None; read, not run.

    >>> stated_in(['LEARNER = "kim"', "x = 1"])
    'kim'
    """
    found = None
    for source in cells:
        if "LEARNER" not in source or len(source) > 100_000:
            continue
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                if "LEARNER" in names and isinstance(node.value.value, str):
                    found = node.value.value
    return found


@lru_cache(maxsize=20_000)
def _numbers(name: str, learner: str) -> Mapping[str, Any]:
    return bank.question(name).parameters_for(learner)


def numbers_of(question: Question, learner: str) -> Mapping[str, Any]:
    """Return a learner's numbers; kept, because a whole class may be asked about."""
    return _numbers(question.id, learner)


def request(name: str, learner: str) -> Mapping[str, Any]:
    """Answer a kernel that asks for the numbers of a question, as `parameters` does in the notebook."""
    # Looking for the nearest name would load every exercise, in the time of the learner's cell.
    if not re.fullmatch(r"(\d\d|A)\.q[1-9]\d?", name) or len(learner) > 200:
        raise CourseError(_("There is no question {name}.").format(name=repr(name)[:30]))
    return bank.question(name).parameters_for(learner)


def whose(
    question: Question, replies: Sequence[probe.Reply], used: str, stated: str, known: Sequence[str], most: int = 400
) -> list[str]:
    """Return the learners whose numbers a wrong answer is right for; "" stands for the public numbers.

    The name that the notebook states is compared as usual. Among hundreds of others a wrong answer would fit somebody by
    chance, so only a number that agrees to five digits, with one learner alone, counts.
    """
    if question.parameters is None or question.kind != "value" or not replies or replies[0].state != probe.VALUE:
        return []
    own = numbers_of(question, used)

    def fits(learner: str, asked: Question) -> bool:
        numbers = numbers_of(question, learner)
        cases = question.cases(numbers, _no_chance())
        return learner != used and not _same(numbers, own) and judge(asked, numbers, cases, replies).state == CORRECT

    if stated and fits(stated, question):
        return [stated]
    if (strict := _strict(question.expects, 1e-3)) is not None and fits("", replace(question, expects=strict)):
        return [""]
    if (strict := _strict(question.expects, 1e-5)) is None:
        return []
    sharp = replace(question, expects=strict)
    found = [learner for learner in dict.fromkeys(known[:most]) if fits(learner, sharp)]
    return found if len(found) == 1 else []


def _strict(form: Expected, tolerance: float) -> Expected | None:
    """Return the same form with a tighter tolerance, or None where answers are few enough to agree by chance."""
    if isinstance(form, Record):
        return form
    if isinstance(form, Number):
        return None if form.whole else replace(form, tolerance=min(form.tolerance, tolerance))
    if isinstance(form, Entries):
        forms = form.of if isinstance(form.of, Mapping) else {"": form.of}
        made = {key: _strict(one, tolerance) or one for key, one in forms.items()}
        if all(made[key] is forms[key] for key in forms):
            return None
        return replace(form, of=made if isinstance(form.of, Mapping) else made[""])
    return None


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return repr(one) == repr(other)


def _no_chance() -> Any:
    import numpy as np

    return np.random.default_rng(0)
