"""The explorer of lesson 14, and the sentences of the lesson that lean on its numbers."""

import datetime as dt
import json
from pathlib import Path

import pytest

from course_lib.base.errors import CourseError
from course_lib.cluster import gates
from course_lib.cluster.catalogue import items
from course_lib.cluster.design import margin, price
from course_lib.cluster.published import known
from course_lib.explorers import lesson14 as lesson
from course_lib.explorers.lesson14 import gatespicture
from course_lib.figures import reviewing
from course_lib.figures.show import meta_of
from course_lib.figures.theme import themed
from course_lib.plan.servedruns import served

TEXT = json.dumps(
    json.loads((Path(__file__).parents[2] / "notebooks" / "14_design_review.ipynb").read_text(encoding="utf-8"))[
        "cells"
    ],
    ensure_ascii=False,
)
MENDED = lesson.START | {"units": 4, "per_gpu": 160, "interval_s": 28_800.0}


@pytest.fixture(scope="module")
def explorer():
    return lesson.picker()


def test_every_value_of_every_control_draws_without_a_message(explorer):
    ladders = {
        "part": [one.name for one in items()],
        "units": lesson.UNITS,
        "spares": range(5),
        "expert": lesson.RANKS,
        "per_gpu": lesson.PER_GPU,
        "precision": ("bf16", "fp8", "fp4"),
        "interval_s": lesson.INTERVALS,
    }
    for start in (lesson.START, MENDED | {"part": "gb200-rack", "units": 1}):
        explorer.set(**start)
        for name, values in ladders.items():
            seen = set()
            for value in values:
                explorer.set(**start | {name: value})
                assert (explorer.message, explorer.stale) == ("", False)
                assert len(explorer.figure.data) == 2
                seen.add(
                    (explorer.figure.layout.title.text, explorer.view.formula.value, str(meta_of(explorer.figure)))
                )
            assert len(seen) > 1, name


def test_what_is_no_design_is_said_and_drawn_with_nothing_claimed(explorer):
    explorer.set(**lesson.START | {"units": 1})
    assert explorer.figure.layout.title.text.startswith("No gate is reached")
    assert "at least one has to work" in explorer.view.said.value
    explorer.set(**lesson.START | {"per_gpu": 320})
    assert "does not fit in memory" in explorer.view.said.value


def test_the_answers_to_the_explorers_questions_hold():
    states = lambda **more: {  # noqa: E731
        v.target.measure.name: v.state for v in lesson.pick(**lesson.START | more).report.verdicts
    }
    assert [n for n, s in states().items() if s != gates.MET] == ["tokens_per_s", "goodput", "cost_per_million_tokens"]
    assert set(states(units=4, per_gpu=160, interval_s=28_800.0).values()) == {gates.MET}
    assert states(units=4, per_gpu=160, interval_s=14_400.0)["goodput"] == gates.MISSED
    assert states(units=3, per_gpu=160, interval_s=28_800.0)["tokens_per_s"] == gates.MISSED
    four = states(units=3, per_gpu=224, interval_s=28_800.0, precision="fp4")
    assert [n for n, s in four.items() if s != gates.MET] == ["quality_loss"]
    rack = {"part": "gb200-rack", "units": 1, "spares": 4, "expert": 16, "interval_s": 28_800.0}
    assert [n for n, s in states(**rack).items() if s != gates.MET] == ["cost_per_million_tokens", "budget"]
    usd = lesson.pick(**lesson.START | rack).priced.usd_per_mtoken
    bound = {t.measure.name: t.bound for t in lesson.targets().targets}
    assert usd / bound["cost_per_million_tokens"] == pytest.approx(7 / 6, abs=0.02)  # "a sixth more load"
    price_usd = next(i.price.value for i in items() if i.name == "gb200-rack")
    assert 1 - bound["budget"] / price_usd == pytest.approx(1 / 8, abs=0.007)  # "an eighth of the price"


def test_the_numbers_of_the_prose_are_those_of_the_models():
    honest = price(lesson.design())
    assert "Eleven minutes are another cluster's median" in TEXT
    assert known("restart-lablup").value == 11 * 60
    ratios = {r.system: r.model_per_s / r.measured_per_s for r in served() if r.phase == "decode"}
    assert 1.0 < ratios["dgx-h100"] < 1.1  # "less than a tenth too high"
    assert 1.5 < ratios["gb200-nvl72"] < 1.7  # "too high by more than half"
    assert margin() == pytest.approx(1 / max(ratios.values()))
    assert 1 - honest.goodput < 0.01  # "loses less than one" per cent
    short = [gatespicture._ratio(v) for v in lesson.check(lesson.design()).verdicts]
    assert sum(r > 0.9 for r in short) == 4  # "latency, rate, cost and purchase"
    hasty = price(lesson.design(interval_s=900))
    assert 1 - hasty.goodput == pytest.approx(0.27, abs=0.03)  # "wastes a quarter"
    thin = price(lesson.design(units=3, requests=1920, precision="fp4"))
    assert thin.latency_s < 0.05 < 80e3 < thin.tokens_per_s  # "three boxes do the work of four"
    cards = [price(lesson.design(cards=c)) for c in (8, 4)]
    assert cards[1].all_reduce_s / cards[0].all_reduce_s == pytest.approx(2, abs=0.15)
    assert 1 - cards[1].usd_per_mtoken / cards[0].usd_per_mtoken == pytest.approx(0.1, abs=0.02)
    ladder = [price(lesson.design(requests=r)) for r in (640, 1280, 1920)]
    assert ladder[1].latency_s / ladder[0].latency_s < 1.4  # "far less than twice"
    assert ladder[2].latency_s > 0.05
    wider = [price(lesson.design(units=7, expert=n, requests=160 * n)).latency_s for n in (8, 16)]
    assert wider[1] > 1.2 * wider[0]
    assert sum(i.price.kind == "assumed" for i in items()) == 2  # "two of them are assumed"
    newest = next(f for f in lesson.shelf() if f.priced.item.name == "rubin-rack")
    assert any(v.state == gates.OUTSIDE for v in newest.report.verdicts)


def test_boxes_are_cheaper_below_the_crossing_and_racks_where_they_are_full():
    cost, first = lesson.by_demand(), lesson.DEMANDS.index(lesson.crossing())
    racks = zip(*(cost[name] for name in ("GB200", "GB300", "Rubin")), strict=True)
    assert all(box < min(rack) for box, rack in zip(cost["B200"][:first], list(racks)[:first], strict=True))
    ratio = [box / rack for box, rack in zip(cost["B200"], cost["GB200"], strict=True)]
    assert max(ratio) > 2  # "by more than two where it is full"
    assert min(ratio[first + 5 :]) < 1  # "the boxes are cheaper once more"


def test_a_review_that_is_overdue_stops_a_design_that_passed():
    late = lesson.check(lesson.design(), on=dt.date(2027, 2, 15))
    assert lesson.check(lesson.design()).passes
    assert not late.passes
    assert all("review was due" in text for text in lesson.stopping(late))


@pytest.mark.parametrize(
    "picture",
    [lesson.shelf_picture, lesson.demand_picture, lambda: lesson.gates_picture(lesson.check(lesson.design()))],
)
@pytest.mark.parametrize("ground", ["light", "dark"])
def test_pictures_are_drawn_on_both_grounds(picture, ground):
    with themed(ground):
        alt, columns, table = meta_of(picture())
    assert any(c.isdigit() for c in alt)
    assert all(len(row) == len(columns) for row in table)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: reviewing.gates([], [], [], [], title="x"), "no gates"),
        (lambda: reviewing.gates(["a"], [1.0, 2.0], ["met"], ["a"], title="x"), "ratio has 2"),
        (lambda: reviewing.shelf(["a"], [-1.0], [2024], [""], title="x"), "usd"),
        (lambda: reviewing.over_demand([1.0], {}, {}, title="x"), "no parts"),
        (lambda: lesson.gate_text("beauty"), "no gate beauty"),
    ],
)
def test_what_does_not_fit_is_refused(call, word):
    with pytest.raises(CourseError, match=word):
        call()
