"""What a question is: declared once, read by the notebook's check, by nbgrader and by every other way of marking."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.grading.answers import Expected

# Changing this word gives every learner new numbers.
COURSE = "interconnect-1"
KINDS = ("value", "function")


@dataclass(frozen=True, eq=False)
class Misconception:
    """A wrong model that people really hold, and the sentence that names what they probably did.

    `wrong` is a function with the reference's signature, or for value questions the wrong answer itself (for a
    mapping, only the entries that go wrong). Where equality is not enough, `recognise(answer, **inputs)` tells.
    `sentence` may be a function of the question's parameters. `written` is the mistake as a learner would write it, for the
    tests, where that is another form than `wrong` (generators).
    """

    name: str
    wrong: Any
    sentence: str | Callable[..., str]
    recognise: Callable[..., bool] | None = None
    written: Any = None

    def says(self, parameters: Mapping[str, Any]) -> str:
        return self.sentence(**parameters) if callable(self.sentence) else self.sentence


@dataclass(frozen=True)
class Case:
    """One set of inputs for the learner's function, in the order of its arguments, and the part of the question it tests."""

    inputs: Mapping[str, Any] = field(default_factory=dict)
    part: str = "all"


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """One graded item.

    id            "02.q3": exercise and number; the graded cell says check("02.q3")
    title         a few words, shown by `interconnect progress`
    points        what it is worth; must equal the notebook's metadata (a test compares)
    answer        the name of the variable or function that the learner writes
    kind          "value": a variable · "function": called with each case's inputs, by position
    expects       what an answer looks like and how close is close: Number, Choice, Entries, Record … (answers.py)
    reference     f(**inputs, **parameters) → the right answer (a constant is allowed for a value)
    accept        f(answer, **inputs, **parameters) → "" or a sentence: a property in place of the reference's value; or a dict
                  of them by part, for one value that is judged in parts
    misconceptions  two or more
    parameters    f(rng) → dict: the learner's own numbers; plain data; {} where all learners get the same
    inputs        f(rng, **parameters) → list of Case: every declared edge case always, then random ones; smallest first
    withholds     modules, or names in one, that hold the answer and may not be imported by it ("course_lib.comm.ring", …)
    driver        f(function, *inputs) → value: calls the learner's function in its own way (generators, one per rank)
    seconds       a call to all cases takes no longer
    written       the right answer as a learner writes it, for the tests, where a driver calls it in its own way
    reveal        whether a counter-example shows the expected answer; by default for functions only
    """

    id: str
    title: str
    points: float
    answer: str
    expects: Expected
    misconceptions: Sequence[Misconception]
    reference: Any = None
    accept: Callable[..., str | Mapping[str, str]] | None = None
    kind: str = "value"
    parameters: Callable[..., Mapping[str, Any]] | None = None
    inputs: Callable[..., Sequence[Case]] | None = None
    withholds: Sequence[str] = ()
    driver: Callable[..., Any] | None = None
    seconds: float = 10.0
    reveal: bool | None = None
    written: Any = None

    def __post_init__(self) -> None:
        wrong = []
        if not re.fullmatch(r"(\d\d|A)\.q[1-9]\d*", self.id):
            wrong.append("its id is not like 02.q3")
        if not self.points > 0:
            wrong.append("its points are not above zero")
        if not self.answer.isidentifier():
            wrong.append(f"{self.answer!r} is not a name")
        if self.kind not in KINDS:
            wrong.append(f"its kind is not one of {', '.join(KINDS)}")
        if (self.kind == "function") != (self.inputs is not None):
            wrong.append("a function has inputs and a value has none")
        if self.reference is None:
            wrong.append("it has no reference")
        names = [m.name for m in self.misconceptions]
        if len(names) < 2 or len(set(names)) != len(names):
            wrong.append("it needs two misconceptions or more, with different names")
        if wrong:
            raise CourseError(f"Question {self.id}: " + "; ".join(wrong) + ".")

    @property
    def exercise(self) -> str:
        """The exercise's number, "02"."""
        return self.id.split(".")[0]

    @property
    def shows_expected(self) -> bool:
        return self.kind == "function" if self.reveal is None else self.reveal

    def parameters_for(self, learner: str = "") -> dict[str, Any]:
        """Return this learner's own numbers; "" is the public variant."""
        return dict(self.parameters(seeded(self.id, learner))) if self.parameters else {}

    def cases(self, parameters: Mapping[str, Any], rng: np.random.Generator) -> list[Case]:
        """Return the inputs to ask for: edge cases first, then random ones from `rng`."""
        return [Case()] if self.inputs is None else list(self.inputs(rng, **parameters))

    def right(self, case: Case, parameters: Mapping[str, Any]) -> Any:
        """Return the reference's answer."""
        return apply(self.reference, case, parameters)


def apply(model: Any, case: Case, parameters: Mapping[str, Any]) -> Any:
    """Return what `model` answers: itself if it is not a function."""
    return model(**case.inputs, **parameters) if callable(model) else model


def seeded(*words: str) -> np.random.Generator:
    """Return a random generator that depends on the course and `words` only, the same on every machine.

    >>> int(seeded("02.q2", "kim").integers(1000)) == int(seeded("02.q2", "kim").integers(1000))
    True
    """
    digest = hashlib.sha256("\x1f".join((COURSE, *words)).encode("utf-8")).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
