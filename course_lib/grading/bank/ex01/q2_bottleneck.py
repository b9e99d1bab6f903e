"""Question 01.q2: the bottleneck of flows in a PCIe tree."""

from itertools import pairwise

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.question import Case, Misconception, Question


def _hops(path: list[str]) -> list[str]:
    return [f"{a}>{b}" for a, b in pairwise(path)]


def slowest_GBps(paths: list[list[str]], link_GBps: dict[str, float]) -> float:
    """Return the rate of the slowest flow: the least over all links of rate ÷ flows on it, each direction by itself."""
    used = [hop for path in paths for hop in _hops(path)]
    return min(link_GBps[hop] / used.count(hop) for hop in used)


def _undirected(paths: list[list[str]], link_GBps: dict[str, float]) -> float:
    used = [frozenset(hop) for path in paths for hop in pairwise(path)]
    rates = {frozenset(name.split(">")): rate for name, rate in link_GBps.items()}
    return min(rates[hop] / used.count(hop) for hop in used)


def _links_of(parents: dict[str, str], narrow: dict[str, float], rate: float) -> dict[str, float]:
    both = [(f"{a}>{b}", f"{b}>{a}", narrow.get(a, rate)) for a, b in parents.items()]
    return {name: value for up, down, value in both for name in (up, down)}


_BOX = {"gpu0": "sw0", "gpu1": "sw0", "gpu2": "sw1", "gpu3": "sw1", "nic0": "sw1", "sw0": "cpu", "sw1": "cpu"}


def _way(src: str, dst: str) -> list[str]:
    """Return the names on the way in the box, turning at the lowest part that both hang on."""
    up, down = ([end] for end in (src, dst))
    for chain in (up, down):
        while chain[-1] in _BOX:
            chain.append(_BOX[chain[-1]])
    turn = next(name for name in up if name in down)
    return up[: up.index(turn) + 1] + down[: down.index(turn)][::-1]


def _first_links_GBps(paths: list[list[str]], link_GBps: dict[str, float]) -> tuple[float, ...]:
    """Return what readings of "only one end" give: shared by all that cross the first or last link, or by those that start on it."""
    used, first, last = (
        [hop for path in paths for hop in _hops(path)[cut]] for cut in (slice(None), slice(1), slice(-1, None))
    )
    return tuple(
        min(link_GBps[hop] / hops.count(hop) for hop in end)
        for end, hops in ((first, used), (first, first), (last, used))
    )


def _shares_GBps(paths: list[list[str]], link_GBps: dict[str, float]) -> list[list[float]]:
    """Return for each flow what every link on its way has for it."""
    used = [hop for path in paths for hop in _hops(path)]
    return [[link_GBps[hop] / used.count(hop) for hop in _hops(path)] for path in paths]


def _added_times_GBps(paths: list[list[str]], link_GBps: dict[str, float]) -> tuple[float, float]:
    """Return the slowest flow if links were crossed one after the other, with their shares and with their whole rates."""
    shares = _shares_GBps(paths, link_GBps)
    whole = [[link_GBps[hop] for hop in _hops(path)] for path in paths]
    return tuple(min(1 / sum(1 / rate for rate in rates) for rates in way) for way in (shares, whole))


def _by_parts_GBps(paths: list[list[str]], link_GBps: dict[str, float]) -> float:
    """Return the slowest flow if all that pass a switch, a GPU or the CPU shared one rate there."""
    passed = [part for path in paths for part in path]
    return min(
        link_GBps[f"{a}>{b}"] / max(passed.count(a), passed.count(b)) for path in paths for a, b in pairwise(path)
    )


def _narrowest_by_most_GBps(paths: list[list[str]], link_GBps: dict[str, float]) -> float:
    used = [hop for path in paths for hop in _hops(path)]
    return min(link_GBps[hop] for hop in used) / max(used.count(hop) for hop in used)


def _flows(rng: np.random.Generator) -> list[Case]:
    ends = ["cpu", *(name for name in _BOX if not name.startswith("sw"))]
    fixed = [
        ([("gpu0", "gpu1")], {}),
        ([("cpu", "gpu0"), ("cpu", "gpu1")], {}),
        ([("gpu0", "cpu"), ("cpu", "gpu1")], {}),  # opposite directions share nothing
        ([("gpu0", "gpu1"), ("gpu2", "gpu3")], {}),
        ([("cpu", f"gpu{i}") for i in range(4)], {"sw1": 28.4}),
        ([("gpu0", "cpu"), ("gpu1", "cpu"), ("gpu2", "gpu3")], {"gpu2": 7.1}),
        ([("gpu0", "gpu2"), ("gpu1", "gpu3"), ("gpu2", "gpu0")], {}),
    ]
    cases = []
    for _unused in range(14):
        count = int(rng.integers(2, 7))
        pairs = [tuple(str(e) for e in rng.choice(ends, 2, replace=False)) for _i in range(count)]
        narrow = {str(name): float(rng.choice([7.2, 14.4, 28.8])) for name in rng.choice(list(_BOX), 2, replace=False)}
        fixed.append((pairs, narrow))
    for pairs, narrow in fixed:
        links = _links_of(_BOX, narrow, 57.6)
        cases.append(Case({"paths": [_way(*pair) for pair in pairs], "link_GBps": links}))
    return cases


q2 = Question(
    id="01.q2",
    title=_("The bottleneck of flows in a PCIe tree"),
    points=3,
    answer="slowest_GBps",
    kind="function",
    expects=Number("GB/s"),
    inputs=_flows,
    reference=slowest_GBps,
    withholds=("course_lib.links.pcietree", "course_lib.links.paths", "course_lib.fabric"),
    misconceptions=(
        Misconception(
            "the shared uplink counted once per flow",
            lambda paths, link_GBps: min(link_GBps[hop] for path in paths for hop in _hops(path)),
            _(
                "You gave every flow the whole rate of each link. A link that two flows cross in the same direction is there once, "
                "and each of them gets half of it."
            ),
        ),
        Misconception(
            "both directions share",
            _undirected,
            _(
                "You let the two directions of a link share one rate. A link has its own wires for each direction: a flow that climbs "
                "and one that comes down do not meet."
            ),
        ),
        Misconception(
            "divided by all flows",
            lambda paths, link_GBps: min(link_GBps[hop] for path in paths for hop in _hops(path)) / len(paths),
            _("You divided by the number of all flows. Only the flows that cross a link share it."),
        ),
        Misconception(
            "only the first link",
            lambda paths, link_GBps: _first_links_GBps(paths, link_GBps)[0],
            _(
                "You looked at one end of each flow only, its first link or its last. The bottleneck may be any link on its way."
            ),
            recognise=lambda given, **case: any(Number().same(given, wrong) for wrong in _first_links_GBps(**case)),
        ),
        Misconception(
            "links crossed one after the other",
            lambda paths, link_GBps: _added_times_GBps(paths, link_GBps)[0],
            _(
                "You add the times of the links on the way. A long copy is on all of them at once, so the narrowest share "
                "counts, and it alone."
            ),
            recognise=lambda given, **case: any(Number().same(given, wrong) for wrong in _added_times_GBps(**case)),
        ),
        Misconception(
            "a switch shared as a whole",
            _by_parts_GBps,
            _(
                "You count the flows that pass a switch or a GPU. Flows share a link, in one direction; a part they may share freely."
            ),
        ),
        Misconception(
            "the narrowest link by the most flows",
            _narrowest_by_most_GBps,
            _(
                "You divide the narrowest rate by the largest count. They may belong to two links: divide the rate of each "
                "link by its own flows."
            ),
        ),
        Misconception(
            "the fastest flow",
            lambda paths, link_GBps: max(map(min, _shares_GBps(paths, link_GBps))),
            _("That is the fastest flow. The slowest is asked for."),
        ),
        Misconception(
            "all flows together",
            lambda paths, link_GBps: sum(map(min, _shares_GBps(paths, link_GBps))),
            _("You add up the rates of all flows. That of the slowest is asked for."),
        ),
    ),
)
