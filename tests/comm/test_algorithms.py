"""What each family promises: repeats, bytes, names, and refusals in words."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

from course_lib import comm
from course_lib.base.errors import CourseError
from course_lib.comm import direct, halving, hierarchical, innetwork, registry, ring, tree
from course_lib.comm.execute import prove
from course_lib.comm.meaning import OPS
from course_lib.comm.registry import algorithm_name, algorithms, build, has_pipeline
from course_lib.comm.schedule import Schedule
from course_lib.comm.trace import trace

RANKS = [2, 3, 7, 8, 16, 72]
PARTS = ("hierarchical", "registry", "collective")  # put together what the others make


def schedules():
    for module in sorted({m.name for m in pkgutil.iter_modules(comm.__path__)} - set(PARTS)):
        for name, made in vars(importlib.import_module(f"course_lib.comm.{module}")).items():
            if inspect.isfunction(made) and made.__module__ == f"course_lib.comm.{module}" and name[0] != "_":
                asked = inspect.signature(made)
                if asked.return_annotation is Schedule and "n_ranks" in asked.parameters:
                    yield f"{module}.{name}", made


@pytest.mark.parametrize(("name", "made"), list(schedules()))
def test_every_algorithm_is_registered(name, made):
    known = {builder for table in registry._BUILD.values() for builder in table.values()}
    assert made in known, f"comm/registry.py does not name {name}: docs/add_a_collective.md, step 2"


@pytest.mark.parametrize("op", OPS)
def test_an_algorithm_of_one_collective_only_gives_levels_that_can_be_built(op, monkeypatch):
    own = dict(registry._BUILD)
    own[op] = {"own": next(iter(own[op].values())), **own[op]}
    monkeypatch.setattr(registry, "_BUILD", own)
    names = algorithms(op)
    for name in names:
        levels = 4 if name.startswith("hierarchical-") else None
        built = build(op, 8, name, ranks_per_domain=levels, radix=4)
        assert prove(built).ok, name
    two = [name for name in names if name.startswith("hierarchical-") and "own" in name]
    assert bool(two) == (op not in ("all_to_all", "send_recv", "scatter", "gather")), "rails go one way only"
    assert op != "all_reduce" or not any("own+" in name for name in two), (
        "it would need a reduce-scatter and an all-gather"
    )
    if op == "all_reduce":
        with pytest.raises(CourseError, match="no algorithm"):
            build(op, 8, "hierarchical-own+ring", ranks_per_domain=4)


@pytest.mark.parametrize("n", RANKS)
def test_ring_moves_2n_minus_2_chunks(n):
    schedule = ring.all_reduce(n)
    assert schedule.repeats == 2 * n - 2
    assert len(schedule.steps) == 2
    np.testing.assert_allclose(schedule.sent_B(1.0), 2 * (n - 1) / n)


@pytest.mark.parametrize("n", RANKS)
def test_double_tree_has_both_directions_busy(n):
    schedule = tree.all_reduce(n, pipeline=16)
    assert len(schedule.steps) == 1
    sent, received = schedule.sent_B(1.0), schedule.received_B(1.0)
    assert sent.max() <= 2.0
    assert received.max() <= 2.0
    assert sent.sum() == pytest.approx(2 * (n - 1))  # every byte goes up and down n − 1 edges


@pytest.mark.parametrize("n", RANKS)
def test_every_rank_but_the_root_has_one_inner_place_in_the_two_trees(n):
    children = np.zeros(n, int)
    step = tree.broadcast(n).steps[0]
    inner_in = [set(step.src[step.chunk == half].tolist()) for half in np.unique(step.chunk)]
    for half in inner_in:
        children[sorted(half)] += 1
    assert (children[1:] <= 1).all()


@pytest.mark.parametrize("n", RANKS)
def test_trees_are_logarithmic(n):
    log = int(np.ceil(np.log2(n)))
    assert tree.binomial_all_reduce(n).repeats == 2 * log
    assert tree.all_reduce(n, pipeline=1).repeats <= 2 * (log + 1)


@pytest.mark.parametrize("n", [2, 4, 8, 64])
def test_halving_doubling_has_log_steps_and_ring_bytes(n):
    schedule = halving.all_reduce(n)
    assert schedule.repeats == 2 * np.log2(n)
    np.testing.assert_allclose(schedule.sent_B(1.0), 2 * (n - 1) / n)


@pytest.mark.parametrize("n", [3, 5, 6, 7, 72])
def test_halving_doubling_folds_other_counts_in_two_more_steps(n):
    assert halving.all_reduce(n).repeats == 2 * int(np.log2(n)) + 2


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("pipeline", [1, 3, 16])
def test_nvls_carries_s_times_one_plus_one_over_n_per_direction(n, pipeline):
    schedule = innetwork.nvls_all_reduce(n, pipeline=pipeline)
    np.testing.assert_allclose(schedule.sent_B(1.0)[:n], 1 + 1 / n)
    np.testing.assert_allclose(schedule.received_B(1.0)[:n], 1 + 1 / n)
    assert schedule.repeats == pipeline + 3


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("radix", [2, 4, 64, (8, 2)])
def test_sharp_carries_s_per_direction(n, radix):
    schedule = innetwork.sharp_all_reduce(n, radix=radix, pipeline=4)
    np.testing.assert_allclose(schedule.sent_B(1.0)[:n], 1)
    np.testing.assert_allclose(schedule.received_B(1.0)[:n], 1)
    assert schedule.repeats == 4 + 2 * (schedule.switch_level.max() + 1) - 1


def test_sharp_switches_know_their_rank_and_level():
    schedule = innetwork.sharp_all_reduce(9, radix=3)
    assert schedule.switch_rank.tolist() == [0, 3, 6, 0]
    assert schedule.switch_level.tolist() == [0, 0, 0, 1]


def test_hierarchical_sends_only_a_shard_out_of_a_domain():
    schedule = build("all_reduce", 32, "hierarchical-ring", ranks_per_domain=8)
    leaving = 0.0
    for step in schedule.steps:
        out = step.src // 8 != step.dst // 8
        leaving += (step.width * step.count)[out & (step.src == 3)].sum()
    # rank 3 owns an eighth of the message, and sends 2·(4 − 1)/4 of that
    assert leaving * schedule.chunk_B(1.0) == pytest.approx(2 * 3 / 4 / 8)


def test_hierarchical_switches_belong_to_their_domain():
    schedule = build("all_reduce", 12, "hierarchical-in-network+sharp", ranks_per_domain=4, radix=2)
    below = schedule.switch_rank // 4
    adders = [int(step.dst.min()) for step in schedule.steps[:1]]
    assert adders == [12]
    assert schedule.switch_level.max() == 2
    assert schedule.switch_level[:3].tolist() == [0, 0, 0]
    assert below[:3].tolist() == [0, 1, 2]
    assert schedule.n_nodes == 12 + schedule.switch_rank.size


def test_hierarchical_all_to_all_talks_to_one_rank_per_domain():
    schedule = hierarchical.all_to_all(3, 4)
    out = schedule.steps[1]
    assert len(set(zip(out.src.tolist(), out.dst.tolist()))) == 12 * 2
    assert (out.src % 4 == out.dst % 4).all()


@pytest.mark.parametrize("op", OPS)
def test_one_rank_moves_nothing(op):
    for algorithm in algorithms(op):
        schedule = build(op, 1, algorithm, ranks_per_domain=1)
        assert schedule.n_transfers == 0
        assert schedule.steps == ()


@pytest.mark.parametrize("known_as", sorted(registry._SAME))
def test_an_algorithm_that_is_registered_goes_before_another_name_for_a_second_one(known_as, monkeypatch):
    monkeypatch.setitem(registry._BUILD["all_gather"], known_as, direct.all_gather)
    for name in (known_as, f"hierarchical-{known_as}"):
        assert algorithm_name("all_gather", name) == name


def test_one_domain_is_the_inner_algorithm_alone():
    assert build("all_reduce", 8, "hierarchical-tree", ranks_per_domain=8).repeats == 14
    assert build("all_reduce", 8, "hierarchical-ring", ranks_per_domain=1).repeats == 14


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: build("all_reduce", 8, "rign"), "nearest: ring"),
        (lambda: build("all_reduce", 8, "hierarchical-rign"), "nearest: hierarchical-ring"),
        (lambda: build("all_reduce", 8, "recursive-doubling"), "nearest: halving-doubling"),  # another algorithm
        (lambda: build("all_to_all", 8, "ring"), "There is no algorithm of all_to_all"),
        (lambda: build("all_reduce", 8, None), "There is no algorithm"),
        (lambda: build("all_reduce", 8, 3), "There is no algorithm"),
        (lambda: build("all_reduce", 8, "hierarchical-ring"), "needs ranks_per_domain"),
        (lambda: build("all_reduce", 20, "hierarchical-ring", ranks_per_domain=8), "Nearest: 16 or 24"),
        (lambda: build("all_reduce", 22, "hierarchical-ring", ranks_per_domain=[8, 8, 6]), "same number in each"),
        (lambda: build("all_reduce", 20, "hierarchical-ring", ranks_per_domain=[8, 8]), "16 ranks together"),
        (lambda: build("all_reduce", 8, "hierarchical-ring", ranks_per_domain=0), "at least 1"),
        (lambda: build("all_reduce", 0, "ring"), "at least 1"),
        (lambda: build("all_reduce", 2.5, "ring"), "whole number"),
        (lambda: build("all_reduce", float("nan"), "ring"), "whole number"),
        (lambda: build("broadcast", 4, "ring", root=4), "at most 3"),
        (lambda: build("all_reduce", 4, "tree", pipeline=0), "at least 1"),
        (lambda: build("all_reduce", 64, "sharp", radix=1), "at least 2"),
        (lambda: direct.all_to_all(5000), "up to 4096 ranks"),
        (lambda: hierarchical.all_to_all(100, 100), "up to 1024 ranks"),
        (lambda: innetwork.nvls_all_gather(5000, pipeline=2), "use pipeline=1"),
        (lambda: build("reduce_scatter", 131072, "hierarchical-ring", ranks_per_domain=8), "too many transfers"),
        (
            lambda: hierarchical.all_reduce(ring.reduce_scatter(4), ring.all_reduce(2), ring.all_gather(3)),
            "all_gather on 4",
        ),
        (lambda: hierarchical.all_reduce(ring.all_gather(4), ring.all_reduce(2), ring.all_gather(4)), "is needed"),
    ],
)
def test_what_cannot_be_built_is_refused_in_words(call, said):
    with pytest.raises(CourseError, match=said):
        call()


def test_names_have_other_spellings():
    assert algorithm_name("all_reduce", "Rabenseifner") == "halving-doubling"
    assert algorithm_name("all_reduce", "Halving_Doubling") == "halving-doubling"
    assert algorithm_name("all_reduce", "hierarchical-nvls+sharp") == "hierarchical-in-network+sharp"
    assert algorithm_name("all_reduce", "hierarchical-ring+ring") == "hierarchical-ring"
    assert algorithm_name("all_reduce", "hierarchical-ring+tree") == "hierarchical-tree"
    assert algorithm_name("all_reduce", "hierarchical-tree+tree") == "hierarchical-tree+tree"


@pytest.mark.parametrize("op", OPS)
def test_an_unknown_algorithm_is_answered_shortly(op):
    """With the nearest of all, else with the flat ones and the pattern of two levels: a list that can be read."""
    flat = algorithms(op, hierarchical=False)
    for asked in ("frobnicate", "xyz", None):
        with pytest.raises(CourseError) as refused:
            algorithm_name(op, asked)
        offered = str(refused.value).split("Valid: ")[1].removesuffix(".").split(", ")
        assert offered[: len(flat)] == flat
        assert set(offered[len(flat) :]) <= {"hierarchical-X", "hierarchical-X+Y"}
        assert ("hierarchical-X" in offered) == (len(algorithms(op)) > len(flat))
    for name in flat:
        with pytest.raises(CourseError, match=f"The nearest: {name}\\b"):
            algorithm_name(op, f"{name}x")


def test_pipelines_are_known():
    assert has_pipeline("broadcast", "ring")
    assert not has_pipeline("all_reduce", "ring")
    assert has_pipeline("all_reduce", "hierarchical-sharp")


def test_a_trace_shows_parts_arrivals_and_the_end():
    seen = trace(ring.reduce_scatter(4))
    assert seen.frames == 4
    assert seen.done[-1].sum() == 4
    assert seen.arrived[1].sum() == 4
    assert not seen.wrong.any()
    assert seen.parts[-1].max() == seen.full == 4


def test_a_trace_of_a_faulty_schedule_stops_at_its_fault():
    broken = ring.reduce_scatter(4).then(ring.reduce_scatter(4))
    assert trace(broken).wrong[-1].any()
    from course_lib.comm.schedule import Schedule

    racing = Schedule.from_transfers("broadcast", 3, 1, [[(0, 1, 0, "copy")], [(2, 1, 0, "copy")]])
    seen = trace(racing)
    assert seen.frames == 2
    assert "never had" in seen.fault
