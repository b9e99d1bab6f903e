"""The explorer of lesson 07: every control, every value, and the sentences of the lesson that lean on the models."""

import itertools

import pytest

from course_lib.explorers.lesson07 import CHUNKS, MICROS, STAGES, names, pipeline_timeline, read_timeline
from course_lib.figures.show import meta_of
from course_lib.plan import transformer
from course_lib.plan.footprint import Plan, footprint
from course_lib.plan.pipeline import bubble_formula, in_flight
from course_lib.plan.review import review
from course_lib.plan.traffic import handoff_price, handoffs, timeline
from tests.notebooks.lessons import ROOT, read, source


@pytest.fixture(scope="module")
def explorer():
    return pipeline_timeline()


def test_every_combination_draws_or_says_what_does_not_fit(explorer):
    for schedule, p, m in itertools.product(names(), STAGES, MICROS):
        explorer.reset()
        explorer.set(schedule=schedule, p=p, m=m)
        if schedule == "interleaved" and m % p:
            assert "in multiples of" in explorer.message
            assert explorer.stale
            continue
        assert (explorer.message, explorer.stale) == ("", False)
        _alt, columns, table = meta_of(explorer.figure)
        assert len(table) == p
        assert all(len(row) == len(columns) for row in table)


@pytest.mark.parametrize("v", CHUNKS)
def test_the_formula_beside_the_figure_is_what_the_timeline_shows(explorer, v):
    explorer.reset()
    explorer.set(p=8, m=16, v=v)
    line, book = read_timeline(8, 16, v, "interleaved").timeline, bubble_formula("interleaved", 8, 16, v)
    assert line.bubble_of_step == pytest.approx(book.of_step)
    assert f"{100 * book.of_step:.3g} %" in explorer.view.formula.value


def test_each_control_changes_the_picture(explorer):
    for change in ({"p": 8}, {"m": 16}, {"v": 4}, {"schedule": "1f1b"}):
        explorer.reset()
        before = explorer.figure.layout.title.text, explorer.view.said.value
        explorer.set(**change)
        assert explorer.figure.layout.title.text != before[0]
        assert explorer.view.said.value != before[1]


def test_chunks_without_interleaving_are_said_to_do_nothing(explorer):
    explorer.reset()
    explorer.set(schedule="gpipe", v=4)
    assert "Chunks change nothing" in explorer.view.said.value
    explorer.set(v=1)
    assert "Chunks change nothing" not in explorer.view.said.value


# What the lesson says in words


def test_which_schedules_get_under_a_tenth_with_eight_stages():
    found = {
        (s, v): read_timeline(8, 32, v, s).timeline
        for s, v in (("gpipe", 1), ("1f1b", 1), ("interleaved", 2), ("interleaved", 4), ("zero-bubble", 1))
    }
    share = {key: line.bubble_of_step for key, line in found.items()}
    assert {key for key, b in share.items() if b < 0.1} == {("interleaved", 2), ("interleaved", 4), ("zero-bubble", 1)}
    assert share["interleaved", 4] < share["zero-bubble", 1] < share["interleaved", 2]
    assert [in_flight(found[key])[0] for key in found] == [32, 8, 11.5, 9.75, 8]


def test_gpipe_and_1f1b_differ_in_what_they_hold_above_p_and_never_in_the_bubble():
    for m in MICROS:
        a, b = (read_timeline(4, m, 1, s).timeline for s in ("gpipe", "1f1b"))
        assert a.step_s == b.step_s
        assert (in_flight(a)[0] != in_flight(b)[0]) == (m > 4)


def test_with_machine_and_batch_given_the_bubble_hardly_depends_on_the_stages():
    share = [bubble_formula("1f1b", p, 4 * p).of_step for p in (4, 8, 16, 32)]
    assert max(share) - min(share) < 0.04


def test_only_1f1b_fits_in_80_GB():
    plan = {"tensor": 8, "pipeline": 8, "n_micro": 32, "sequence": True, "recompute": "selective"}
    total = {s: footprint("llama3-70b", Plan(schedule=s, **plan)).total_B[0] for s in ("gpipe", "1f1b")}
    assert total["1f1b"] < 60e9
    assert total["gpipe"] > 100e9


def test_chunks_pay_up_to_a_point_with_whole_activations():
    over, rate = handoff_price("dgx-h100"), 0.45 * 989e12
    plan = {"tensor": 8, "pipeline": 8, "n_micro": 16}
    step = {
        (s, v): timeline(
            "llama3-70b",
            Plan(schedule="interleaved", chunks=v, sequence=s, **plan),
            flops_per_s=rate,
            handoff=over,
        )
        for s in (False, True)
        for v in (1, 2, 5, 10)
    }
    whole, cut = ([step[s, v].step_s for v in (1, 2, 5, 10)] for s in (False, True))
    assert whole[0] > whole[1] > whole[2] < whole[3]
    assert cut == sorted(cut, reverse=True)
    forward_s = float(step[False, 1].end_s[0])
    assert float(over(handoffs("llama3-70b", Plan(**plan)).message_B)) < 0.1 * forward_s


def test_the_embedding_of_the_measured_model_has_one_and_a_half_times_the_weights_of_a_layer():
    shape, found = transformer.model("bloom-176b"), transformer.params(transformer.model("bloom-176b"))
    embedding = shape.vocab * shape.hidden
    assert embedding / (found.attention + found.mlp) == pytest.approx(1.5, abs=0.05)
    text = "".join(map(source, read(ROOT / "notebooks" / "07_a_pipeline_of_blocks.ipynb")["cells"]))
    assert "vocabulary of 250,000 the embedding has one and a half times the weights of a layer" in text
    assert round(shape.vocab, -4) == 250_000


def test_what_the_lesson_asks_to_break_is_answered_as_it_says():
    good = ["F0 F1 F2 B0 F3 B1 B2 B3", "F0 F1 B0 F2 B1 F3 B2 B3", "F0 B0 F1 B1 F2 B2 F3 B3"]
    assert review(good, 3, 4).accepted
    circle = review(["F0 B0 F1 F2 B1 F3 B2 B3", *good[1:]], 3, 4)
    assert "stops for good" in circle.reason
    assert "stage 0 waits" in circle.reason
    slow = review([good[0], good[1].replace("F0 F1", "F1 F0"), good[2]], 3, 4)
    assert "It runs, but" in slow.reason
    assert "never does B3" in review([good[0].removesuffix(" B3"), *good[1:]], 3, 4).reason
    text = "".join(map(source, read(ROOT / "notebooks" / "07_a_pipeline_of_blocks.ipynb")["cells"]))
    assert "Exchange F0 and F1 on stage 1 only; leave one out; let stage 0 take B0 before F1." in text
