"""Driver: runs one program per rank as a generator and plays the network between them, through proved schedules."""

from collections.abc import Generator, Iterable, Sequence
from inspect import GEN_CREATED, getgeneratorstate

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.comm.collective import as_array, carry_out
from course_lib.comm.requests import (
    COLLECTIVES,
    REQUESTS,
    AllGather,
    AllReduce,
    AllToAll,
    Broadcast,
    Entry,
    Log,
    Recv,
    ReduceScatter,
    Send,
    SendRecv,
)

__all__ = [
    "AllGather",
    "AllReduce",
    "AllToAll",
    "Broadcast",
    "Entry",
    "Log",
    "Recv",
    "ReduceScatter",
    "Send",
    "SendRecv",
    "play",
]

MOST = 1_000_000  # communications; a program that goes on beyond it does not end


def play(programs: Sequence[Generator], *, algorithm: str | None = None) -> tuple[list, Log]:
    """Run one generator per rank to its end and return what each returned, and the log of what was communicated.

    A program yields AllReduce, ReduceScatter, AllGather, Broadcast, AllToAll, Send, Recv or SendRecv and gets the answer
    as the value of that yield. A collective takes place when every rank of its group has asked for it. `algorithm`
    names the one that `comm.registry` builds (ring where it is None, direct for all_to_all).

    Errors: CourseError where ranks ask for different things or wait for each other for ever: who waits for what.

    >>> import numpy as np
    >>> def program(rank):
    ...     total = yield AllReduce(np.array([rank, 1.0]))
    ...     return total
    >>> results, log = play([program(r) for r in range(4)])
    >>> results[0], log.counts(), log.message_B()
    (array([6., 4.]), {'all_reduce': 1}, 16)
    """
    ranks = [_Rank(r, program) for r, program in enumerate(_checked(programs))]
    entries: list[Entry] = []
    while any(rank.request is not None for rank in ranks):
        ready = [group for group in _groups(ranks) if group]
        for members in ready:
            answers, entry = carry_out(members, [ranks[r].request for r in members], algorithm)
            if entry is not None:
                entries.append(entry)
            for r, answer in zip(members, answers):
                ranks[r].go_on(answer)
        ready += _pairs(ranks, entries)
        if not ready:
            raise CourseError(_stuck(ranks))
        if len(entries) > MOST:
            raise CourseError(_("The programs have communicated {n} times; do they ever end?").format(n=len(entries)))
    return [rank.result for rank in ranks], Log(tuple(entries))


class _Rank:
    """One program: the request it waits with, or the result it ended with."""

    def __init__(self, number: int, program: Generator) -> None:
        self.number, self.program, self.request, self.result = number, program, None, None
        self.sent = self.received = False  # the two halves of a SendRecv
        self.answer: object = None
        self.go_on(None)

    def go_on(self, answer: object) -> None:
        try:
            self.request = self.program.send(answer)
        except StopIteration as end:
            self.request, self.result = None, end.value
            return
        self.sent, self.received, self.answer = False, False, None
        if not isinstance(self.request, REQUESTS):
            names = ", ".join(kind.__name__ for kind in REQUESTS)
            raise CourseError(
                _("Rank {r} yields a {kind}; a program may yield: {names}.").format(
                    r=self.number, kind=type(self.request).__name__, names=names
                )
            )
        for name in ("axis", "root", "to", "source"):
            if hasattr(self.request, name):
                whole(_("Rank {r}: {name}").format(r=self.number, name=name), getattr(self.request, name))
        group = getattr(self.request, "group", None)
        if group is not None and (isinstance(group, str) or not isinstance(group, Iterable)):
            raise CourseError(
                _("Rank {r}: group is {group!r}; ranks in a tuple are expected.").format(r=self.number, group=group)
            )


def _checked(programs: Sequence[Generator]) -> list[Generator]:
    programs = list(programs) if isinstance(programs, Iterable) and not isinstance(programs, Generator) else [programs]
    for r, program in enumerate(programs):
        if not isinstance(program, Generator):
            raise CourseError(
                _(
                    "The program of rank {r} is a {kind}; a generator is expected: a function with a yield in it."
                ).format(r=r, kind=type(program).__name__)
            )
        if getgeneratorstate(program) != GEN_CREATED:
            raise CourseError(
                _("The program of rank {r} has already begun; make a new generator for each play.").format(r=r)
            )
    if not programs:
        raise CourseError(_("There are no programs; one generator per rank is expected."))
    return programs


def _group(rank: _Rank, n: int) -> tuple[int, ...]:
    if rank.request.group is None:
        return tuple(range(n))
    group = tuple(whole("a rank of the group", r, at_least=0, at_most=n - 1) for r in rank.request.group)
    if len(set(group)) != len(group) or rank.number not in group:
        raise CourseError(
            _("Rank {r} asks for {op} in the group {group}; it has to name each rank once, itself too.").format(
                r=rank.number, op=type(rank.request).__name__, group=group
            )
        )
    return group


def _groups(ranks: list[_Rank]) -> list[tuple[int, ...]]:
    """The groups of which every member waits in the same collective."""
    found: dict[tuple, list[int]] = {}
    for rank in ranks:
        if isinstance(rank.request, COLLECTIVES):
            request = rank.request
            key = (type(request), _group(rank, len(ranks)), getattr(request, "axis", 0), getattr(request, "root", 0))
            found.setdefault(key, []).append(rank.number)
    return [group for (_kind, group, _axis, _root), there in found.items() if len(there) == len(group)]


def _pairs(ranks: list[_Rank], entries: list[Entry]) -> list[int]:
    """Carry out the sends whose receiver waits; return the ranks that could go on."""
    for sender in ranks:
        if not isinstance(sender.request, (Send, SendRecv)) or sender.sent:
            continue
        to = whole("to", sender.request.to, at_least=0, at_most=len(ranks) - 1)
        receiver = ranks[to]
        if to == sender.number:
            raise CourseError(_("Rank {r} sends to itself.").format(r=to))
        if (
            isinstance(receiver.request, (Recv, SendRecv))
            and not receiver.received
            and receiver.request.source == sender.number
        ):
            x = as_array(sender.number, type(sender.request).__name__, sender.request.x).copy()
            sender.sent, receiver.received, receiver.answer = True, True, x
            entries.append(Entry("send_recv", (sender.number, to), x.nbytes, float(x.nbytes), "direct"))
    went_on = []
    for rank in ranks:
        request = rank.request
        half_open = (isinstance(request, (Send, SendRecv)) and not rank.sent) or (
            isinstance(request, (Recv, SendRecv)) and not rank.received
        )
        if isinstance(request, (Send, Recv, SendRecv)) and not half_open:
            rank.go_on(rank.answer)
            went_on.append(rank.number)
    return went_on


def _stuck(ranks: list[_Rank]) -> str:
    waits = []
    for rank in ranks:
        request = rank.request
        if request is None:
            waits.append(_("rank {r} has finished").format(r=rank.number))
        elif isinstance(request, COLLECTIVES):
            group = _group(rank, len(ranks))
            shown = _("all ranks") if len(group) == len(ranks) else _("ranks {g}").format(g=", ".join(map(str, group)))
            more = [f"{name}={getattr(request, name)}" for name in ("axis", "root") if hasattr(request, name)]
            text = _("rank {r} waits in {op} with {group}").format(
                r=rank.number, op=type(request).__name__ + (f"({more[0]})" if more else ""), group=shown
            )
            waits.append(text)
        else:
            to = (
                _("to rank {r}").format(r=request.to) if isinstance(request, (Send, SendRecv)) and not rank.sent else ""
            )
            source = ""
            if isinstance(request, (Recv, SendRecv)) and not rank.received:
                source = _("from rank {r}").format(r=request.source)
            where = " ".join(word for word in (to, source) if word)
            waits.append(
                _("rank {r} waits in {op} {where}").format(r=rank.number, op=type(request).__name__, where=where)
            )
    shown = "; ".join(waits[:8]) + ("; …" if len(waits) > 8 else "")
    return _("The programs wait for each other for ever: {waits}.").format(waits=shown)
