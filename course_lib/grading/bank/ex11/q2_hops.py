"""Question 11.q2: hops of a ring."""

from collections.abc import Sequence

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.bank.ex11.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def _hops(
    order: Sequence[int],
    per_host: int,
    hosts_per_leaf: int,
    *,
    closed: bool = True,
    blocks: bool = True,
    rails: bool = True,
    in_gpus: bool = False,
) -> dict[str, int]:
    found = {"nvlink": 0, "leaf": 0, "spine": 0}
    following = [*order[1:], order[0]] if closed else order[1:]
    for a, b in zip(order, following):  # an open ring is one shorter
        host_a, host_b = a // per_host, b // per_host
        leaf_a, leaf_b = (x // hosts_per_leaf for x in ((a, b) if in_gpus else (host_a, host_b)))
        if host_a == host_b:
            found["nvlink"] += 1
        elif (a % per_host == b % per_host or not rails) and (leaf_a == leaf_b or not blocks):
            found["leaf"] += 1
        else:
            found["spine"] += 1
    return found


def hops(order: Sequence[int], per_host: int, hosts_per_leaf: int) -> dict[str, int]:
    """Return how many hops of a ring stay on NVLink, under one leaf, or climb to a spine.

    >>> hops([0, 8, 16, 24], 8, 2)
    {'nvlink': 0, 'leaf': 2, 'spine': 2}
    """
    return _hops(order, per_host, hosts_per_leaf)


def _hops_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        ([0, 8, 16, 24], 8, 4, "rail-aligned"),
        ([0, 8, 16, 24], 8, 2, "rail-aligned"),
        (list(range(16)), 8, 4, "rail-aligned"),
        ([0, 9, 18, 27], 8, 4, "random"),
        ([0, 1, 9, 8], 8, 4, "random"),
        ([3, 12, 4, 20, 60, 61], 8, 4, "random"),
    ]
    for _i in range(4):
        per, leaf = int(rng.choice([4, 8])), int(rng.choice([2, 4, 8]))
        hosts = leaf * int(rng.integers(2, 4))
        rail = int(rng.integers(per))
        rows.append(([h * per + rail for h in range(hosts)], per, leaf, "rail-aligned"))
        some = rng.permutation(hosts * per)[: int(rng.integers(6, hosts * per))]
        rows.append((some.tolist(), per, leaf, "random"))
    names = ("order", "per_host", "hosts_per_leaf")
    return [Case(dict(zip(names, row[:3], strict=True)), row[3]) for row in rows]


q2 = Question(
    id="11.q2",
    title=_("Rail-aligned or random: where a ring's hops go"),
    points=2,
    answer="hops",
    kind="function",
    expects=Entries(Number(whole=True), each=False),
    inputs=_hops_cases,
    reference=hops,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "a rail is one switch",
            lambda order, per_host, hosts_per_leaf: _hops(order, per_host, hosts_per_leaf, blocks=False),
            _("You keep every hop between equal numbers under one leaf. A leaf ends after hosts_per_leaf hosts."),
        ),
        Misconception(
            "a leaf for a group of hosts",
            lambda order, per_host, hosts_per_leaf: _hops(order, per_host, hosts_per_leaf, rails=False),
            _(
                "You plug all cards of a host into one leaf. On rails card i of each host is on leaf i: another number, another leaf."
            ),
        ),
        Misconception(
            "the ring left open",
            lambda order, per_host, hosts_per_leaf: _hops(order, per_host, hosts_per_leaf, closed=False),
            _("You leave the ring open. The last sends to the first: n GPUs make n hops."),
        ),
        Misconception(
            "NVLink taken for the leaf",
            lambda order, per_host, hosts_per_leaf: _through_leaf(order, per_host, hosts_per_leaf),
            _("You send through the network what stays in a host. Two GPUs of one host use NVLink."),
        ),
        Misconception(
            "places for GPUs",
            lambda order, per_host, hosts_per_leaf: _hops(list(range(len(order))), per_host, hosts_per_leaf),
            _("You look at the places in the list. The numbers in it are the GPUs."),
        ),
        Misconception(
            "GPUs for hosts",
            lambda order, per_host, hosts_per_leaf: _hops(order, per_host, hosts_per_leaf, in_gpus=True),
            _("You let a leaf end after hosts_per_leaf GPUs. It serves so many hosts, each with all of its GPUs."),
        ),
    ),
)


def _through_leaf(order: Sequence[int], per_host: int, hosts_per_leaf: int) -> dict[str, int]:
    right = hops(order, per_host, hosts_per_leaf)
    return {"nvlink": 0, "leaf": right["leaf"] + right["nvlink"], "spine": right["spine"]}
