"""Question 14.q1: a design that the gates let through."""

import datetime as dt
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from course_lib import cluster
from course_lib.base.language import _
from course_lib.cluster import gates
from course_lib.cluster.design import Priced, Work, claims, price, requests_that_fit
from course_lib.cluster.targets import read_targets
from course_lib.grading.answers import Plain
from course_lib.grading.question import Misconception, Question

FILE = Path(cluster.__file__).parent / "data" / "design_targets.toml"
DAY = dt.date(2026, 12, 1)  # of the review: a gate must not become overdue while a course runs
# Tokens a second from, to, and in steps of; USD a year and token rate that the gate allows; the purchase; a design that meets them.
# At small demands boxes win, at large ones the rack.
PLACED = {"tensor": 1, "precision": "fp8"}
BOXES = {"part": "b200-box", "spares": 1, "cards": 8, "expert": 8, "requests": 1560}
RACK = {"part": "gb200-rack", "units": 1, "spares": 2, "cards": 4, "expert": 32, "requests": 8192}

BRIEFS = (
    (52e3, 60e3, 57e3, "2.2 MUSD", BOXES | {"units": 3}),
    (72e3, 90e3, 72e3, "2.7 MUSD", BOXES | {"units": 4}),
    (160e3, 400e3, 91e3, "3.3 MUSD", RACK),
)

STEP = 2e3


def _brief(rng: np.random.Generator) -> dict[str, Any]:
    low, high, usd, budget, _right = BRIEFS[int(rng.integers(len(BRIEFS)))]
    tokens_per_s = float(low + STEP * rng.integers(int((high - low) / STEP) + 1))
    file = tomllib.loads(FILE.read_text(encoding="utf-8"))
    gate = {name: {k: str(v) for k, v in table.items()} for name, table in file["targets"].items()}
    gate["tokens_per_s"]["at_least"] = f"{tokens_per_s / 1e3:g} ktokens/s"
    gate["cost_per_million_tokens"]["at_most"] = f"{usd / tokens_per_s:.3f} USD/Mtokens"
    gate["budget"]["at_most"] = budget
    return {"tokens_per_s": tokens_per_s, "targets": {"title": file["title"], "targets": gate}}


@cache
def _reference(tokens_per_s: float) -> dict[str, Any]:
    """Return a design that meets every gate of the brief with this many tokens a second, saving as seldom as is best."""
    right = next(right for low, high, _u, _b, right in BRIEFS if low <= tokens_per_s <= high) | PLACED
    seen = price(right | {"interval_s": 3600.0}, Work(tokens_per_s=tokens_per_s))
    return right | {"interval_s": float(round(seen.best_interval_s, -3))}


def design(tokens_per_s: float, targets: Mapping[str, Any]) -> dict[str, Any]:
    """Return a design that meets every gate.

    >>> design(**_brief(np.random.default_rng(1)))["part"] in ("b200-box", "gb200-rack")
    True
    """
    return dict(_reference(tokens_per_s))


def _priced(answer: Any, tokens_per_s: float) -> Priced:
    return price(answer, Work(tokens_per_s=tokens_per_s))


def judged(answer: Any, tokens_per_s: float, targets: Mapping[str, Any]) -> dict[str, str]:
    """Return a sentence for each gate that stops the design, "" for each that is met; raises CourseError where it is no design."""
    report = gates.check(read_targets(targets), claims(_priced(answer, tokens_per_s)), DAY)
    return {v.target.measure.name: "" if v.state == gates.MET else v.sentence for v in report.verdicts}


def _changed(**changes: Any) -> Callable[..., dict[str, Any]]:
    """Return the design of a learner who gets these keys wrong: values, or functions of the right design."""

    def wrong(tokens_per_s: float, targets: Mapping[str, Any]) -> dict[str, Any]:
        right = design(tokens_per_s, targets)
        return {k: v(right) if callable(v) else v for k, v in changes.items()}

    return wrong


def _when(rule: Callable[[Priced], bool]) -> Callable[..., bool]:
    return lambda answer, tokens_per_s, targets: rule(_priced(answer, tokens_per_s))


def _missing(gate: str, rule: Callable[[Priced, float], bool] = lambda found, asked: True) -> Callable[..., bool]:
    """Return a test for designs that fit, miss a gate by the models' number, and keep `rule(priced, tokens asked for)`."""
    number = {
        "token_latency": lambda found: found.latency_s,
        "tokens_per_s": lambda found: found.tokens_per_s,
        "all_reduce_time": lambda found: found.all_reduce_s,
        "goodput": lambda found: found.goodput,
        "cost_per_million_tokens": lambda found: found.usd_per_mtoken,
    }[gate]

    def recognise(answer: Any, tokens_per_s: float, targets: Mapping[str, Any]) -> bool:
        found = _priced(answer, tokens_per_s)
        claims(found)  # raises where the design does not fit, and then that is what there is to say
        target = next(t for t in read_targets(targets).targets if t.measure.name == gate)
        kept = number(found) <= target.bound if target.most else number(found) >= target.bound
        return not kept and rule(found, tokens_per_s)

    return recognise


def _over_the_network(found: Priced, _asked: float) -> bool:
    return found.proposal.tensor * found.proposal.expert > found.item.system.gpus_per_domain


def _for_one_gpu(found: Priced, _asked: float) -> bool:
    """Whether the requests would fit as many times as a copy has GPUs."""
    mine = found.proposal
    fits = requests_that_fit(mine.part, mine.tensor, mine.expert, mine.precision)
    return mine.requests * mine.tensor * mine.expert <= fits


def _boxes(**changes: Any) -> Callable[..., dict[str, Any]]:
    """Return four boxes with these keys, whatever the brief."""
    right = BOXES | PLACED | {"units": 4, "interval_s": 71_000.0}
    return lambda tokens_per_s, targets: right | changes


def _crowded(right: Mapping[str, Any]) -> int:
    """Return requests that fit and come too late: the largest of a coarse ladder that the memory holds."""
    return requests_that_fit(right["part"], right["tensor"], right["expert"], right["precision"])


q1 = Question(
    id="14.q1",
    title=_("A design that its gates let through"),
    points=5,
    answer="design",
    expects=Plain("a dict with the keys of a design", fits=lambda given: type(given) is dict),
    parameters=_brief,
    reference=design,
    accept=judged,
    misconceptions=(
        Misconception(
            "the newest part",
            _changed(part="rubin-rack", units=1, spares=2, cards=8, expert=8, requests=1024, interval_s=40_000.0),
            _(
                "You take the newest part of the catalogue. Nobody has measured it, and what it costs more it does not sell here."
            ),
            recognise=_when(lambda p: p.item.name in ("rubin-rack", "gb300-rack")),
        ),
        Misconception(
            "fewer bits for nothing",
            _changed(precision="fp4"),
            _(
                "You take four bits for their speed. What they cost in answers no model here says, and that gate needs a measurement."
            ),
            recognise=_when(lambda p: p.item.name not in ("rubin-rack", "gb300-rack") and p.quality_loss is None),
        ),
        Misconception(
            "hours for seconds",
            _changed(interval_s=lambda right: round(right["interval_s"] / 3600)),
            _("You give the interval in hours. `interval_s` is in seconds, and so you save all the time."),
            recognise=_missing(
                "goodput", lambda found, _asked: 0.2 < found.proposal.interval_s * 3600 / found.best_interval_s < 5
            ),
        ),
        Misconception(
            "no spares",
            _changed(spares=0),
            _("You buy no spare host. At each failure the night's job then waits a day for a repair."),
            recognise=_missing("goodput", lambda found, _asked: found.proposal.spares == 0),
        ),
        Misconception(
            "saving as often as a large cluster",
            _changed(interval_s=1800.0),
            _(
                "You save as often as a cluster of thousands. Here failures are months apart, and saving takes minutes of a slow storage."
            ),
            recognise=_when(lambda p: p.proposal.interval_s < 0.15 * p.best_interval_s),
        ),
        Misconception(
            "saving too seldom",
            _changed(interval_s=30 * 86_400.0),
            _("You save so seldom that a failure costs days. Balance what is done again against what saving takes."),
            recognise=_missing("goodput", lambda found, _asked: found.proposal.interval_s > 3 * found.best_interval_s),
        ),
        Misconception(
            "a copy over the network",
            _boxes(expert=16, requests=3120),
            _(
                "You spread a copy over more GPUs than a box has. Its exchange crosses the network in every layer, and that costs more "
                "than reading fewer experts saves."
            ),
            recognise=_missing("token_latency", _over_the_network),
        ),
        Misconception(
            "throughput bought with latency",
            _changed(requests=_crowded),
            _("You fill the memory with requests. Tokens a second rise, and each user waits longer for the next one."),
            recognise=_missing("token_latency"),
        ),
        Misconception(
            "requests of one GPU",
            _changed(requests=lambda right: right["requests"] // right["expert"]),
            _("You may have counted the requests of one GPU. `requests` are those of a copy, on all of its GPUs."),
            recognise=_missing("tokens_per_s", _for_one_gpu),
        ),
        Misconception(
            "cards that only the night needs",
            _boxes(cards=1),
            _("You pull cards that serving does not use. By night all working hosts add their gradients over them."),
            recognise=_missing("all_reduce_time", lambda found, _asked: found.proposal.cards < found.item.cards),
        ),
        Misconception(
            "more than is asked for",
            _changed(units=lambda right: right["units"] + (1 if right["part"] == "gb200-rack" else 2)),
            _("You buy more than the brief asks for. Tokens that nobody buys do not pay a bill."),
            recognise=_missing("cost_per_million_tokens", lambda found, asked: found.tokens_per_s > 1.25 * asked),
        ),
    ),
)
