"""Designs of lesson 14: the models price them, nothing that a design says about itself counts, and cheats get a sentence."""

import datetime as dt
import math
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib import cluster
from course_lib.base.errors import CourseError
from course_lib.cluster import gates
from course_lib.cluster.catalogue import items
from course_lib.cluster.design import Work, claims, margin, measured_ranks, price
from course_lib.cluster.proposal import proposal
from course_lib.cluster.shortlist import best, by_part
from course_lib.cluster.targets import read_targets

TARGETS = read_targets(Path(cluster.__file__).parent / "data" / "design_targets.toml")
DAY = dt.date(2026, 12, 1)
HONEST = {
    "part": "b200-box",
    "units": 4,
    "spares": 1,
    "cards": 8,
    "tensor": 1,
    "expert": 8,
    "requests": 1280,
    "precision": "fp8",
    "interval_s": 72e3,
}


def states(design, work=None):
    report = gates.check(TARGETS, claims(price(design, work)), DAY)
    return {v.target.measure.name: v.state for v in report.verdicts}


def test_an_honest_design_meets_every_gate():
    assert set(states(HONEST).values()) == {gates.MET}


@pytest.mark.parametrize(
    ("change", "gate", "state"),
    [
        ({"requests": 2000}, "token_latency", gates.MISSED),
        ({"requests": 512}, "tokens_per_s", gates.MISSED),
        ({"cards": 4}, "all_reduce_time", gates.MISSED),
        ({"interval_s": 1800.0}, "goodput", gates.MISSED),
        ({"spares": 0, "units": 3}, "goodput", gates.MISSED),
        ({"precision": "fp4"}, "quality_loss", gates.UNKNOWN),
        ({"units": 8}, "budget", gates.MISSED),
        ({"units": 8}, "cost_per_million_tokens", gates.MISSED),
        ({"part": "h200-box", "requests": 128}, "token_latency", gates.OUTSIDE),
        ({"part": "gb300-rack", "units": 1, "cards": 4}, "token_latency", gates.OUTSIDE),
        ({"part": "rubin-rack", "units": 1}, "goodput", gates.OUTSIDE),
        (
            {"part": "gb200-rack", "units": 1, "cards": 4, "expert": 64, "requests": 4096},
            "token_latency",
            gates.OUTSIDE,
        ),
    ],
)
def test_each_slip_is_stopped_by_its_gate(change, gate, state):
    assert states(HONEST | change)[gate] == state


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"units": 0}, "units is 0"),
        ({"units": -3}, "units is -3"),
        ({"units": 1e9}, "units is"),
        ({"units": True}, "units is True"),
        ({"units": 3.5}, "units is 3.5"),
        ({"units": math.nan}, "units is nan"),
        ({"units": "4"}, "units is '4'"),
        ({"spares": -1}, "spares is -1"),
        ({"spares": 4}, "at least one has to work"),
        ({"spares": 10**9}, "at least one has to work"),
        ({"cards": 9}, "cards is 9"),
        ({"cards": 0}, "cards is 0"),
        ({"expert": 32}, "needs 32 GPUs, and 24 work"),
        ({"expert": -8}, "expert is -8"),
        ({"expert": 8, "tensor": 3}, r"multiple of 3|do not divide"),
        ({"requests": 0}, "requests is 0"),
        ({"requests": 10**7}, "requests is"),
        ({"requests": math.inf}, "requests is inf"),
        ({"interval_s": math.nan}, "interval_s is nan"),
        ({"interval_s": -1.0}, "interval_s is -1"),
        ({"interval_s": 0}, "interval_s is 0"),
        ({"interval_s": 1e12}, "30 days"),
        ({"interval_s": [1.0, 2.0]}, "holds 2 numbers"),
        ({"precision": "fp2"}, "fp2"),
        ({"precision": 1}, "a word is expected"),
        ({"part": "b300-box"}, "b300-box"),
        ({"part": None}, "a word is expected"),
        ({"token_latency": "1 ms"}, "cannot state its own token_latency"),
        ({"goodput": 1.0}, "cannot state its own goodput"),
        ({"targets": {"budget": {"at_most": "900 MUSD"}}}, "cannot state its own targets"),
        ({"discount": 0.9}, "no key 'discount'"),
        ({"unit": 3}, "nearest is units"),
    ],
)
def test_a_cheat_is_refused_with_a_sentence(change, words):
    with pytest.raises(CourseError, match=words):
        price(HONEST | change)


@pytest.mark.parametrize("design", [None, 4, "b200-box", [HONEST], {}, {"units": 3}])
def test_what_is_no_design_is_refused(design):
    with pytest.raises(CourseError, match=r"a dict is expected|lacks"):
        price(design)


def test_a_design_that_does_not_fit_makes_no_claims():
    found = price(HONEST | {"requests": 4000})
    assert not found.fit.fits
    with pytest.raises(CourseError, match="does not fit in memory"):
        claims(found)


def test_tokens_that_nobody_asks_for_do_not_lower_the_cost():
    """More requests at a time deliver more than is asked: the bill and the tokens sold stay."""
    few, many = (price(HONEST | {"requests": r}) for r in (1280, 1600))
    assert many.tokens_per_s > few.tokens_per_s > Work().tokens_per_s
    assert many.usd_per_mtoken == pytest.approx(few.usd_per_mtoken)
    short = price(HONEST | {"requests": 256})
    assert short.usd_per_mtoken > 1.5 * few.usd_per_mtoken


def test_spares_are_on_the_bill_and_do_no_work():
    more = price(HONEST | {"units": 5, "spares": 2})
    base = price(HONEST)
    assert more.tokens_per_s == base.tokens_per_s
    assert more.bill.usd_per_year > 1.15 * base.bill.usd_per_year
    assert more.bill.lines["spares"] == 0


def test_every_claim_is_cut_by_what_the_model_missed_where_it_was_measured():
    assert margin() < 0.9
    assert measured_ranks("dgx-h200") == 0


def test_the_newest_part_is_not_the_best_and_the_order_changes_with_the_work():
    shelf = by_part(Work(), TARGETS, on=DAY)
    passing = [f.priced.item for f in shelf if not f.stopped_by]
    assert [i.name for i in passing] == ["b200-box"]
    assert max(items(), key=lambda i: i.year).name == "rubin-rack"
    dearer = [
        f.priced.usd_per_mtoken for f in shelf if f.priced.item.year > passing[0].year or "rack" in f.priced.item.name
    ]
    mine = next(f for f in shelf if f.priced.item.name == "b200-box").priced.usd_per_mtoken
    assert min(dearer) > mine
    box, rack = (best(n, Work(tokens_per_s=400e3), TARGETS, on=DAY).priced for n in ("b200-box", "gb200-rack"))
    assert rack.usd_per_mtoken < box.usd_per_mtoken


def test_a_design_may_be_given_as_a_proposal():
    assert price(proposal(HONEST)) == price(HONEST)
    with pytest.raises(CourseError):
        price(replace(proposal(HONEST), units=-1))


def test_every_number_of_the_catalogue_says_where_it_came_from():
    for shelf in items():
        for number in (shelf.price, shelf.power):
            assert number.note if number.kind == "assumed" else number.source and number.address.startswith("https://")
