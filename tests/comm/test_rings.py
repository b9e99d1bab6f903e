"""Several rings at once: proved, balanced, disjoint, and refused in words where they are none."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.comm import rings
from course_lib.comm.execute import prove
from course_lib.comm.faults import try_mutants
from course_lib.comm.schedule import Schedule
from course_lib.fabric.scaleup import CUBE_P100, CUBE_V100


def cables(pairs):
    table = np.zeros((8, 8), int)
    for a, b, width in pairs:
        table[a, b] += width
        table[b, a] += width
    return table


@pytest.mark.parametrize("n", range(2, 17))
def test_balanced_rings_use_every_pair_equally_and_are_proved(n):
    orders = rings.balanced(n)
    pairs = np.bincount((orders * n + np.roll(orders, -1, axis=1)).ravel(), minlength=n * n).reshape(n, n)
    assert len(set(pairs[~np.eye(n, dtype=bool)].tolist())) == 1
    for made in (rings.all_reduce(orders), rings.reduce_scatter(orders), rings.all_gather(orders)):
        assert prove(made).ok
        assert made.sent_B(1.0) == pytest.approx((1 + (made.op == "all_reduce")) * (n - 1) / n)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 1), (8, 1), (2, 3), (4, 2), (3, 5), (8, 2)])
@pytest.mark.parametrize("op", ["broadcast", "reduce"])
def test_chains_are_proved_from_every_root(op, n, d):
    for orders in (rings.balanced(n), [list(range(n))]):
        for root in {0, 1, n * d - 1, n * d // 2}:
            made = getattr(rings, op)(orders, n_domains=d, root=root, pipeline=3)
            assert isinstance(made, Schedule)
            assert prove(made).ok, (root, prove(made).sentence)
            ends = made.received_B(1.0) if op == "broadcast" else made.sent_B(1.0)
            assert ends == pytest.approx([float(r != root) for r in range(n * d)])
    assert not try_mutants(getattr(rings, op)([list(range(n))], n_domains=d, root=1, pipeline=2)).survivors


def test_all_cards_of_a_domain_hand_on_the_same():
    made = rings.broadcast([list(range(4))], n_domains=3, pipeline=2)
    step = made.steps[0]
    away = step.src // 4 != step.dst // 4
    assert (np.bincount(step.src[away], minlength=12)[:8] == 1).all()
    assert (step.src[away] % 4 == step.dst[away] % 4).all()


@pytest.mark.parametrize(("pairs", "count"), [(CUBE_P100, 4), (CUBE_V100, 6)])
def test_a_cube_mesh_has_as_many_rings_as_a_gpu_has_links(pairs, count):
    table = cables(pairs)
    found = rings.disjoint(table)
    assert len(found) == count
    used = np.zeros((8, 8), int)
    np.add.at(used, (found.ravel(), np.roll(found, -1, axis=1).ravel()), 1)
    assert (used == table).all()  # every link, in each direction, once


def test_rings_that_are_none_are_refused_and_none_are_invented():
    for orders in ([[0, 1, 1]], [[0, 2]], [], [[0, 1], [0]], "ring", [[0.5, 1]]):
        with pytest.raises(CourseError):
            rings.all_reduce(orders)
    line = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert rings.disjoint(line).shape == (0, 3)
    with pytest.raises(CourseError, match="square"):
        rings.disjoint(np.zeros((2, 3)))
