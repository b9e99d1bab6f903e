"""Question 12.q2: rank order, and which group crosses the card."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries
from course_lib.grading.question import Case, Misconception, Question


def crossing(order: list[str], sizes: dict[str, int], per_host: int) -> dict[str, str]:
    """Return for every axis whether its groups stay in a host, cross the network, or have one rank.

    >>> crossing(["tensor", "data", "pipeline"], {"tensor": 8, "data": 4, "pipeline": 2}, 8)
    {'tensor': 'host', 'data': 'network', 'pipeline': 'network'}
    """
    found, stride = {}, {}
    total = 1
    for axis in order:
        stride[axis] = total
        total *= sizes[axis]
    ranks = np.arange(total)
    for axis in order:
        if sizes[axis] == 1:
            found[axis] = "alone"
            continue
        group = ranks - ranks // stride[axis] % sizes[axis] * stride[axis]
        host = ranks // per_host
        crosses = any(len(set(host[group == g].tolist())) > 1 for g in np.unique(group))
        found[axis] = "network" if crosses else "host"
    return found


def _crossing_cases(rng: np.random.Generator) -> list[Case]:
    axes = ("tensor", "data", "pipeline")
    rows = [
        (["tensor", "data", "pipeline"], (1, 1, 1), 8),
        (["tensor", "data", "pipeline"], (8, 1, 1), 8),
        (["tensor", "data", "pipeline"], (4, 2, 4), 8),
        (["data", "tensor", "pipeline"], (8, 4, 2), 8),
        (["pipeline", "tensor", "data"], (2, 4, 4), 8),
        (["tensor", "data", "pipeline"], (16, 2, 2), 8),
        (["tensor", "data", "pipeline"], (6, 4, 2), 8),
        (["tensor", "pipeline", "data"], (16, 4, 2), 72),
        (["tensor", "data", "pipeline"], (3, 2, 1), 8),  # six ranks, all in the first host
    ]
    for _unused in range(6):
        sizes = tuple(int(v) for v in 2 ** rng.integers(0, 5, 3))
        rows.append(([axes[i] for i in rng.permutation(3)], sizes, int(rng.choice([4, 8, 16]))))
    return [
        Case({"order": order, "sizes": dict(zip(axes, sizes, strict=True)), "per_host": host})
        for order, sizes, host in rows
    ]


def _by_size(order, sizes, per_host):
    """Looks at the size of a group only."""
    return {a: "alone" if sizes[a] == 1 else "host" if sizes[a] <= per_host else "network" for a in order}


def _tensor_inside(order, sizes, per_host):
    """Tensor ranks always sit together."""
    return crossing(["tensor", *[a for a in order if a != "tensor"]], sizes, per_host)


def _slowest_first(order, sizes, per_host):
    """Reads the order from the wrong end."""
    right = crossing(order[::-1], sizes, per_host)
    return {a: right[a] for a in order}


def _starts_inside(order, sizes, per_host):
    """Looks at the first group of each kind only."""
    found, stride = {}, 1
    for a in order:
        found[a] = "alone" if sizes[a] == 1 else "host" if (sizes[a] - 1) * stride < per_host else "network"
        stride *= sizes[a]
    return found


def _by_stride(order, sizes, per_host):
    """Looks at the first two ranks of a group."""
    found, stride = {}, 1
    for a in order:
        found[a] = "alone" if sizes[a] == 1 else "host" if stride < per_host else "network"
        stride *= sizes[a]
    return found


def _dividing(order, sizes, per_host):
    """A group's span has to divide the host."""
    found, stride = {}, 1
    for a in order:
        stride *= sizes[a]
        found[a] = "alone" if sizes[a] == 1 else "network" if per_host % stride else "host"
    return found


q2 = Question(
    id="12.q2",
    title=_("Rank order, and which group crosses the card"),
    points=2,
    answer="crossing",
    kind="function",
    expects=Entries(Choice(("host", "network", "alone")), each=False),
    inputs=_crossing_cases,
    reference=crossing,
    withholds=(
        "course_lib.plan.grid.spans",
        "course_lib.plan.reach.reach",
        "course_lib.plan.grid.Layout",
        "course_lib.plan.picked",
        "course_lib.explorers.lesson12",
    ),
    misconceptions=(
        Misconception(
            "by the size of the group",
            _by_size,
            _(
                "You compare the size of a group with a host. Its ranks are a stride apart: neighbours of a "
                "slow axis sit in different hosts."
            ),
        ),
        Misconception(
            "tensor ranks always sit together",
            _tensor_inside,
            _("You let tensor ranks be neighbours whatever the order says. They are only if their axis comes first."),
        ),
        Misconception(
            "order from the wrong end",
            _slowest_first,
            _("You read the order from its end. The first axis is the fastest: its ranks are neighbours."),
        ),
        Misconception(
            "the first group stands for all",
            _starts_inside,
            _("You look at the first group only. A later one may begin in one host and end in the next."),
        ),
        Misconception(
            "the next rank stands for the last",
            _by_stride,
            _("You compare the stride with a host. The last rank of a group is size − 1 strides away."),
        ),
        Misconception(
            "spans that do not divide a host",
            _dividing,
            _(
                "You send every group over the network whose span does not divide a host. A few ranks may all lie in one."
            ),
        ),
    ),
)
