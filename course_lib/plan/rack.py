"""Where a GPU sits and who fails with it: hosts, trays, scale-up domains, and what is left of jobs after a loss.

A tray of a rack is one host (one operating system) of several GPUs; a domain is the hosts that share one scale-up fabric. In a box
of eight, host and domain are the same. GPUs are numbered from 0 in the order of hosts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.timing.system import System, load

REACH = ("same GPU", "same host", "same domain", "network")


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a GPU sits: its host (of all), its number in it, its domain (of all) and the host's number in the domain (the tray)."""

    gpu: int
    host: int
    local: int
    domain: int
    tray: int


def seat(gpu: int, system: "str | System" = "gb200-nvl72") -> Seat:
    """Return where a GPU of a system sits.

    >>> seat(70), seat(70, "dgx-b200").domain
    (Seat(gpu=70, host=17, local=2, domain=0, tray=17), 8)
    """
    place = load(system)
    gpu = whole("gpu", gpu, at_least=0, at_most=place.n_max - 1)
    host, local = divmod(gpu, place.gpus_per_host)
    domain, tray = divmod(host, place.hosts_per_domain)
    return Seat(gpu, host, local, domain, tray)


def reach(a: int, b: int, system: "str | System" = "gb200-nvl72") -> str:
    """Return how two GPUs reach each other: "same GPU", "same host", "same domain" or "network".

    >>> reach(3, 4), reach(3, 4, "dgx-b200"), reach(71, 72)
    ('same domain', 'same host', 'network')
    """
    one, two = seat(a, system), seat(b, system)
    if one.gpu == two.gpu:
        return REACH[0]
    if one.host == two.host:
        return REACH[1]
    return REACH[2] if one.domain == two.domain else REACH[3]


@dataclass(frozen=True, slots=True)
class Job:
    """A job: the GPUs that it has, and how many of them make one whole (a copy of the model, an expert-parallel group)."""

    name: str
    gpus: tuple[int, ...]
    unit: int

    def __post_init__(self):
        """Refuse a job that has not GPUs enough for one unit, or one GPU twice."""
        unit = whole("unit", self.unit, at_least=1)
        if len(set(self.gpus)) != len(self.gpus):
            raise CourseError(_("{name} names a GPU twice.").format(name=self.name))
        if len(self.gpus) < unit:
            raise CourseError(
                _("{name} has {n} GPUs and one unit of it needs {unit}.").format(
                    name=self.name, n=len(self.gpus), unit=unit
                )
            )


@dataclass(frozen=True, slots=True)
class After:
    """A job after a loss: GPUs in use before (whole units), GPUs lost, GPUs that it can use again, and GPUs left over."""

    name: str
    before: int
    lost: int
    used: int
    spare: int

    @property
    def outcome(self) -> str:
        """ "runs on" (nothing lost), "restarts" (as large as before), "shrinks" or "stops"."""
        if not self.lost:
            return "runs on"
        if not self.used:
            return "stops"
        return "shrinks" if self.used < self.before else "restarts"


def after_loss(jobs: Sequence[Job], hosts: Sequence[int], system: "str | System" = "gb200-nvl72") -> list[After]:
    """Return what becomes of jobs when hosts (by their number among all) are lost: only whole units restart.

    GPUs of a job may be put together anew, since any two of a domain reach each other alike; other jobs' GPUs are not taken.

    >>> jobs = [Job("one copy", tuple(range(72)), 64), Job("small", tuple(range(72, 80)), 4)]
    >>> [(a.used, a.spare, a.outcome) for a in after_loss(jobs, [0])]
    [(64, 4, 'restarts'), (8, 0, 'runs on')]
    """
    place = load(system)
    dead = {whole("host", h, at_least=0, at_most=place.hosts - 1) for h in hosts}
    found, taken = [], set()
    for job in jobs:
        if taken & set(job.gpus):
            raise CourseError(_("{name} has a GPU that another job has too.").format(name=job.name))
        taken |= set(job.gpus)
        lost = sum(seat(g, place).host in dead for g in job.gpus)
        left = len(job.gpus) - lost
        used = left // job.unit * job.unit
        found.append(After(job.name, len(job.gpus) // job.unit * job.unit, lost, used, left - used))
    return found
