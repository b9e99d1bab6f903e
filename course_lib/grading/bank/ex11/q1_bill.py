"""Question 11.q1: a network's switches and cables."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.bank.ex11.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question

PORTS = 64


def _network(
    n_gpus: int, down: int, up: int, *, levels: int = 3, spine_up: bool = True, always: bool = False
) -> dict[str, int]:
    if n_gpus <= PORTS:
        return {"leaves": 1, "spines": 0, "cores": 0, "cables": n_gpus}
    leaves = -(-n_gpus // down)
    if (leaves <= PORTS and not always) or levels == 2:
        spines = -(-leaves * up // PORTS)
        return {"leaves": leaves, "spines": spines, "cores": 0, "cables": n_gpus + leaves * up}
    half = PORTS // 2
    spines = -(-leaves * up // half)
    cores = -(-spines * half // (PORTS if spine_up else half))
    return {"leaves": leaves, "spines": spines, "cores": cores, "cables": n_gpus + leaves * up + spines * half}


def _ports(ratio: int) -> tuple[int, int]:
    down = PORTS * ratio // (ratio + 1)
    return down, -(-down // ratio)


def network(n_gpus: int, ratio: int) -> dict[str, int]:
    """Return leaves, spines, cores and cables of a network of 64-port switches at ratio : 1.

    >>> network(4096, 1)
    {'leaves': 128, 'spines': 128, 'cores': 64, 'cables': 12288}
    """
    return _network(n_gpus, *_ports(ratio))


def _cables_below(n_gpus: int, ratio: int) -> int:
    """Cables to cards and between leaves and spines."""
    right = network(n_gpus, ratio)
    return right["cables"] - (right["spines"] * PORTS // 2 if right["cores"] else 0)


def _spines_full(n_gpus: int, ratio: int) -> dict[str, int]:
    """Spines that end 64 uplinks each, with cores above them all the same."""
    right, (_down, up) = network(n_gpus, ratio), _ports(ratio)
    if not right["cores"]:
        return right
    spines, half = -(-right["leaves"] * up // PORTS), PORTS // 2
    cables = n_gpus + right["leaves"] * up + spines * half
    return right | {"spines": spines, "cores": -(-spines * half // PORTS), "cables": cables}


def _last_leaf_thrifty(n_gpus: int, ratio: int) -> dict[str, int]:
    """Uplinks of the last leaf for the cards that it has; so fewer spines and cores."""
    if n_gpus <= PORTS:
        return network(n_gpus, ratio)
    down, up = _ports(ratio)
    full, rest = divmod(n_gpus, down)
    uplinks, leaves = full * up + -(-rest // ratio), full + bool(rest)
    if leaves <= PORTS:
        return {"leaves": leaves, "spines": -(-uplinks // PORTS), "cores": 0, "cables": n_gpus + uplinks}
    half = PORTS // 2
    spines = -(-uplinks // half)
    cores = -(-spines * half // PORTS)
    return {"leaves": leaves, "spines": spines, "cores": cores, "cables": n_gpus + uplinks + spines * half}


def _network_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        (64, 1),
        (65, 1),
        (256, 1),
        (512, 1),
        (1024, 1),
        (2048, 1),
        (2688, 2),
        (4096, 1),
        (16384, 1),
        (1024, 3),
        (16384, 7),
        (1024, 4),  # 51 cards and 13 uplinks: the ratio does not divide
        (5000, 5),
    ]
    rows += [(int(rng.integers(9, 2000)) * 8, int(rng.choice([1, 2, 3, 4, 7]))) for _i in range(8)]
    return [Case({"n_gpus": n, "ratio": r}) for n, r in rows]


q1 = Question(
    id="11.q1",
    title=_("Switches and cables for N GPUs"),
    points=2,
    answer="network",
    kind="function",
    expects=Entries(Number(whole=True), each=False),
    inputs=_network_cases,
    reference=network,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "always non-blocking",
            lambda n_gpus, ratio: network(n_gpus, 1),
            _(
                "Your leaves always have as many ports up as down. At ratio : 1 fewer go up, and more cards fit on a leaf."
            ),
        ),
        Misconception(
            "the ratio turned round",
            lambda n_gpus, ratio: _network(n_gpus, *reversed(_ports(ratio))),
            _(
                "You turn the ratio round: more ports up than down. Oversubscribed means that less goes up than comes from below."
            ),
        ),
        Misconception(
            "two levels for any size",
            lambda n_gpus, ratio: _network(n_gpus, *_ports(ratio), levels=2),
            _("You stop at two levels. A spine has 64 ports, so it joins 64 leaves at most; beyond, there are cores."),
        ),
        Misconception(
            "cores split up and down",
            lambda n_gpus, ratio: _network(n_gpus, *_ports(ratio), spine_up=False),
            _("Your cores keep half of their ports for a level above. There is none: all 64 go down."),
        ),
        Misconception(
            "spines with 64 ports down",
            _spines_full,
            _("You let a spine end 64 uplinks below cores, too. With three levels 32 of its ports go down and 32 up."),
        ),
        Misconception(
            "cables of the cards only",
            lambda n_gpus, ratio: network(n_gpus, ratio) | {"cables": n_gpus},
            _("You count one cable for each card. Every uplink between two switches is a cable, too."),
        ),
        Misconception(
            "cables of two levels",
            lambda n_gpus, ratio: _network(n_gpus, *_ports(ratio)) | {"cables": _cables_below(n_gpus, ratio)},
            _("You leave out the cables between spines and cores. With three levels a spine has 32 of them."),
        ),
        Misconception(
            "cables without the cards'",
            lambda n_gpus, ratio: network(n_gpus, ratio) | {"cables": network(n_gpus, ratio)["cables"] - n_gpus},
            _("You count cables between switches only. Each card has one, too."),
        ),
        Misconception(
            "uplinks rounded down",
            lambda n_gpus, ratio: _network(n_gpus, _ports(ratio)[0], _ports(ratio)[0] // ratio),
            _("You round the uplinks of a leaf down. ⌈cards/ratio⌉: with fewer the ratio would be worse than it says."),
        ),
        Misconception(
            "a last leaf with what it needs",
            _last_leaf_thrifty,
            _(
                "You give the last leaf the uplinks that its few cards need. Every leaf has all of them, also the last one."
            ),
        ),
        Misconception(
            "cores above two levels",
            lambda n_gpus, ratio: _network(n_gpus, *_ports(ratio), always=True),
            _("You put cores above any network. Up to 64 leaves, spines join all of them."),
        ),
    ),
)
