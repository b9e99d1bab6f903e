"""Question 13.q5: who reaches whom."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from course_lib.base.language import _
from course_lib.cluster import tenants
from course_lib.grading.answers import Choice
from course_lib.grading.bank.ex13.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question

WAYS = ("NVLink", "network", "nobody")


def way(
    keys_a: Sequence[int], keys_b: Sequence[int], domain_a: int, domain_b: int, partition_a: int, partition_b: int
) -> str:
    """Return the quickest way from GPU a to GPU b: "NVLink", "network" or "nobody".

    >>> way([0x8001], [0x8002], 0, 0, 0, 0), way([0x0005], [0x8005], 0, 1, 0, 0), way([0x0005], [0x0005], 0, 1, 0, 0)
    ('NVLink', 'network', 'nobody')
    """
    found = tenants.reach([list(keys_a), list(keys_b)], [domain_a, domain_b], [partition_a, partition_b])
    return tenants.WAYS[int(found.way[0, 1])]


def _way_cases(rng: np.random.Generator) -> list[Case]:
    names = ("keys_a", "keys_b", "domain_a", "domain_b", "partition_a", "partition_b")
    rows = [
        ([0x8001], [0x8002], 0, 0, 0, 0),  # keys differ, one NVLink partition
        ([0x8001], [0x8001], 0, 0, 0, 1),  # keys agree, NVLink parted
        ([0x8001], [0x8001], 0, 1, 0, 0),  # two racks whose partitions have the same number
        ([0x0001], [0x0001], 0, 1, 0, 0),  # two limited members
        ([0x8001], [0x0001], 0, 1, 0, 0),  # a full and a limited one
        ([0x0001], [0x8001], 1, 0, 2, 2),
        ([0x8001], [0x8002], 0, 1, 0, 0),
        ([], [0xFFFF], 0, 1, 0, 0),
        ([], [], 3, 3, 1, 1),
        ([0x0001, 0x8002], [0x0002, 0x8003], 0, 1, 0, 0),
        ([0x0001, 0x0002], [0x0002, 0x0001], 0, 1, 0, 0),
        ([0x7FFF], [0xFFFF, 0x8004], 0, 0, 0, 5),
        ([0x0001, 0x8002], [0x0001, 0x8003], 0, 1, 0, 0),  # limited in what they share, full elsewhere
        ([0x8101], [0x8201], 0, 1, 0, 0),  # partitions whose last bits agree
        ([0x8002, 0x0001], [0x8001], 0, 1, 0, 0),  # the second key is the one
        ([0x8001], [0x8001], 2, 2, 4, 4),  # both ways lead there
    ]
    pool = [0x0001, 0x8001, 0x0002, 0x8002, 0x0003, 0x8003]
    for _unused in range(16):
        a, b = ([int(k) for k in rng.choice(pool, size=int(rng.integers(0, 3)), replace=False)] for _i in range(2))
        rows.append((a, b, *(int(v) for v in rng.integers(0, 2, 4))))
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _talk(a: Sequence[int], b: Sequence[int]) -> bool:
    return any(x & 0x7FFF == y & 0x7FFF and (x | y) & 0x8000 for x in a for y in b)


def _ways(
    network: Callable[[Sequence[int], Sequence[int]], bool] = _talk,
    nvlink: Callable[[Mapping], bool] = lambda g: (
        g["domain_a"] == g["domain_b"] and g["partition_a"] == g["partition_b"]
    ),
) -> Callable[..., str]:
    """Return a learner's function from a rule for each fabric."""

    def wrong(**given: object) -> str:
        over = network(given["keys_a"], given["keys_b"])
        return "NVLink" if nvlink(given | {"over": over}) else "network" if over else "nobody"

    return wrong


q5 = Question(
    id="13.q5",
    title=_("Who reaches whom"),
    points=2,
    answer="way",
    kind="function",
    expects=Choice(WAYS),
    inputs=_way_cases,
    reference=way,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "a partition key isolates NVLink",
            _ways(
                nvlink=lambda g: g["over"] and g["domain_a"] == g["domain_b"] and g["partition_a"] == g["partition_b"]
            ),
            _(
                "You let partition keys decide about NVLink. Its traffic passes no card and no InfiniBand switch: keys do not enter."
            ),
        ),
        Misconception(
            "NVLink across racks",
            _ways(nvlink=lambda g: g["partition_a"] == g["partition_b"]),
            _("You compare NVLink partitions of different domains. A partition lies within one domain."),
        ),
        Misconception(
            "NVLink partitions ignored",
            _ways(nvlink=lambda g: g["domain_a"] == g["domain_b"]),
            _("You let all GPUs of a domain reach each other. NVLink partitions part a domain."),
        ),
        Misconception(
            "no network within a domain",
            lambda **given: (
                way(**given)
                if given["domain_a"] != given["domain_b"] or given["partition_a"] == given["partition_b"]
                else "nobody"
            ),
            _("You look no further where NVLink partitions part a domain. Over the network the two may still meet."),
        ),
        Misconception(
            "the network first",
            lambda **given: "network" if _talk(given["keys_a"], given["keys_b"]) else way(**given),
            _("You name the network where NVLink leads there, too. The quickest way is asked for."),
        ),
        Misconception(
            "full in another partition",
            _ways(
                network=lambda a, b: (
                    any(x & 0x7FFF == y & 0x7FFF for x in a for y in b) and any(x & 0x8000 for x in (*a, *b))
                )
            ),
            _("You let a full membership of any partition count. It has to be in the partition that both share."),
        ),
        Misconception(
            "limited members talk",
            _ways(network=lambda a, b: any(x & 0x7FFF == y & 0x7FFF for x in a for y in b)),
            _("You let two limited members talk. At least one of the two has to be a full member."),
        ),
        Misconception(
            "both have to be full",
            _ways(network=lambda a, b: any(x == y and x & 0x8000 for x in a for y in b)),
            _("You ask both to be full members, or always the same one. One of the two is enough, whichever."),
        ),
        Misconception(
            "two full members refused",
            _ways(network=lambda a, b: any(x & 0x7FFF == y & 0x7FFF and (x ^ y) & 0x8000 for x in a for y in b)),
            _("You want one full member and one limited. Two full members talk as well."),
        ),
        Misconception(
            "first keys only",
            _ways(network=lambda a, b: _talk(a[:1], b[:1])),
            _("You compare the first keys only. A port may hold several, and any two that fit are enough."),
        ),
        Misconception(
            "sixteen bits compared",
            _ways(network=lambda a, b: bool(set(a) & set(b))),
            _(
                "You compare all 16 bits of the keys. The top bit is the membership, and a full member meets a limited one."
            ),
        ),
    ),
)
