"""Question 10.q4: copies of a token that leave a box."""

import math
from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.bank.ex10.rack import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def copies(n_experts: int, n_active: int, n_gpus: int, per_domain: int) -> dict[str, float]:
    """Return copies of one token that leave its domain on average: sent straight, and once for each other domain.

    >>> {k: round(v, 2) for k, v in copies(256, 8, 64, 8).items()}
    {'straight': 7.0, 'once': 4.63}
    """
    domains = n_gpus // per_domain
    away = 1 - 1 / domains
    missed = math.comb(n_experts - n_experts // domains, n_active) / math.comb(n_experts, n_active)
    return {"straight": n_active * away, "once": domains * (1 - missed) * away}


def _copies_cases(rng: np.random.Generator) -> list[Case]:
    names = ("n_experts", "n_active", "n_gpus", "per_domain")
    rows = [(256, 8, 64, 64), (8, 2, 8, 4), (16, 4, 16, 4), (256, 8, 64, 8), (256, 8, 256, 64), (128, 1, 32, 8)]
    for _i in range(6):
        per_domain, domains = int(rng.choice([4, 8, 16])), int(rng.choice([2, 4, 8]))
        n = per_domain * domains
        rows.append((n * int(rng.integers(1, 5)), int(rng.integers(2, 7)), n, per_domain))
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _copies_with(change: Callable[..., dict[str, float]]) -> Callable[..., dict[str, float]]:
    return lambda n_experts, n_active, n_gpus, per_domain: (
        copies(n_experts, n_active, n_gpus, per_domain) | change(n_experts, n_active, n_gpus // per_domain)
    )


q4 = Question(
    id="10.q4",
    title=_("Copies of a token that leave the domain"),
    points=2,
    answer="copies",
    kind="function",
    expects=Entries(Number(tolerance=0.005, near_zero=1e-9), each=False),
    inputs=_copies_cases,
    reference=copies,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "every copy leaves",
            _copies_with(lambda e, k, d: {"straight": float(k)}),
            _("You let all copies leave. Some experts sit in the token's own domain, a share of 1/domains of them."),
        ),
        Misconception(
            "one for every domain",
            _copies_with(lambda e, k, d: {"once": d - 1.0}),
            _("You send a copy to every other domain. A token has work only where one of its experts is."),
        ),
        Misconception(
            "a copy for each expert both times",
            _copies_with(lambda e, k, d: {"once": k * (1 - 1 / d)}),
            _(
                "You send a copy for each expert both times. A domain with two of a token's experts gets one copy of it."
            ),
        ),
        Misconception(
            "one for each GPU",
            lambda n_experts, n_active, n_gpus, per_domain: (
                copies(n_experts, n_active, n_gpus, per_domain)
                | {
                    "once": (n_gpus - per_domain)
                    * (1 - math.comb(n_experts - n_experts // n_gpus, n_active) / math.comb(n_experts, n_active))
                }
            ),
            _("You send a copy to each GPU that has work. One goes to its domain, and is passed on inside."),
        ),
        Misconception(
            "as many domains as experts",
            _copies_with(lambda e, k, d: {"once": min(k, d) * (1 - 1 / d)}),
            _("You put each of the token's experts in another domain. Two of them may sit in the same one."),
        ),
        Misconception(
            "home counted once",
            _copies_with(lambda e, k, d: {"once": d * (1 - math.comb(e - e // d, k) / math.comb(e, k))}),
            _(
                "You send a copy to the token's own domain as well. Of all domains that have work, one in `domains` is its own."
            ),
        ),
        Misconception(
            "home counted",
            _copies_with(
                lambda e, k, d: {"once": d * (1 - math.comb(e - e // d, k) / math.comb(e, k)), "straight": float(k)}
            ),
            _("You count what stays at home. Of all domains that have work, one in `domains` is the token's own."),
        ),
        Misconception(
            "an expert twice",
            _copies_with(lambda e, k, d: {"once": (d - 1) * (1 - (1 - 1 / d) ** k)}),
            _("You draw experts as if one could come twice. A token visits n_active different ones."),
        ),
        Misconception(
            "the chance of none",
            _copies_with(lambda e, k, d: {"once": (d - 1) * math.comb(e - e // d, k) / math.comb(e, k)}),
            _("You count domains that have none of the experts. A copy goes to those that have one or more."),
        ),
        Misconception(
            "what stays for what leaves",
            _copies_with(lambda e, k, d: {"straight": k / d}),
            _('Your "straight" counts the copies that stay. One in `domains` stays; the others leave.'),
        ),
        Misconception(
            "another GPU for another domain",
            lambda n_experts, n_active, n_gpus, per_domain: (
                copies(n_experts, n_active, n_gpus, per_domain) | {"straight": n_active * (1 - 1 / n_gpus)}
            ),
            _("You count every copy that goes to another GPU. Only those to another domain leave it."),
        ),
        Misconception(
            "exchanged",
            lambda n_experts, n_active, n_gpus, per_domain: dict(
                zip(("once", "straight"), copies(n_experts, n_active, n_gpus, per_domain).values())
            ),
            _('You have exchanged "straight" and "once". Sent straight, there is a copy for each expert.'),
        ),
    ),
)
