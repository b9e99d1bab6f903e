"""Question 01.q4: what ACS takes away, pair by pair."""

from itertools import combinations

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Plain
from course_lib.grading.question import Misconception, Question

_NAMES = ("CPU 0", "CPU 1", "top", "left", "right", "switch 4", "switch 5")
_PARENT = (-1, -1, 0, 2, 2, 1, 1)
_SLOTS = (3, 3, 4, 4, 5, 5, 6, 6)


def _machine(rng: np.random.Generator) -> dict:
    """Return this learner's machine: eight GPUs in a random order of slots, and the switches with ACS."""
    order = [int(g) for g in rng.permutation(8)]
    names = [*_NAMES, *(f"GPU {g}" for g in order)]
    kinds = ["root", "root", *["switch"] * 5, *["gpu"] * 8]
    acs = ["top", str(rng.choice(["left", "right"])), str(rng.choice(["switch 4", "switch 5"]))]
    return {"names": names, "kinds": kinds, "parent": [*_PARENT, *_SLOTS], "acs": acs}


def _turns(names, kinds, parent) -> dict[tuple[int, int], str | None]:
    """Return for each pair of GPUs (smaller number first) the name of the part where its flow turns; None between sockets."""
    chains = {}
    for i, kind in enumerate(kinds):
        if kind == "gpu":
            chain, above = [], parent[i]
            while above >= 0:
                chain, above = [*chain, names[above]], parent[above]
            chains[int(names[i].split()[-1])] = chain
    return {(a, b): next((n for n in chains[a] if n in chains[b]), None) for a, b in combinations(sorted(chains), 2)}


def lost(names, kinds, parent, acs) -> list[tuple[int, int]]:
    """Return the pairs whose flow turns in a switch with ACS."""
    return [pair for pair, turn in _turns(names, kinds, parent).items() if turn in acs]


def _below(names, kinds, parent, acs) -> list[tuple[int, int]]:
    """Return the pairs of which both GPUs hang, near or far, below the same switch with ACS."""
    found = []
    for pair in _turns(names, kinds, parent):
        chains = []
        for gpu in pair:
            above, chain = parent[names.index(f"GPU {gpu}")], []
            while above >= 0:
                chain, above = [*chain, names[above]], parent[above]
            chains.append(chain)
        if any(name in acs for name in chains[0] if name in chains[1]):
            found.append(pair)
    return found


def _is_pairs(given) -> bool:
    return type(given) in (list, tuple) and all(
        type(pair) in (list, tuple) and len(pair) == 2 and all(type(g) is int for g in pair) for pair in given
    )


def _as_set(pairs) -> set[tuple[int, int]]:
    return {tuple(sorted(pair)) for pair in pairs}


def _accept(given, names, kinds, parent, acs) -> str:
    pairs, right = _as_set(given), set(lost(names, kinds, parent, acs))
    known = set(_turns(names, kinds, parent))
    if strange := sorted(pairs - known):
        return _("{pair} is no pair of two GPUs of this machine.").format(pair=strange[0])
    if pairs == right:
        return ""
    wrong, missing = sorted(pairs - right), sorted(right - pairs)
    if wrong:
        return _("{pair} does not lose a direct path. Where does its flow turn?").format(pair=wrong[0])
    return _("{n} of the pairs that lose their direct path are missing.").format(n=len(missing))


def _wrong_pairs(name: str, wrong, sentence: str) -> Misconception:
    return Misconception(name, wrong, sentence, recognise=lambda given, **m: _as_set(given) == set(wrong(**m)))


q4 = Question(
    id="01.q4",
    title=_("What ACS takes away"),
    points=2,
    answer="lost_pairs",
    expects=Plain(_("a list of pairs of GPU numbers such as [(0, 1), (2, 5)]"), fits=_is_pairs),
    parameters=_machine,
    reference=lost,
    accept=_accept,
    misconceptions=(
        _wrong_pairs(
            "below instead of at",
            _below,
            _(
                "You named every pair below a switch with ACS. ACS acts where a flow turns: a pair that turns in a lower switch "
                "without ACS never comes by."
            ),
        ),
        _wrong_pairs(
            "all pairs",
            lambda **m: list(_turns(m["names"], m["kinds"], m["parent"])),
            _(
                "You named all pairs. Pairs on two sockets, or under two ports of a CPU, had no direct path to lose, "
                "and others keep theirs."
            ),
        ),
        _wrong_pairs(
            "pairs that keep it",
            lambda **m: [
                pair
                for pair, turn in _turns(m["names"], m["kinds"], m["parent"]).items()
                if turn is not None and not turn.startswith("CPU") and turn not in m["acs"]
            ],
            _("You named the pairs that keep their direct path. Those that lose it are asked for."),
        ),
        _wrong_pairs(
            "only one switch between",
            lambda **m: [pair for pair in lost(**m) if _turns(m["names"], m["kinds"], m["parent"])[pair] != "top"],
            _(
                "You named only pairs that hang on the same switch. Pairs that meet in the switch above them had a direct path, too."
            ),
        ),
        _wrong_pairs(
            "pairs through the CPU",
            lambda **m: [
                pair
                for pair, turn in _turns(m["names"], m["kinds"], m["parent"]).items()
                if turn is None or turn.startswith("CPU")
            ],
            _(
                "You named the pairs that pass a CPU. They did so before, with ACS off: they have no direct path to lose."
            ),
        ),
        _wrong_pairs(
            "every direct path",
            lambda **m: [
                pair
                for pair, turn in _turns(m["names"], m["kinds"], m["parent"]).items()
                if turn is not None and not turn.startswith("CPU")
            ],
            _(
                "You named every pair that has a direct path. It is lost only where the switch in which the flow turns has ACS on."
            ),
        ),
    ),
)
