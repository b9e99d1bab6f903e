"""Question 10.q1: host, tray and domain of a GPU."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.bank.ex10.rack import GPUS_PER_HOST, HOSTS, RACK, WITHHELD
from course_lib.grading.question import Case, Misconception, Question


def seat_of(gpu: int) -> dict[str, int]:
    """Return host, number in the host, tray and domain of a GPU.

    >>> seat_of(76)
    {'host': 19, 'local': 0, 'tray': 1, 'domain': 1}
    """
    host = gpu // GPUS_PER_HOST
    return {"host": host, "local": gpu % GPUS_PER_HOST, "tray": host % HOSTS, "domain": gpu // RACK}


def _seat_cases(rng: np.random.Generator) -> list[Case]:
    edges = [0, 3, 4, 71, 72, 76, 143, 144, 1439]
    return [Case({"gpu": g}) for g in edges + [int(rng.integers(0, 1440)) for _i in range(8)]]


def _seats(per_host: int, hosts: int) -> Callable[..., dict[str, int]]:
    return lambda gpu: {
        "host": gpu // per_host,
        "local": gpu % per_host,
        "tray": gpu // per_host % hosts,
        "domain": gpu // (per_host * hosts),
    }


q1 = Question(
    id="10.q1",
    title=_("Trays, hosts and the domain"),
    points=2,
    answer="seat_of",
    kind="function",
    expects=Entries(Number(whole=True), each=False),
    inputs=_seat_cases,
    reference=seat_of,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "one host of 72",
            _seats(72, 1),
            _("You take the rack for one host of 72 GPUs. It has 18 hosts of four; one is the NVLink domain."),
        ),
        Misconception(
            "eight to a host",
            _seats(8, 9),
            _("You put eight GPUs in a host, as in a box. A tray of this rack is a host of four."),
        ),
        Misconception(
            "trays counted on",
            lambda gpu: seat_of(gpu) | {"tray": gpu // GPUS_PER_HOST},
            _("You count trays on from rack to rack. A tray has a number in its own rack, from 0 to 17."),
        ),
        Misconception(
            "the domain is the host",
            lambda gpu: seat_of(gpu) | {"domain": gpu // GPUS_PER_HOST},
            _("Your domain is the host. NVLink reaches all 18 hosts of a rack; the domain is the rack."),
        ),
        Misconception(
            "one domain for all",
            lambda gpu: seat_of(gpu) | {"domain": 0},
            _("You let all racks be one domain. It ends at the rack, after 72 GPUs."),
        ),
        Misconception(
            "hosts counted in the rack",
            lambda gpu: seat_of(gpu) | {"host": seat_of(gpu)["tray"]},
            _("You begin to count hosts anew in each rack. Hosts count on through all racks; trays begin anew."),
        ),
        Misconception(
            "places counted in the rack",
            lambda gpu: seat_of(gpu) | {"local": gpu % RACK},
            _('Your "local" is the place in the rack. In a host of four it goes from 0 to 3.'),
        ),
        Misconception(
            "dealt out to the trays",
            lambda gpu: (
                {"host": gpu // RACK * HOSTS + gpu % HOSTS, "local": gpu % RACK // HOSTS}
                | {"tray": gpu % HOSTS, "domain": gpu // RACK}
            ),
            _("You deal GPUs out to the trays in turn. They are numbered tray by tray: 0 to 3 are in the first."),
        ),
        Misconception(
            "counted from one",
            lambda gpu: {name: place + 1 for name, place in seat_of(gpu).items()},
            _("You count from 1. Everything counts from 0 here."),
        ),
    ),
)
