"""Question 11.q7: four logs, four faults."""

from collections.abc import Callable, Mapping

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries
from course_lib.grading.bank.ex11.logs import FAULTS, four_logs, told
from course_lib.grading.bank.ex11.withheld import WITHHELD
from course_lib.grading.question import Misconception, Question


def _mistaken(fault: str, said: str) -> Callable[..., dict[str, str]]:
    """The answer of somebody who takes one fault for another."""
    return lambda logs: {name: said if told(text) == fault else told(text) for name, text in logs.items()}


def _answers(logs: Mapping[str, str]) -> dict[str, str]:
    return {name: told(text) for name, text in logs.items()}


q7 = Question(
    id="11.q7",
    title=_("Four logs, four faults"),
    points=2,
    answer="faults",
    expects=Entries(Choice(FAULTS)),
    parameters=lambda rng: {"logs": four_logs(rng)},
    reference=_answers,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "uneven uplinks for too few",
            _mistaken("flows collide", "too few uplinks"),
            _("You call for more uplinks where some stand empty. If there were too few, all of them would be full."),
        ),
        Misconception(
            "loss for a collision",
            _mistaken("packets are lost", "flows collide"),
            _(
                "You see a collision where cards count sequence errors and timeouts. Colliding flows are slow; they lose nothing by it."
            ),
        ),
        Misconception(
            "staging for a missing card",
            _mistaken("staged in host memory", "a card is missing"),
            _("You miss a card, but all eight are listed. Look at the end of the channel lines: GDRDMA is not there."),
        ),
        Misconception(
            "a missing card for staging",
            _mistaken("a card is missing", "staged in host memory"),
            _("You see staging, but the channels say GDRDMA. Count the cards that are listed."),
        ),
        Misconception(
            "a collision for loss",
            _mistaken("flows collide", "packets are lost"),
            _(
                "You see loss where no counter of loss has risen. Look at the pauses, and at the uplinks: some stand empty."
            ),
        ),
        Misconception(
            "few uplinks for loss",
            _mistaken("packets are lost", "too few uplinks"),
            _("You call for more uplinks, and none of them is full. Cards count sequence errors and timeouts there."),
        ),
        Misconception(
            "NVLink blamed",
            lambda logs: dict.fromkeys(logs, "a slow NVLink"),
            _("You blame NVLink, and nothing in that log speaks of it. Look at what the cards did."),
        ),
    ),
)
