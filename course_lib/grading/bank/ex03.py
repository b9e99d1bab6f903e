"""Exercise 03: what pairs, halves and ports get, what a pool of memory holds, and three rates for one link."""

from itertools import combinations

import numpy as np

from course_lib.base.hardware import value
from course_lib.base.language import _
from course_lib.base.units import GB
from course_lib.fabric.scaleup import CUBE_P100, CUBE_V100
from course_lib.grading.answers import Choice, Entries, Number, Truth
from course_lib.grading.question import Case, Misconception, Question

LINK_GBps, PCIE_GBps = 25.0, 15.75


def _table(n: int, pairs) -> list[list[int]]:
    """Return a symmetric table of links from (a, b, links)."""
    links = np.zeros((n, n), int)
    for a, b, count in pairs:
        links[a, b] = links[b, a] = count
    return links.tolist()


def _renumbered(rng: np.random.Generator, links: list[list[int]]) -> list[list[int]]:
    """Return the same machine with its GPUs numbered in another order."""
    order = rng.permutation(len(links))
    return np.array(links)[np.ix_(order, order)].tolist()


def _some_links(rng: np.random.Generator, n: int, most: int) -> list[list[int]]:
    """Return a machine of n GPUs with 0 to `most` links a pair, each as likely."""
    return _table(n, [(a, b, int(rng.integers(0, most + 1))) for a, b in combinations(range(n), 2)])


# q1 ------------------------------------------------------------------------------------------------------------------


def pair_GBps(links: list, link_GBps: float, pcie_GBps: float) -> list[list[float]]:
    """Return GB/s from GPU to GPU, each pair alone: its own links, or PCIe where it has none; 0 on the diagonal."""
    table = np.array(links)
    rate = np.where(table > 0, table * link_GBps, pcie_GBps)
    np.fill_diagonal(rate, 0.0)
    return rate.tolist()


def _with_relays(links: list, link_GBps: float, pcie_GBps: float) -> list[list[float]]:
    table = np.array(links)
    narrow = np.minimum(table[:, :, None], table[None, :, :]).max(axis=1)
    return pair_GBps(np.where(table > 0, table, narrow).tolist(), link_GBps, pcie_GBps)


def _whole_budget(links: list, link_GBps: float, pcie_GBps: float) -> list[list[float]]:
    table = np.array(links)
    budget = np.minimum(table.sum(1)[:, None], table.sum(1)[None, :])
    return pair_GBps(np.where(table > 0, budget, 0).tolist(), link_GBps, pcie_GBps)


def _mesh_cases(rng: np.random.Generator) -> list[Case]:
    dgx1 = _table(8, CUBE_V100)
    fixed = [
        (_table(2, [(0, 1, 4)]), 25.0, 15.75),
        (_table(2, []), 25.0, 15.75),
        (_table(4, [(0, 1, 2), (1, 2, 1), (2, 3, 2)]), 20.0, 15.75),
        (_table(8, CUBE_P100), 20.0, 15.75),
        (dgx1, LINK_GBps, PCIE_GBps),
    ]
    drawn = [(_renumbered(rng, dgx1), LINK_GBps, PCIE_GBps)]
    drawn += [
        (_some_links(rng, int(rng.integers(3, 9)), 2), float(rng.integers(18, 51)), float(rng.integers(6, 16)))
        for _unused in range(6)
    ]
    names = ("links", "link_GBps", "pcie_GBps")
    return [Case(dict(zip(names, row, strict=True))) for row in fixed + drawn]


q1 = Question(
    id="03.q1",
    title=_("What every pair of a cube mesh gets"),
    points=3,
    answer="pair_GBps",
    kind="function",
    expects=Number("GB/s", tolerance=0.005),
    inputs=_mesh_cases,
    reference=pair_GBps,
    withholds=("course_lib.fabric.cuts",),
    misconceptions=(
        Misconception(
            "GPUs pass traffic on",
            _with_relays,
            _(
                "You let a GPU in the middle pass the copy on. NVLink does not do that by itself; such a pair uses PCIe."
            ),
        ),
        Misconception(
            "both directions",
            lambda links, link_GBps, pcie_GBps: (2 * np.array(pair_GBps(links, link_GBps, pcie_GBps))).tolist(),
            _("You count both directions of every link. A copy goes one way."),
        ),
        Misconception(
            "the whole budget for one pair",
            _whole_budget,
            _("You give a pair all the links of its GPUs. In a mesh it only has the links that join the two."),
        ),
        Misconception(
            "NVLink and PCIe added",
            lambda links, link_GBps, pcie_GBps: np.where(
                np.eye(len(links), dtype=bool), 0.0, np.array(links) * link_GBps + pcie_GBps
            ).tolist(),
            _("You add PCIe to the NVLinks of a pair. A copy takes one way or the other, not both."),
        ),
        Misconception(
            "no link, no way",
            lambda links, link_GBps, pcie_GBps: (np.array(links) * float(link_GBps)).tolist(),
            _("You leave pairs without NVLink at zero. They still reach each other, over PCIe."),
        ),
    ),
)

# q2 ------------------------------------------------------------------------------------------------------------------


def _cuts(links: list) -> list[float]:
    """Return the links that cross each halving, one direction; the first half in number order comes first."""
    table = np.array(links)
    n = len(table)
    sums = []
    for side in combinations(range(n), n // 2):
        inside = np.isin(np.arange(n), side)
        sums.append(float(table[inside][:, ~inside].sum()))
    return sums


def bisection_GBps(links: list, link_GBps: float) -> float:
    """Return the least that any half of the GPUs can send to the other half, in GB/s, one direction."""
    return min(_cuts(links)) * link_GBps


def _halving_cases(rng: np.random.Generator) -> list[Case]:
    ring = _table(6, [(0, 3, 1), (3, 1, 1), (1, 5, 1), (5, 2, 1), (2, 4, 1), (4, 0, 1)])
    fixed = [
        (_table(2, [(0, 1, 4)]), 25.0),
        (_table(4, [(0, 1, 3), (2, 3, 3)]), 25.0),
        (_table(4, [(a, b, 4) for a, b in combinations(range(4), 2)]), 25.0),
        (ring, 50.0),
        (_table(8, CUBE_P100), 20.0),
        (_renumbered(rng, _table(8, CUBE_V100)), LINK_GBps),
        (_table(8, [(a, b, 1) for a, b in combinations(range(8), 2)]), 64.0),
    ]
    drawn = [(_some_links(rng, int(2 * rng.integers(2, 5)), 3), float(rng.integers(18, 51))) for _unused in range(6)]
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
    ),
)

# q3 ------------------------------------------------------------------------------------------------------------------


def fits(n_layers: int, layer_GB: float, own_GB: float, hbm_GB: float, n_gpus: int) -> bool:
    """Return whether whole layers fit on the GPUs when each GPU keeps own_GB for itself."""
    room_GB = hbm_GB - own_GB
    return bool(room_GB >= 0 and n_gpus * int(room_GB // layer_GB) >= n_layers)


# layers, GB of a layer, own GB, memory of a GPU, GPUs: every wrong model fails at one of them at least
_FITS = (
    (1, 10, 0, 80, 1), (1, 10, 0, 9, 1), (8, 10, 0, 80, 1), (9, 10, 0, 80, 1), (1, 10, 90, 80, 1), (0, 10, 10, 80, 8),
    (1, 100, 0, 80, 8), (8, 60, 5, 80, 8), (9, 60, 5, 80, 8), (16, 40, 0, 80, 8), (16, 40, 1, 80, 8), (16, 35, 10, 80, 8),
    (16, 36, 10, 80, 8), (17, 35, 5, 80, 8), (10, 50, 5, 80, 8), (126, 6, 8, 141, 8), (126, 6, 20, 80, 8),
)  # fmt: skip


def _pool_cases(rng: np.random.Generator) -> list[Case]:
    rows = list(_FITS)
    while len(rows) < len(_FITS) + 12:
        layer, own, n = int(rng.integers(3, 60)), int(rng.integers(0, 21)), int(rng.choice([2, 4, 8, 16]))
        hbm = int(rng.choice([80, 141, 180]))
        edge = n * ((hbm - own) // layer)  # layers near the limit: that is where models differ
        rows.append((max(0, edge + int(rng.integers(-1, 3))), layer, own, hbm, n))
    names = ("n_layers", "layer_GB", "own_GB", "hbm_GB", "n_gpus")
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


q3 = Question(
    id="03.q3",
    title=_("Does this model fit into the pool?"),
    points=2,
    answer="fits",
    kind="function",
    expects=Truth(),
    inputs=_pool_cases,
    reference=fits,
    misconceptions=(
        # The narrower mistakes first: whatever they get wrong, merged memory gets wrong as well.
        Misconception(
            "layers cut in two",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: n_layers * layer_GB <= n_gpus * (hbm_GB - own_GB),
            _("You let a layer lie half on one GPU and half on the next. Each layer is whole: room too small for one stays empty."),
        ),
        Misconception(
            "own part forgotten",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: n_gpus * (hbm_GB // layer_GB) >= n_layers,
            _("You leave out what every GPU keeps for itself. It is needed on each of them."),
        ),
        Misconception(
            "NVLink merges memory",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: n_layers * layer_GB + own_GB <= n_gpus * hbm_GB,
            _("You treat the box as one memory: everything needed once, against the sum of all GPUs. NVLink does not merge memory."),
        ),
        Misconception(
            "everything on one GPU",
            lambda n_layers, layer_GB, own_GB, hbm_GB, n_gpus: n_layers * layer_GB + own_GB <= hbm_GB,
            _("You ask whether the model fits on one GPU. Layers may lie on different GPUs."),
        ),
    ),
)  # fmt: skip

# q4 ------------------------------------------------------------------------------------------------------------------


def slowest_GBps(src: list, dst: list, port_GBps: float) -> float:
    """Return the slowest flow through a crossbar: a port over the most flows that leave or enter one GPU."""
    busiest = max(np.bincount(src).max(), np.bincount(dst).max())
    return port_GBps / float(busiest)


def _switch_cases(rng: np.random.Generator) -> list[Case]:
    fixed = [
        ([0], [1], 450.0),
        ([0, 1], [1, 0], 450.0),
        ([0, 1, 2], [3, 3, 3], 450.0),
        ([3, 3, 3], [0, 1, 2], 450.0),
        (list(range(8)), [(i + 3) % 8 for i in range(8)], 450.0),
        (list(range(7)), [7] * 7, 450.0),
        ([i for i in range(4) for j in range(4) if i != j], [j for i in range(4) for j in range(4) if i != j], 900.0),
        ([0, 0, 0, 4, 5], [1, 2, 3, 1, 6], 300.0),
    ]
    drawn = []
    for _unused in range(8):
        n, flows = int(rng.integers(4, 17)), int(rng.integers(4, 25))
        src = rng.integers(0, n, flows)
        dst = (src + rng.integers(1, n, flows)) % n
        drawn.append((src.tolist(), dst.tolist(), float(rng.choice([150.0, 300.0, 450.0, 900.0]))))
    return [Case({"src": a, "dst": b, "port_GBps": rate}) for a, b, rate in fixed + drawn]


q4 = Question(
    id="03.q4",
    title=_("The slowest flow through a non-blocking switch"),
    points=2,
    answer="slowest_GBps",
    kind="function",
    expects=Number("GB/s", tolerance=0.005),
    inputs=_switch_cases,
    reference=slowest_GBps,
    withholds=("course_lib.fabric.sharing",),
    misconceptions=(
        Misconception(
            "non-blocking means full rate for all",
            lambda src, dst, port_GBps: float(port_GBps),
            _("You give every flow the full port. That holds for permutations; here several flows meet in one port."),
        ),
        Misconception(
            "receivers only",
            lambda src, dst, port_GBps: port_GBps / float(np.bincount(dst).max()),
            _("You look at the receivers only. Flows that leave the same GPU share its port as well."),
        ),
        Misconception(
            "senders only",
            lambda src, dst, port_GBps: port_GBps / float(np.bincount(src).max()),
            _("You look at the senders only. Flows that enter the same GPU share its port as well."),
        ),
        Misconception(
            "one road for all",
            lambda src, dst, port_GBps: port_GBps / len(src),
            _("You let all flows share one port, as on a bus. A crossbar has a port for every GPU."),
        ),
        Misconception(
            "in and out share a port",
            lambda src, dst, port_GBps: (
                port_GBps / float((np.bincount(src, minlength=99) + np.bincount(dst, minlength=99)).max())
            ),
            _(
                "You let what leaves a GPU and what enters it share one rate. The two directions of a port are separate."
            ),
        ),
    ),
)

# q5 ------------------------------------------------------------------------------------------------------------------

CAUSES = ("packets", "line code", "both directions", "a broken link")


def _three_rates() -> dict:
    wire_Bps = value("nvlink4", "links") * value("nvlink4", "smi_link_Bps")
    sheet_Bps = wire_Bps * value("nvlink4", "code_in") / value("nvlink4", "code_out")
    return {
        "wire": wire_Bps / GB,
        "sheet": sheet_Bps / GB,
        "copy_percent": 100 * value("nvlink4", "copy_Bps") / sheet_Bps,
        "rest": CAUSES[0],
    }


q5 = Question(
    id="03.q5",
    title=_("Three rates for one link"),
    points=2,
    answer="three_rates",
    expects=Entries(
        {
            "wire": Number("GB/s", tolerance=0.002),
            "sheet": Number("GB/s", tolerance=0.002),
            "copy_percent": Number("%", tolerance=0.006),
            "rest": Choice(CAUSES),
        }
    ),
    reference=_three_rates,
    misconceptions=(
        Misconception(
            "one link for all",
            lambda: {"wire": value("nvlink4", "smi_link_Bps") / GB, "sheet": value("nvlink4", "link_Bps") / GB},
            _("That is the rate of a single link. The GPU has eighteen."),
        ),
        Misconception(
            "both directions",
            lambda: {"wire": 2 * _three_rates()["wire"], "sheet": 2 * _three_rates()["sheet"], "rest": CAUSES[2]},
            _("You bring in both directions. All three numbers are one direction, so that is not where they differ."),
        ),
        Misconception(
            "code upside down",
            lambda: {"sheet": _three_rates()["wire"] * 17 / 16},
            _("You multiply by 17/16. The code sends 17 parts for 16 useful ones, so less is left, not more."),
        ),
        Misconception(
            "code counted twice",
            lambda: {"copy_percent": 100 * value("nvlink4", "copy_Bps") / GB / _three_rates()["wire"], "rest": CAUSES[1]},
            _("You let the line code explain the last step, too. The data sheet's rate is already after the code."),
        ),
        Misconception(
            "a fault seen where there is none",
            lambda: {"rest": CAUSES[3]},
            _("You take 88 % of the data sheet for a fault. Headers and acknowledgements cost about that much on every healthy NVLink."),
        ),
    ),
)  # fmt: skip

QUESTIONS = (q1, q2, q3, q4, q5)
