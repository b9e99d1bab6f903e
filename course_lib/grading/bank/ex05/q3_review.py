"""Question 05.q3: review a fix: accept it, or refuse it with a counter-example."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries, Number
from course_lib.grading.question import Misconception, Question

VERDICTS = ("accept", "refuse")


def _claim(rng: np.random.Generator) -> dict[str, float]:
    return {"inner_GBps": 10.0 * int(rng.integers(12, 91))}


def _both_us(message_KB: float, per_box: int, inner_GBps: float) -> tuple[float, float]:
    """Return the µs of the closing all-gather by the fix, and the least that a GPU's link needs for what it has to receive."""
    share = (per_box - 1) / per_box
    return share * message_KB / per_box / inner_GBps, share * message_KB / inner_GBps


def _example(inner_GBps: float, verdict: str = "refuse", per_box: int = 8) -> dict:
    fix_us, least_us = _both_us(1000.0, per_box, inner_GBps)
    return {"verdict": verdict, "message_KB": 1000.0, "per_box": per_box, "fix_us": fix_us, "least_us": least_us}


def _counts(given: dict, inner_GBps: float) -> str:
    """Return "" if the case shows what is wrong with the fix, else why it does not."""
    if given["verdict"] != "refuse":
        return _(
            "The fix stands or falls with the bytes a GPU has to receive. Compare both times for eight GPUs a box."
        )
    message_KB, per_box = given["message_KB"], given["per_box"]
    if message_KB <= 0 or per_box < 1:
        return _("A counter-example needs a message above 0 KB and a box with GPUs in it.")
    fix_us, least_us = _both_us(message_KB, per_box, inner_GBps)
    if per_box == 1:
        return _("With one GPU a box both times are 0: that case does not tell the two apart.")
    for name, right in (("fix_us", fix_us), ("least_us", least_us)):
        if abs(given[name] - right) > 0.01 * right * (1 + 1e-9):
            return _("For your case {name} is not {value} µs.").format(name=name, value=f"{given[name]:.4g}")
    return ""


def _near(given: float, other: float) -> bool:
    return abs(given - other) <= 0.01 * abs(other)


def _shows(given: dict) -> bool:
    """Whether the case is one in which bytes move."""
    return given["per_box"] > 1 and given["message_KB"] > 0


def _full_price(given: dict, inner_GBps: float) -> bool:
    message_KB, per_box = given["message_KB"], given["per_box"]
    wrong = message_KB / per_box / inner_GBps, _both_us(message_KB, per_box, inner_GBps)[1]
    return _shows(given) and any(_near(given["fix_us"], one) for one in wrong)


def _own_shard(given: dict, inner_GBps: float) -> bool:
    return _shows(given) and _near(given["least_us"], given["message_KB"] / inner_GBps)


def _both_shards(given: dict, inner_GBps: float) -> bool:
    fix_us, _least = _both_us(given["message_KB"], given["per_box"], inner_GBps)
    return _shows(given) and _near(given["least_us"], fix_us)


q3 = Question(
    id="05.q3",
    title=_("Review a fix: accept it, or refuse it with a counter-example"),
    points=2,
    answer="review",
    expects=Entries(
        {
            "verdict": Choice(VERDICTS),
            "message_KB": Number("KB"),
            "per_box": Number(whole=True),
            "fix_us": Number("µs"),
            "least_us": Number("µs"),
        }
    ),
    parameters=_claim,
    reference=_example,
    accept=_counts,
    misconceptions=(
        Misconception(
            "the fix is accepted",
            lambda inner_GBps: _example(inner_GBps, "accept"),
            _(
                "You accept that an all-gather which starts from shards moves a fraction of the bytes. Count what one GPU lacks "
                "when it begins: all of the vector but its own shard."
            ),
            recognise=lambda given, inner_GBps: given["verdict"] == "accept",
        ),
        Misconception(
            "a case that shows nothing",
            lambda inner_GBps: _example(inner_GBps, per_box=1),
            _("With one GPU a box nothing moves inside, by either price. Take a case in which the two differ."),
            recognise=lambda given, inner_GBps: given["verdict"] == "refuse" and given["per_box"] == 1,
        ),
        Misconception(
            "its own shard counted",
            lambda inner_GBps: _example(inner_GBps) | {"least_us": 1000.0 / inner_GBps},
            _(
                "Your least time counts the whole vector. A GPU has its own shard already: (k − 1)/k of it has to come in."
            ),
            recognise=_own_shard,
        ),
        Misconception(
            "least for a shard",
            lambda inner_GBps: _example(inner_GBps) | {"least_us": _example(inner_GBps)["fix_us"]},
            _(
                "Your least time is the price of the fix. What a GPU has to receive is not a part of one shard, but all other shards."
            ),
            recognise=_both_shards,
        ),
        Misconception(
            "another price than that of the fix",
            lambda inner_GBps: _example(inner_GBps) | {"fix_us": 1000.0 / 8 / inner_GBps},
            _("Your fix_us is not what the text proposes: (k − 1)/k of a shard, (k − 1)/k · (S/k)/β."),
            recognise=_full_price,
        ),
    ),
)
