"""Question 10.q5: the largest degree of expert parallelism that pays."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Number
from course_lib.grading.bank.ex10.rack import WITHHELD
from course_lib.grading.question import Case, Misconception, Question

EXPERTS, ACTIVE, OUT_B, BACK_B = 256, 8, 7408, 14336
DEGREES = (2, 4, 8, 16, 32, 64, 128, 256)
ARGUMENTS = ("tokens", "per_domain", "read_us", "launch_us", "nvlink_GBps", "card_GBps", "target_us")


def layer_us(
    degree: int,
    tokens: int,
    per_domain: int,
    read_us: float,
    launch_us: float,
    nvlink_GBps: float,
    card_GBps: float,
    *,
    exchanges: int = 2,
    launches: int | None = None,
    read_all: bool = False,
    all_over_card: bool = False,
    one_domain: bool = False,
    copies: int = ACTIVE,
    free_inside: bool = False,
    both_links: bool = False,
    hidden: bool = False,
    read_one: bool = False,
) -> float:
    """Return µs of a layer of experts at a degree; the options are what people get wrong.

    >>> round(layer_us(64, 128, 8, 6.9, 20, 500, 45))
    501
    """
    sent_B = tokens * copies * (OUT_B + (BACK_B if exchanges == 2 else 0))
    inside = degree <= per_domain or one_domain
    away = (degree - (1 if inside or all_over_card else per_domain)) / degree
    rate = nvlink_GBps if inside else card_GBps
    reading = read_us * (1 if read_one else EXPERTS if read_all else EXPERTS / degree)
    sending = 0.0 if inside and free_inside else away * sent_B / (rate * 1e3)
    if both_links and not inside:
        sending += (per_domain - 1) / degree * sent_B / (nvlink_GBps * 1e3)
    return (max(reading, sending) if hidden else reading + sending) + (launches or exchanges) * launch_us


def _largest(
    stop_at_first: bool = False, smallest: bool = False, quickest: bool = False, **options: Any
) -> Callable[..., int]:
    def model(
        tokens: int,
        per_domain: int,
        read_us: float,
        launch_us: float,
        nvlink_GBps: float,
        card_GBps: float,
        target_us: float,
    ) -> int:
        best, least = 0, math.inf
        for e in DEGREES:
            time_us = layer_us(e, tokens, per_domain, read_us, launch_us, nvlink_GBps, card_GBps, **options)
            if quickest:
                best, least = (e, time_us) if time_us < min(least, target_us) else (best, least)
            elif time_us <= target_us:
                best = best if smallest and best else e
            elif stop_at_first:
                break
        return best

    return model


largest_degree = _largest()


def _degree_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        (128, 8, 6.9, 20.0, 500.0, 45.0, 300.0),
        (128, 64, 6.9, 20.0, 500.0, 45.0, 150.0),
        (8, 8, 6.9, 20.0, 500.0, 45.0, 130.0),
        (128, 8, 6.9, 20.0, 500.0, 45.0, 50.0),
        (32, 64, 6.9, 20.0, 500.0, 45.0, 70.0),
        (64, 8, 6.9, 20.0, 500.0, 45.0, 290.0),
        (64, 8, 1.0, 20.0, 500.0, 45.0, 340.0),
        (1, 256, 1.0, 5.0, 500.0, 45.0, 1e6),
        (128, 8, 1.0, 20.0, 900.0, 20.0, 100.0),  # one copy a token and NVLink everywhere are told apart
        (128, 8, 30.0, 20.0, 500.0, 45.0, 530.0),  # reading one expert, and reading while sending
    ]
    for _i in range(10):
        setting = (
            int(rng.choice([4, 16, 64, 128, 256])),
            int(rng.choice([8, 32, 64])),
            round(float(rng.uniform(2, 12)), 1),
            round(float(rng.uniform(8, 40)), 1),
            round(float(rng.uniform(300, 700))),
            round(float(rng.uniform(20, 95))),
        )
        times = sorted(layer_us(e, *setting) for e in DEGREES)
        k = int(rng.integers(1, len(times) - 1))  # a target between two degrees, clear of both
        rows.append((*setting, round(math.sqrt(times[k] * times[k + 1]), 3)))
    return [Case(dict(zip(ARGUMENTS, row, strict=True))) for row in rows]


q5 = Question(
    id="10.q5",
    title=_("The largest degree under a latency target"),
    points=3,
    answer="largest_degree",
    kind="function",
    expects=Number(_("GPUs"), whole=True),
    inputs=_degree_cases,
    reference=largest_degree,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "the first miss ends the search",
            _largest(stop_at_first=True),
            _("You stop at the first degree that is too slow. Small degrees read more experts; a larger one may do."),
        ),
        Misconception(
            "the smallest in time",
            _largest(smallest=True),
            _("You return the first degree that is in time. The largest was asked for."),
        ),
        Misconception(
            "the quickest in time",
            _largest(quickest=True),
            _("You return the degree with the shortest layer. The largest one in time was asked for."),
        ),
        Misconception(
            "one expert for a token",
            _largest(copies=1),
            _("You send one copy of each token. It goes to 8 experts, out and back."),
        ),
        Misconception(
            "nothing sent inside",
            _largest(free_inside=True),
            _("Inside a domain you send for nothing. There (degree − 1)/degree of the bytes go over NVLink."),
        ),
        Misconception(
            "one launch",
            _largest(launches=1),
            _("You pay one launch. Dispatch and combine are launched each."),
        ),
        Misconception(
            "dispatch only",
            _largest(exchanges=1),
            _("You price one exchange. Results have to come back: dispatch and combine, with a launch each."),
        ),
        Misconception(
            "every GPU reads all experts",
            _largest(read_all=True),
            _("Your GPUs read all experts at every degree. Each reads its own share of them."),
        ),
        Misconception(
            "all bytes over the card",
            _largest(all_over_card=True),
            _(
                "You send over the card what stays in the domain. Only (degree − per_domain)/degree of the bytes leave it."
            ),
        ),
        Misconception(
            "one domain for all",
            _largest(one_domain=True),
            _("You price NVLink at every degree. Beyond per_domain GPUs the card carries what leaves."),
        ),
        Misconception(
            "both links one after the other",
            _largest(both_links=True),
            _("You add NVLink's time to the card's. What stays inside hides behind what leaves."),
        ),
        Misconception(
            "one expert read",
            _largest(read_one=True),
            _("Your GPUs read one expert at every degree. Each reads the 256 / degree that it holds."),
        ),
        Misconception(
            "reading hidden",
            _largest(hidden=True),
            _("You let reading and sending go on at once. The three parts come one after the other."),
        ),
    ),
)
