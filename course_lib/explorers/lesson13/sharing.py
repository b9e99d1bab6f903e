"""Lesson 13: two designs ranked by a benchmark and by a mix, and two tenants of one rack."""

from course_lib.base import hardware
from course_lib.base.language import _
from course_lib.cluster import loadmix, tenants
from course_lib.fabric.scaleout import cluster as joined
from course_lib.fabric.scaleup import nvswitch_box
from course_lib.figures import paying, watching

DESIGNS = {_("B200, two cards"): ("dgx-b200", 2), _("H100, eight cards"): ("dgx-h100", 8)}


def designs() -> dict:
    """Return the two designs that the lesson ranks, by name.

    >>> [d.scale_out.nics_per_host for d in designs().values()]
    [2, 8]
    """
    return {name: loadmix.variant(system, name, cards=cards) for name, (system, cards) in DESIGNS.items()}


def ranking(mix: str = "expert training", neighbours: float = 0.0, lateness_s: float = 0.0) -> loadmix.Ranking:
    """Return both rankings of the two designs.

    >>> ranking().wins_benchmark, ranking().wins_mix
    ('B200, two cards', 'H100, eight cards')
    """
    return loadmix.rank(designs(), loadmix.mix(mix), neighbours=neighbours, lateness_s=lateness_s)


def ranking_picture(mix: str = "expert training"):
    """Return both rankings as a figure.

    >>> len(ranking_picture().data)
    2
    """
    r = ranking(mix)
    return paying.two_rankings(r.benchmark_Bps, r.mix_s, mix=_(mix))


OWNERS = (0, 0, 0, 0, 1, 1, 1, 1)
NAMES = ("a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3")


def two_tenants(nvlink_partitions: bool = False) -> tenants.Reach:
    """Return who reaches whom among eight GPUs of one rack: two tenants with a partition key each.

    >>> len(tenants.leaks(OWNERS, two_tenants())), len(tenants.leaks(OWNERS, two_tenants(True)))
    (16, 0)
    """
    keys = [[tenants.partition_key(1 + owner)] for owner in OWNERS]
    return tenants.reach(keys, [0] * 8, OWNERS if nvlink_partitions else None)


def reach_picture(nvlink_partitions: bool = False):
    """Return that as a figure.

    >>> "16 of 16" in reach_picture().layout.title.text
    True
    """
    return watching.reach(NAMES, two_tenants(nvlink_partitions).way, OWNERS)


def slowed(choice: str = "adaptive") -> dict[str, dict[str, float]]:
    """Return who slows whom on a small fabric tapered 4 to 1: two jobs with keys of their own, one of them noisy.

    >>> slowed()["quiet"]["noisy"] > 2
    True
    """
    link = hardware.record("nvlink4")
    box = nvswitch_box("h100", 8, [int(link["links"])], link["link_Bps"])
    pod = joined(box, 8, oversubscription=4.0, radix=16, attach="leaf")
    flows = {"quiet": [(0, 16)], "noisy": [(k, 16 + k) for k in range(1, 5)]}
    return tenants.slowdowns(pod, flows, choice=choice)
