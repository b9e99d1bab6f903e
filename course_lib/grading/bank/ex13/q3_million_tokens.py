"""Question 13.q3: what a million tokens cost."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.cluster import cost
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex13.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question

YEAR_h = 8760.0


def usd_per_million(
    purchase_usd: float,
    years: float,
    spare_share: float,
    it_kW: float,
    pue: float,
    usd_per_kWh: float,
    staff_share: float,
    tokens_per_s: float,
    useful: float,
) -> float:
    """Return USD for a million tokens that count.

    >>> round(usd_per_million(8.76e6, 4, 0.05, 1000, 1.2, 0.1, 0.05, 1e5, 0.9), 3)
    1.343
    """
    bought = purchase_usd * (1 + spare_share)
    year = bought / years + it_kW * pue * YEAR_h * usd_per_kWh + bought * staff_share
    return float(cost.usd_per_million_tokens(year, tokens_per_s, useful))


def _cost_cases(rng: np.random.Generator) -> list[Case]:
    names = (
        "purchase_usd",
        "years",
        "spare_share",
        "it_kW",
        "pue",
        "usd_per_kWh",
        "staff_share",
        "tokens_per_s",
        "useful",
    )
    rows = [
        (4e6, 4, 0.0, 0.0, 1.0, 0.08, 0.0, 1e5, 1.0),
        (4e6, 4, 0.0, 100.0, 1.5, 0.08, 0.0, 1e5, 1.0),
        (4e6, 4, 0.1, 100.0, 1.5, 0.08, 0.05, 1e5, 0.5),
    ]
    for _unused in range(5):
        gpus = int(2 ** rng.integers(6, 15))
        rows.append(
            (
                gpus * float(rng.integers(30, 60)) * 1000,
                int(rng.integers(3, 7)),
                round(float(rng.uniform(0.02, 0.1)), 3),
                gpus * float(round(rng.uniform(1.0, 1.8), 2)),
                round(float(rng.uniform(1.1, 1.6)), 2),
                round(float(rng.uniform(0.06, 0.25)), 3),
                round(float(rng.uniform(0.03, 0.1)), 3),
                gpus * float(rng.integers(100, 2000)),
                round(float(rng.uniform(0.5, 0.95)), 3),
            )
        )
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _priced(**changes: object) -> Callable[..., float]:
    """Return the cost by a learner who replaces some inputs: a number, or a function of all inputs."""

    def wrong(**given: float) -> float:
        return usd_per_million(**given | {k: v(given) if callable(v) else v for k, v in changes.items()})

    return wrong


q3 = Question(
    id="13.q3",
    title=_("What a million tokens cost"),
    points=2,
    answer="usd_per_million",
    kind="function",
    expects=Number("USD"),
    inputs=_cost_cases,
    reference=usd_per_million,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "purchase price only",
            _priced(spare_share=0.0, it_kW=0.0, staff_share=0.0, useful=1.0),
            _("You count the purchase and nothing else. Power, spares, people and lost time are on the bill as well."),
        ),
        Misconception(
            "purchase price only, with lost time",
            _priced(spare_share=0.0, it_kW=0.0, staff_share=0.0),
            _("You count the purchase and the lost time. Power, spares and people are on the bill as well."),
        ),
        Misconception(
            "a machine that never stops",
            _priced(useful=1.0),
            _("You let the cluster work all year. Only useful time makes tokens that count, and the bill runs on."),
        ),
        Misconception(
            "cost shrinks with useful time",
            lambda **given: usd_per_million(**given | {"useful": 1.0}) * given["useful"],
            _("You multiply by the useful share. Fewer tokens for the same bill cost more each: it divides."),
        ),
        Misconception(
            "power at the plug of the host",
            _priced(pue=1.0),
            _("You bill the power of the hosts. Cooling and supply draw on top: multiply by the PUE."),
        ),
        Misconception(
            "all of the purchase in one year",
            _priced(years=1.0),
            _("You charge the whole purchase to one year. It is written off over its years."),
        ),
        Misconception(
            "spares forgotten",
            _priced(spare_share=0.0),
            _("You leave the spares out. They are bought and looked after like the rest."),
        ),
        Misconception(
            "people forgotten",
            _priced(staff_share=0.0),
            _("You leave the people out: a share of everything bought, every year."),
        ),
        Misconception(
            "people paid once",
            lambda **given: usd_per_million(**given | {"staff_share": given["staff_share"] / given["years"]}),
            _("You pay the people once for all years. Their share of everything bought is due every year."),
        ),
        Misconception(
            "people by the purchase without spares",
            lambda **given: usd_per_million(
                **given | {"staff_share": given["staff_share"] / (1 + given["spare_share"])}
            ),
            _("You take the people's share of the purchase alone. Spares are bought and looked after, too."),
        ),
        Misconception(
            "power forgotten",
            _priced(it_kW=0.0),
            _("You leave electricity out, or bill one hour of it. The hosts draw power all year: 8,760 hours."),
        ),
        Misconception(
            "power rests while nothing counts",
            _priced(it_kW=lambda given: given["it_kW"] * given["useful"]),
            _("You let power rest in the time that does not count. Lost time draws power as well."),
        ),
        Misconception(
            "a year of hours for one of seconds",
            lambda **given: usd_per_million(**given) * 3600,
            _("You count the hours of a year against tokens a second. A year has 8,760 × 3,600 seconds."),
        ),
    ),
)
