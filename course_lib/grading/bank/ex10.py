"""Exercise 10, seventy-two: seats, residuals and a range, copies that leave a box, the largest degree, a lost tray."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Listing, Number
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan.racks import measured
from course_lib.timing.tuning import predict

WITHHELD = tuple(f"course_lib.plan.{n}" for n in ("rack", "racks", "experts", "expertlayer", "expertruns"))
GPUS_PER_HOST, HOSTS, RACK = 4, 18, 72

# q1: seats -----------------------------------------------------------------------------------------------------------


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
    ),
)

# q2: residuals -------------------------------------------------------------------------------------------------------


def _report(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int, system: str, **options: Any) -> dict:
    sizes, times = np.asarray(message_B, float), np.asarray(measured_s, float)
    found = np.log(predict("all_reduce", sizes, system, n_gpus, **options).time_s / times)
    return {"residuals": found.tolist(), "worst_B": float(sizes[np.argmax(np.abs(found))])}


def report(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int) -> dict:
    """Return ln(predicted / measured) for each size, and the size of the largest miss."""
    return _report(message_B, measured_s, n_gpus, "gb200-nvl72")


def _report_cases(rng: np.random.Generator) -> list[Case]:
    found = []
    for sweep in measured():
        for noise in (0.0, 0.3):
            times = sweep.measured_s * np.exp(rng.normal(0, noise, sweep.measured_s.size))
            part = "one rack" if sweep.racks == 1 else "twenty racks"
            found.append(
                Case(
                    {"message_B": sweep.message_B.tolist(), "measured_s": times.tolist(), "n_gpus": sweep.n_ranks}, part
                )
            )
    return found


def _turned(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int) -> dict:
    right = report(message_B, measured_s, n_gpus)
    return right | {"residuals": [-r for r in right["residuals"]]}


def _relative(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int) -> dict:
    right = report(message_B, measured_s, n_gpus)
    return right | {"residuals": [math.exp(r) - 1 for r in right["residuals"]]}


def _largest_signed(message_B: Sequence[float], measured_s: Sequence[float], n_gpus: int) -> dict:
    right = report(message_B, measured_s, n_gpus)
    return right | {"worst_B": float(message_B[int(np.argmax(right["residuals"]))])}


q2 = Question(
    id="10.q2",
    title=_("One rack and twenty: the residuals"),
    points=2,
    answer="report",
    kind="function",
    expects=Entries({"residuals": Listing(Number(tolerance=0.01, near_zero=1e-3)), "worst_B": Number("B")}, each=False),
    inputs=_report_cases,
    reference=report,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "measured over predicted",
            _turned,
            _(
                "Your residuals have the other sign: ln(predicted / measured) is below 0 where the prediction is too quick."
            ),
        ),
        Misconception(
            "boxes of eight",
            lambda message_B, measured_s, n_gpus: _report(message_B, measured_s, n_gpus, "dgx-b200"),
            _("You predict boxes of eight B200. These GPUs sit in racks, gb200-nvl72."),
        ),
        Misconception(
            "wires alone",
            lambda message_B, measured_s, n_gpus: _report(message_B, measured_s, n_gpus, "gb200-nvl72", ideal=True),
            _("You predict the wires alone. Leave ideal=True out: the predictor knows what software costs."),
        ),
        Misconception(
            "relative errors",
            _relative,
            _("You give relative errors, predicted / measured − 1. The question asks for the logarithm of the ratio."),
        ),
        Misconception(
            "largest instead of worst",
            _largest_signed,
            _("Your worst size is where the residual is largest with its sign. A miss downwards is a miss, too."),
        ),
    ),
)

# q3: a range ---------------------------------------------------------------------------------------------------------


def range_s(predicted_s: float, residuals: Sequence[float]) -> list[float]:
    """Return the range of a time that nobody measured, if the predictor misses as it did elsewhere, or not at all.

    >>> range_s(2.0, [-0.5, 0.1])[0] < 2.0 < range_s(2.0, [-0.5, 0.1])[1]
    True
    """
    factors = [math.exp(-r) for r in residuals] + [1.0]
    return [predicted_s * min(factors), predicted_s * max(factors)]


def _range_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(0.02, [-0.08, 0.06]), (0.005, [-0.3, -0.6]), (1.0, [0.2, 0.4]), (3e-3, [0.0])]
    rows += [
        (float(rng.uniform(1e-4, 1)), [round(float(v), 3) for v in rng.normal(0, 0.3, int(rng.integers(1, 6)))])
        for _i in range(6)
    ]
    return [Case({"predicted_s": p, "residuals": r}) for p, r in rows]


def _wrong_way(predicted_s: float, residuals: Sequence[float]) -> list[float]:
    return range_s(predicted_s, [-r for r in residuals])


def _symmetric(predicted_s: float, residuals: Sequence[float]) -> list[float]:
    most = max(abs(r) for r in residuals)
    return range_s(predicted_s, [most, -most])


def _added(predicted_s: float, residuals: Sequence[float]) -> list[float]:
    found = [predicted_s * (1 - r) for r in residuals] + [predicted_s]
    return [min(found), max(found)]


q3 = Question(
    id="10.q3",
    title=_("Two racks: a range and not a number"),
    points=1,
    answer="range_s",
    kind="function",
    expects=Listing((Number("s", tolerance=0.005), Number("s", tolerance=0.005))),
    inputs=_range_cases,
    reference=range_s,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "multiplied by the miss",
            _wrong_way,
            _(
                "You multiply by predicted / measured. Where the predictor was too quick, the real time is longer: divide."
            ),
        ),
        Misconception(
            "the same to both sides",
            _symmetric,
            _(
                "You take the largest miss to both sides. A predictor that was always too quick says nothing of being too slow."
            ),
        ),
        Misconception(
            "residual as a percentage",
            _added,
            _("You take a residual for a percentage. It is a logarithm: the factor is e to the power of it."),
        ),
    ),
)

# q4: copies ----------------------------------------------------------------------------------------------------------


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
            "as many domains as experts",
            _copies_with(lambda e, k, d: {"once": min(k, d) * (1 - 1 / d)}),
            _("You put each of the token's experts in another domain. Two of them may sit in the same one."),
        ),
        Misconception(
            "home counted",
            _copies_with(
                lambda e, k, d: {"once": d * (1 - math.comb(e - e // d, k) / math.comb(e, k)), "straight": float(k)}
            ),
            _("You count what stays at home. Of all domains that have work, one in `domains` is the token's own."),
        ),
    ),
)

# q5: the largest degree ----------------------------------------------------------------------------------------------

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
    read_all: bool = False,
    all_over_card: bool = False,
    one_domain: bool = False,
) -> float:
    """Return µs of a layer of experts at a degree; the options are what people get wrong.

    >>> round(layer_us(64, 128, 8, 6.9, 20, 500, 45))
    501
    """
    sent_B = tokens * ACTIVE * (OUT_B + (BACK_B if exchanges == 2 else 0))
    inside = degree <= per_domain or one_domain
    away = (degree - (1 if inside or all_over_card else per_domain)) / degree
    rate = nvlink_GBps if inside else card_GBps
    reading = read_us * (EXPERTS if read_all else EXPERTS / degree)
    return reading + exchanges * launch_us + away * sent_B / (rate * 1e3)


def _largest(stop_at_first: bool = False, **options: Any) -> Callable[..., int]:
    def model(
        tokens: int,
        per_domain: int,
        read_us: float,
        launch_us: float,
        nvlink_GBps: float,
        card_GBps: float,
        target_us: float,
    ) -> int:
        best = 0
        for e in DEGREES:
            time_us = layer_us(e, tokens, per_domain, read_us, launch_us, nvlink_GBps, card_GBps, **options)
            if time_us <= target_us:
                best = e
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
    ),
)

# q6: a tray lost -----------------------------------------------------------------------------------------------------


def after_loss(jobs: Sequence[dict[str, int]], lost_host: int) -> list[int]:
    """Return how many GPUs each job uses after a host of four is lost: whole units of the GPUs that it has left.

    >>> after_loss([{"first": 0, "gpus": 72, "unit": 64}], 3)
    [64]
    """
    return [(job["gpus"] - _hit(job, lost_host)) // job["unit"] * job["unit"] for job in jobs]


def _hit(job: dict[str, int], host: int, per_host: int = GPUS_PER_HOST) -> int:
    """GPUs of a job that sit in a host."""
    low, high = max(job["first"], host * per_host), min(job["first"] + job["gpus"], (host + 1) * per_host)
    return max(0, high - low)


def _each(rule: Callable[[dict[str, int], int], int]) -> Callable[..., list[int]]:
    return lambda jobs, lost_host: [rule(job, lost_host) for job in jobs]


def _in_place(job: dict[str, int], host: int) -> int:
    units = range(job["first"], job["first"] + job["gpus"] - job["unit"] + 1, job["unit"])
    return sum(job["unit"] for start in units if not _hit({**job, "first": start, "gpus": job["unit"]}, host))


def _job(first: int, gpus: int, unit: int) -> dict[str, int]:
    return {"first": first, "gpus": gpus, "unit": unit}


def _loss_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        ([_job(0, 72, 72)], 5),
        ([_job(0, 72, 64)], 5),
        ([_job(0, 32, 32), _job(32, 32, 8), _job(64, 8, 2)], 9),
        ([_job(0, 36, 6), _job(36, 36, 12)], 1),
        ([_job(0, 30, 8), _job(30, 42, 6)], 7),
        ([_job(0, 16, 16)], 17),
    ]
    for _i in range(6):
        cut = int(rng.integers(8, 64))
        units = [int(u) for u in rng.choice([1, 2, 4, 6, 8], 2)]
        jobs = [_job(0, cut, min(units[0], cut)), _job(cut, RACK - cut, min(units[1], RACK - cut))]
        rows.append((jobs, int(rng.integers(0, HOSTS))))
    return [Case({"jobs": jobs, "lost_host": host}) for jobs, host in rows]


q6 = Question(
    id="10.q6",
    title=_("A tray is lost: which jobs shrink"),
    points=2,
    answer="after_loss",
    kind="function",
    expects=Listing(Number(_("GPUs"), whole=True)),
    inputs=_loss_cases,
    reference=after_loss,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "the whole rack stops",
            _each(lambda job, host: 0),
            _("You stop every job of the rack. One host of eighteen is gone; the others go on."),
        ),
        Misconception(
            "units forgotten",
            _each(lambda job, host: job["gpus"] - _hit(job, host)),
            _("You count GPUs. A job restarts in whole units; what is left over stands idle."),
        ),
        Misconception(
            "every job loses four",
            _each(lambda job, host: max(0, job["gpus"] - GPUS_PER_HOST) // job["unit"] * job["unit"]),
            _("You take four GPUs from every job. Only jobs with GPUs in the lost tray lose any, and only those."),
        ),
        Misconception(
            "eight to a tray",
            _each(lambda job, host: (job["gpus"] - _hit(job, host // 2, 8)) // job["unit"] * job["unit"]),
            _("You lose eight GPUs. A tray has four."),
        ),
        Misconception(
            "units stay where they were",
            _each(_in_place),
            _(
                "You drop every unit that the tray touched. Any two GPUs of the domain reach each other alike, so what is "
                "left can form new units."
            ),
        ),
    ),
)

QUESTIONS = (q1, q2, q3, q4, q5, q6)
