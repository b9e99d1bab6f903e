"""Question 03.q2: the bisection of a mesh."""

from itertools import combinations

import numpy as np

from course_lib.base.language import _
from course_lib.fabric.scaleup import CUBE_P100, CUBE_V100
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex03.machines import LINK_GBps, link_table, renumbered, some_links
from course_lib.grading.question import Case, Misconception, Question


def _cuts(links: list) -> list[float]:
    """Return the links that cross each halving, one direction; the first half in number order comes first."""
    table = np.array(links)
    n = len(table)
    sums = []
    for side in combinations(range(n), n // 2):
        inside = np.isin(np.arange(n), side)
        sums.append(float(table[inside][:, ~inside].sum()))
    return sums


def _any_cut(links: list) -> tuple[float, float]:
    """Return the fewest links that cut off one GPU, and any number of GPUs."""
    table, n = np.array(links), len(links)
    sides = [np.isin(np.arange(n), side) for k in range(1, n) for side in combinations(range(n), k)]
    return float(table.sum(1).min()), float(min(table[side][:, ~side].sum() for side in sides))


def bisection_GBps(links: list, link_GBps: float) -> float:
    """Return the least that any half of the GPUs can send to the other half, in GB/s, one direction."""
    return min(_cuts(links)) * link_GBps


def _halving_cases(rng: np.random.Generator) -> list[Case]:
    ring = link_table(6, [(0, 3, 1), (3, 1, 1), (1, 5, 1), (5, 2, 1), (2, 4, 1), (4, 0, 1)])
    fixed = [
        (link_table(2, [(0, 1, 4)]), 25.0),
        (link_table(4, [(0, 1, 3), (2, 3, 3)]), 25.0),
        (link_table(4, [(a, b, 4) for a, b in combinations(range(4), 2)]), 25.0),
        (ring, 50.0),
        (link_table(8, CUBE_P100), 20.0),
        (renumbered(rng, link_table(8, CUBE_V100)), LINK_GBps),
        (link_table(8, [(a, b, 1) for a, b in combinations(range(8), 2)]), 64.0),
    ]
    drawn = [(some_links(rng, int(2 * rng.integers(2, 5)), 3), float(rng.integers(18, 51))) for _unused in range(6)]
    return [Case({"links": links, "link_GBps": rate}) for links, rate in fixed + drawn]


q2 = Question(
    id="03.q2",
    title=_("The bisection of a mesh"),
    points=3,
    answer="bisection_GBps",
    kind="function",
    expects=Number("GB/s", tolerance=0.005),
    inputs=_halving_cases,
    reference=bisection_GBps,
    withholds=("course_lib.fabric.cuts",),
    misconceptions=(
        Misconception(
            "aggregate for bisection",
            lambda links, link_GBps: float(np.sum(links)) * link_GBps,
            _("You add up the links of all GPUs: that is the aggregate. Only links that cross the cut count."),
        ),
        Misconception(
            "both directions",
            lambda links, link_GBps: 2 * bisection_GBps(links, link_GBps),
            _("You count both directions over the cut. One half sends, the other receives: one direction."),
        ),
        Misconception(
            "half of the aggregate",
            lambda links, link_GBps: float(np.sum(links)) * link_GBps / 2,
            _(
                "You halve the aggregate: what half of the GPUs can send. In a mesh many of those links end in the same half."
            ),
        ),
        Misconception(
            "halves in number order",
            lambda links, link_GBps: _cuts(links)[0] * link_GBps,
            _(
                "You cut between the first half of the numbers and the second. The bisection is the least over all halves."
            ),
        ),
        Misconception(
            "the mean over all halves",
            lambda links, link_GBps: float(np.mean(_cuts(links))) * link_GBps,
            _("You take the mean over all ways to halve the machine. The bisection is the worst of them."),
        ),
        Misconception(
            "the widest cut",
            lambda links, link_GBps: max(_cuts(links)) * link_GBps,
            _("You take the half that can send most. The bisection is the least over all halves."),
        ),
        Misconception(
            "a cut that is no half",
            lambda links, link_GBps: _any_cut(links)[0] * link_GBps,
            _("You cut off a single GPU, or any number of them. A bisection has half of the GPUs on each side."),
            recognise=lambda given, links, link_GBps: any(
                Number("GB/s").same(given, cut * link_GBps) for cut in _any_cut(links)
            ),
        ),
        Misconception(
            "pairs for links",
            lambda links, link_GBps: min(_cuts(np.minimum(links, 1).tolist())) * link_GBps,
            _("You count the pairs that the cut parts. A pair has as many links as the table says."),
        ),
        Misconception(
            "links without their rate",
            lambda links, link_GBps: min(_cuts(links)),
            _("That is a number of links. Each of them carries link_GBps."),
        ),
    ),
)
