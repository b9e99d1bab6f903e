"""Question 03.q1: what every pair of a cube mesh gets."""

import numpy as np

from course_lib.base.language import _
from course_lib.fabric.scaleup import CUBE_P100, CUBE_V100
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex03.machines import LINK_GBps, PCIE_GBps, link_table, renumbered, some_links
from course_lib.grading.question import Case, Misconception, Question


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
    dgx1 = link_table(8, CUBE_V100)
    fixed = [
        (link_table(2, [(0, 1, 4)]), 25.0, 15.75),
        (link_table(2, []), 25.0, 15.75),
        (link_table(4, [(0, 1, 2), (1, 2, 1), (2, 3, 2)]), 20.0, 15.75),
        (link_table(8, CUBE_P100), 20.0, 15.75),
        (dgx1, LINK_GBps, PCIE_GBps),
    ]
    drawn = [(renumbered(rng, dgx1), LINK_GBps, PCIE_GBps)]
    drawn += [
        (some_links(rng, int(rng.integers(3, 9)), 2), float(rng.integers(18, 51)), float(rng.integers(6, 16)))
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
        Misconception(
            "one link a pair",
            lambda links, link_GBps, pcie_GBps: pair_GBps(np.minimum(links, 1).tolist(), link_GBps, pcie_GBps),
            _("You give each pair a single link. The table says how many join it."),
        ),
        Misconception(
            "a way to itself",
            lambda links, link_GBps, pcie_GBps: np.where(
                np.array(links) > 0, np.array(links) * float(link_GBps), pcie_GBps
            ).tolist(),
            _("You let a GPU send to itself over PCIe. The diagonal is 0."),
        ),
        Misconception(
            "the budget over all others",
            lambda links, link_GBps, pcie_GBps: np.where(
                np.eye(len(links), dtype=bool), 0.0, np.sum(links, axis=1)[:, None] * link_GBps / (len(links) - 1)
            ).tolist(),
            _(
                "You share out the links of a GPU evenly over all others. A pair has the links that join it, be it two or none."
            ),
        ),
    ),
)
