"""What marking is given: one hand-in, and what is the same for a whole batch; both can travel to another machine."""

from dataclasses import dataclass, field

from course_lib.grading.sandbox import Limits


@dataclass(frozen=True)
class Settings:
    """What is the same for a whole batch. `known` are the ids of the class; `secret` never enters a kernel."""

    secret: str
    limits: Limits = field(default_factory=Limits)
    walled: bool = True
    known: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """One hand-in to mark, complete in itself: it can travel to another process or machine."""

    key: str
    student: str
    shown: str
    content: bytes
