"""How far a prediction can be trusted: the sizes and ranks that were measured, and whose constants were used."""

import functools
from dataclasses import dataclass

import numpy as np

from course_lib.base.language import _
from course_lib.timing import constants
from course_lib.timing.sweeps import sweeps
from course_lib.timing.system import System


@dataclass(frozen=True, slots=True)
class Valid:
    """Whether all of the question is inside what was measured; the ranges of that (None: nothing was); why."""

    inside: bool
    message_B: tuple[float, float] | None
    n_ranks: tuple[int, int] | None
    reason: str


@functools.cache
def measured(kind: str, family: str, op: str | None) -> tuple[float, float, int, int, int] | None:
    """Return (least and most bytes, least and most ranks, systems) of the sweeps of a family, of one op or of all.

    >>> measured("up", "nvlink4-switch", "all_reduce")[2:4]
    (2, 8)
    """
    mine = [
        s
        for s in sweeps()
        if s.family == family and s.inside == (kind == "up") and (op is None or s.op == op) and not s.flag
    ]
    if not mine:
        return None
    ranks = [s.n_ranks for s in mine]
    sizes = np.concatenate([s.message_B for s in mine])
    return float(sizes.min()), float(sizes.max()), min(ranks), max(ranks), len({s.measured_on for s in mine})


def validity(op: str, system: System, n: int, n_hosts: int, sizes, *, ideal: bool, forced: str | None) -> Valid:
    """Say how far a prediction can be trusted.

    >>> from course_lib.timing.system import load
    >>> validity("all_reduce", load("dgx-h100"), 8, 1, 2.0**30, ideal=False, forced=None).inside
    True
    """
    if ideal:
        return Valid(True, (0.0, float("inf")), (1, system.n_max), _("α–β of the system alone; nothing is fitted."))
    inside = n_hosts <= system.hosts_per_domain
    kind, family = ("up", system.scale_up.family) if inside else ("net", system.scale_out.family)
    seen, said = measured(kind, family, op), []
    anything = seen is not None
    if n == 1:
        said.append(_("One rank has nobody to talk to."))
    if seen is None:
        seen = measured(kind, family, None)
        if seen is None:
            said.append(_("No sweep of the family {family} was found: its starting values.").format(family=family))
        else:
            text = _("No sweep of {op} over {family}: constants of its other collectives.")
            said.append(text.format(op=op, family=family))
    if system.borrows:
        said.append(_("Constants borrowed from: {families}.").format(families=system.borrows))
    if forced:
        said.append(_("{algorithm} is forced; sweeps measured the library's own choice.").format(algorithm=forced))
    if not inside and system.scale_up.family not in constants.families("up"):
        said.append(_("Inside a host the family {family} was not measured.").format(family=system.scale_up.family))
    if seen is None:
        return Valid(False, None, None, " ".join(said))
    low, high, few, many, systems = seen
    m = np.asarray(sizes)
    sizes_ok = bool(m.size == 0 or ((m >= low) & (m <= high)).all())
    ranks_ok = few <= n <= many
    if n > 1 and bool(((m > 0) & (m < n)).any()):
        said.append(_("Fewer bytes than ranks: all of it is latency, a bandwidth says nothing."))
    if not sizes_ok:
        said.append(_("Measured sizes are {low:.0f} to {high:.0f} B.").format(low=low, high=high))
    if not ranks_ok:
        said.append(_("Measured ranks are {few} to {many}.").format(few=few, many=many))
    if not said:
        text = _("Fitted on {systems} systems of the family {family}.")
        if systems == 1:
            text = _("Fitted on one system of the family {family}.")
        said.append(text.format(systems=systems, family=family))
    fits = anything and sizes_ok and ranks_ok and not forced and not system.borrows
    return Valid(fits, (low, high), (few, many), " ".join(said))
