"""Lesson 14: gains and errors, quarter by quarter."""

from dataclasses import dataclass

from course_lib.base.language import _
from course_lib.base.scale import say_number


@dataclass(frozen=True, slots=True)
class Quarter:
    """What was predicted and what came, in the same units: USD a million tokens, and hours that errors cost."""

    name: str
    predicted_usd: float
    came_usd: float
    lost_h: float


def tracked(before_usd: float, quarters: "list[Quarter]", tokens: float, usd_per_hour: float) -> None:
    """Print the gain of a change against what its errors cost, quarter by quarter and in sum.

    Args:
        before_usd: USD a million tokens before the change.
        quarters: what was predicted and what came.
        tokens: tokens sold in a quarter.
        usd_per_hour: what an hour of the stopped pool costs.

    >>> tracked(1.0, [Quarter("Q1", 0.8, 0.9, 10.0)], 1e12, 200.0)
    Q1: predicted 0.8 USD, came 0.9 (+12 %); gained 0.1 MUSD, errors cost 0.002 MUSD
    in all: gained 0.1 MUSD, errors cost 0.002 MUSD
    """
    gained = lost = 0.0
    for q in quarters:
        gain, cost = (before_usd - q.came_usd) * tokens / 1e6, q.lost_h * usd_per_hour
        gained, lost = gained + gain, lost + cost
        text = _("{name}: predicted {p} USD, came {c} ({e:+.0f} %); gained {g} MUSD, errors cost {l} MUSD")
        print(
            text.format(
                name=q.name,
                p=say_number(q.predicted_usd, 3),
                c=say_number(q.came_usd, 3),
                e=100 * (q.came_usd / q.predicted_usd - 1),
                g=say_number(gain / 1e6, 2),
                l=say_number(cost / 1e6, 2),
            )
        )
    text = _("in all: gained {g} MUSD, errors cost {l} MUSD")
    print(text.format(g=say_number(gained / 1e6, 2), l=say_number(lost / 1e6, 2)))
