"""Exercise 13, when parts fail: interval, goodput, cost of tokens, an alarm, tenants, and a benchmark that misleads."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from course_lib.base.language import _
from course_lib.cluster import checkpoints, cost, goodput, telemetry, tenants
from course_lib.grading.answers import Choice, Entries, Number, Plain
from course_lib.grading.question import Case, Misconception, Question

WITHHELD = tuple(
    f"course_lib.cluster.{name}"
    for name in ("checkpoints", "goodput", "cost", "telemetry", "chances", "tenants", "loadmix")
)
HOUR_s, YEAR_h = 3600.0, 8760.0

# q1: the checkpoint interval -----------------------------------------------------------------------------------------

SHORT, LONG = _("saving is short"), _("saving is long")


def interval_s(save_s: float, gpu_hours: float, n_gpus: int) -> float:
    """Return the seconds of training between two checkpoints that keep most of the time.

    >>> round(interval_s(33.0, 50_677.0, 16_384))
    835
    """
    return float(checkpoints.best_s(save_s, gpu_hours * HOUR_s / n_gpus))


def _interval_cases(rng: np.random.Generator) -> list[Case]:
    names = ("save_s", "gpu_hours", "n_gpus")
    short = [(1.0, 50_000.0, 1), (1.0, 50_000.0, 8), (2.0, 60_000.0, 1024)]
    long = [(60.0, 50_000.0, 100_000), (300.0, 50_000.0, 16_384), (120.0, 20_000.0, 65_536)]
    for _unused in range(4):
        n = int(2 ** rng.integers(3, 11))
        hours = float(rng.integers(30, 90)) * 1000
        short.append((float(round(hours * HOUR_s / n * 10 ** rng.uniform(-6, -4.5), 3)), hours, n))
        n = int(2 ** rng.integers(12, 18))
        long.append((float(round(hours * HOUR_s / n * rng.uniform(0.03, 0.2), 2)), hours, n))
    return [
        Case(dict(zip(names, row, strict=True)), part) for part, rows in ((SHORT, short), (LONG, long)) for row in rows
    ]


def _rule(rule: Callable[[float, float], float]) -> Callable[..., float]:
    """Return a learner's function from a rule of save and mean time between failures of the job."""
    return lambda save_s, gpu_hours, n_gpus: float(rule(save_s, gpu_hours * HOUR_s / n_gpus))


q1 = Question(
    id="13.q1",
    title=_("The checkpoint interval"),
    points=2,
    answer="interval_s",
    kind="function",
    expects=Number("s", tolerance=0.015),
    inputs=_interval_cases,
    reference=interval_s,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "one GPU for the job",
            lambda save_s, gpu_hours, n_gpus: float(checkpoints.best_s(save_s, gpu_hours * HOUR_s)),
            _("You take the time between failures of one GPU. The job stops when any of its GPUs fails."),
        ),
        Misconception(
            "no two under the root",
            _rule(lambda d, m: math.sqrt(d * m)),
            _("You leave out the 2 under the root. On average half an interval is lost, not a whole one."),
        ),
        Misconception(
            "hours for seconds",
            lambda save_s, gpu_hours, n_gpus: math.sqrt(2 * save_s * gpu_hours / n_gpus),
            _("You put hours under the root beside seconds. Bring both into seconds first."),
        ),
        Misconception(
            "the time between failures",
            _rule(lambda d, m: m),
            _("You save once between two failures. Then about half of everything is done again."),
        ),
        Misconception(
            "half the time between failures",
            _rule(lambda d, m: m / 2),
            _("You save twice between two failures, whatever saving costs. Balance saving against doing again."),
        ),
        Misconception(
            "Young where saving is long",
            _rule(checkpoints.young_s),
            _(
                "You use Young's rule throughout. It holds where saving is short; Daly's, or the exact optimum, holds everywhere."
            ),
        ),
    ),
)

# q2: goodput ---------------------------------------------------------------------------------------------------------

SMALL, LARGE = _("losses are small"), _("losses are large")


def useful_share(between_s: float, interval_s: float, save_s: float, restart_s: float) -> float:
    """Return the share of the time that trains and stays.

    >>> round(useful_share(11_124.0, 840.0, 33.0, 660.0), 3)
    0.872
    """
    return float(goodput.useful(between_s, interval_s, save_s, restart_s).useful)


def _useful_cases(rng: np.random.Generator) -> list[Case]:
    names = ("between_s", "interval_s", "save_s", "restart_s")
    small = [(1e6, 3600.0, 0.0, 0.0), (1e5, 1000.0, 10.0, 0.0), (5e4, 1200.0, 5.0, 300.0)]
    large = [
        (1800.0, 600.0, 30.0, 660.0),
        (600.0, 300.0, 10.0, 1200.0),
        (900.0, 3600.0, 60.0, 60.0),
        (60.0, 30.0, 1.0, 660.0),
    ]
    for _unused in range(4):
        m = float(10 ** rng.uniform(4.7, 6))
        small.append(
            (m, m * float(rng.uniform(0.01, 0.03)), m * float(rng.uniform(1e-4, 5e-4)), m * float(rng.uniform(0, 0.01)))
        )
        m = float(10 ** rng.uniform(2.5, 4))
        large.append(
            (m, m * float(rng.uniform(0.2, 2)), m * float(rng.uniform(0.01, 0.2)), m * float(rng.uniform(0.2, 2)))
        )
    return [
        Case(dict(zip(names, row, strict=True)), part)
        for part, rows in ((SMALL, small), (LARGE, large))
        for row in rows
    ]


def _judge_useful(answer: float, **inputs: float) -> str:
    right = useful_share(**inputs)
    if not 0 <= answer <= 1:
        return _("you keep {given} of the time: a share lies between 0 and 1, also when nearly all is lost.").format(
            given=f"{answer:.6g}"
        )
    if abs(answer - right) > 0.004 * max(right, 0.05):
        return _("you keep {given} of the time, and it is {due}.").format(given=f"{answer:.5g}", due=f"{right:.5g}")
    return ""


q2 = Question(
    id="13.q2",
    title=_("Goodput"),
    points=2,
    answer="useful_share",
    kind="function",
    expects=Number(tolerance=0.003),
    inputs=_useful_cases,
    reference=useful_share,
    accept=_judge_useful,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "losses added up",
            lambda between_s, interval_s, save_s, restart_s: (
                1 - save_s / interval_s - (restart_s + interval_s / 2) / between_s
            ),
            _(
                "You add the losses up and take them from 1. That holds while they are small, and goes below zero when not."
            ),
        ),
        Misconception(
            "losses added up, cut at zero",
            lambda between_s, interval_s, save_s, restart_s: max(
                0.0, 1 - save_s / interval_s - (restart_s + interval_s / 2) / between_s
            ),
            _("You add the losses up and cut at zero. Failures strike in restarts, too, and something is always kept."),
        ),
        Misconception(
            "restart forgotten",
            lambda between_s, interval_s, save_s, restart_s: useful_share(between_s, interval_s, save_s, 0.0),
            _("You forget the restart: from a failure until training goes on again."),
        ),
        Misconception(
            "saving forgotten",
            lambda between_s, interval_s, save_s, restart_s: useful_share(between_s, interval_s, 0.0, restart_s),
            _("You forget the time in which training stands still to save."),
        ),
        Misconception(
            "a restart that cannot fail",
            lambda between_s, interval_s, save_s, restart_s: (
                interval_s / (between_s + restart_s) / math.expm1(min((interval_s + save_s) / between_s, 700))
            ),
            _("You let every restart succeed. Parts fail while it goes on, and then it begins again."),
        ),
        Misconception(
            "a whole interval lost",
            lambda between_s, interval_s, save_s, restart_s: max(
                0.0, 1 - save_s / interval_s - (restart_s + interval_s) / between_s
            ),
            _("You lose a whole interval at each failure. It strikes in the middle, on average."),
        ),
    ),
)

# q3: a million tokens ------------------------------------------------------------------------------------------------


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
    ),
)

# q4: an alarm with its false alarms ----------------------------------------------------------------------------------


def alarm(healthy: float, sick: float, n_links: int, readings_per_day: int, false_per_day: float) -> dict[str, float]:
    """Return the lowest threshold that rings falsely at most so often a day, with its false alarms a day and its detection.

    >>> alarm(0.1, 5.0, 32_768, 24, 1.0)["threshold"]
    5
    """
    k = telemetry.least_threshold(healthy, n_links, readings_per_day, false_per_day)
    found = telemetry.counter_alarm(k, healthy, sick, n_links, readings_per_day)
    return {"threshold": k, "false alarms": found.false_per_day, "detection": found.detection}


def _alarm_cases(rng: np.random.Generator) -> list[Case]:
    names = ("healthy", "sick", "n_links", "readings_per_day", "false_per_day")
    rows = [(0.0, 1.0, 100, 1, 1.0), (1.0, 4.0, 1, 1, 1.0), (1.0, 4.0, 1, 24, 0.01), (0.1, 5.0, 32_768, 24, 1.0)]
    rows += [
        (
            round(float(10 ** rng.uniform(-2, 0.3)), 3),
            round(float(rng.uniform(3, 20)), 2),
            int(2 ** rng.integers(6, 17)),
            int(rng.choice([1, 24, 96])),
            float(rng.choice([0.1, 1.0, 5.0])),
        )
        for _unused in range(5)
    ]
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _tail(k: int, mean: float) -> float:
    """Chance of k or more, summed as a learner would."""
    below, term = 0.0, math.exp(-mean)
    for i in range(k):
        below += term
        term *= mean / (i + 1)
    return max(1 - below, 0.0)


def _alarms(
    times: Callable[..., float], ring: Callable[[int, float], float] = _tail
) -> Callable[..., dict[str, float]]:
    """Return a learner's alarm: readings that can ring falsely a day, and the chance of one reading."""

    def wrong(
        healthy: float, sick: float, n_links: int, readings_per_day: int, false_per_day: float
    ) -> dict[str, float]:
        n, k = times(n_links, readings_per_day), 0
        while ring(k, healthy) * n > false_per_day and k < 10_000:
            k += 1
        return {"threshold": k, "false alarms": ring(k, healthy) * n, "detection": ring(k, sick)}

    return wrong


def _bell(k: int, mean: float) -> float:
    """A normal distribution in place of Poisson."""
    return 0.5 * math.erfc((k - mean) / math.sqrt(2 * mean)) if mean > 0 else float(k <= 0)


q4 = Question(
    id="13.q4",
    title=_("An alarm and its false alarms"),
    points=2,
    answer="alarm",
    kind="function",
    expects=Entries(
        {
            "threshold": Number(whole=True),
            "false alarms": Number("a day", near_zero=1e-9),
            "detection": Number(near_zero=1e-9),
        },
        each=False,
    ),
    inputs=_alarm_cases,
    reference=alarm,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "one link watched",
            _alarms(lambda n, r: r),
            _("You watch one link. Every link of the fleet can ring falsely."),
        ),
        Misconception(
            "one reading a day",
            _alarms(lambda n, r: n),
            _("You take one reading a day. Each link can ring at every reading."),
        ),
        Misconception(
            "more than the threshold",
            _alarms(lambda n, r: n * r, lambda k, mean: _tail(k + 1, mean)),
            _("You ring above the threshold. It rings at the threshold, too: k errors or more."),
        ),
        Misconception(
            "exactly the threshold",
            _alarms(lambda n, r: n * r, lambda k, mean: _tail(k, mean) - _tail(k + 1, mean)),
            _("You take the chance of exactly k errors. It rings at k or more."),
        ),
        Misconception(
            "a bell curve",
            _alarms(lambda n, r: n * r, _bell),
            _(
                "You take errors for normally distributed. Counts near zero are not: their tail is Poisson's, and longer."
            ),
        ),
        Misconception(
            "the mean of sick links",
            lambda healthy, sick, n_links, readings_per_day, false_per_day: (
                lambda k: {
                    "threshold": k,
                    "false alarms": _tail(k, healthy) * n_links * readings_per_day,
                    "detection": _tail(k, sick),
                }
            )(round(sick)),
            _("You ring at what a sick link has on average. The promise about false alarms sets the threshold."),
        ),
    ),
)

# q5: who reaches whom ------------------------------------------------------------------------------------------------

WAYS = ("NVLink", "network", "nobody")


def way(
    keys_a: Sequence[int], keys_b: Sequence[int], domain_a: int, domain_b: int, partition_a: int, partition_b: int
) -> str:
    """Return the quickest way from GPU a to GPU b: "NVLink", "network" or "nobody".

    >>> way([0x8001], [0x8002], 0, 0, 0, 0), way([0x0005], [0x8005], 0, 1, 0, 0), way([0x0005], [0x0005], 0, 1, 0, 0)
    ('NVLink', 'network', 'nobody')
    """
    found = tenants.reach([list(keys_a), list(keys_b)], [domain_a, domain_b], [partition_a, partition_b])
    return tenants.WAYS[int(found.way[0, 1])]


def _way_cases(rng: np.random.Generator) -> list[Case]:
    names = ("keys_a", "keys_b", "domain_a", "domain_b", "partition_a", "partition_b")
    rows = [
        ([0x8001], [0x8002], 0, 0, 0, 0),  # keys differ, one NVLink partition
        ([0x8001], [0x8001], 0, 0, 0, 1),  # keys agree, NVLink parted
        ([0x8001], [0x8001], 0, 1, 0, 0),  # two racks whose partitions have the same number
        ([0x0001], [0x0001], 0, 1, 0, 0),  # two limited members
        ([0x8001], [0x0001], 0, 1, 0, 0),  # a full and a limited one
        ([0x0001], [0x8001], 1, 0, 2, 2),
        ([0x8001], [0x8002], 0, 1, 0, 0),
        ([], [0xFFFF], 0, 1, 0, 0),
        ([], [], 3, 3, 1, 1),
        ([0x0001, 0x8002], [0x0002, 0x8003], 0, 1, 0, 0),
        ([0x0001, 0x0002], [0x0002, 0x0001], 0, 1, 0, 0),
        ([0x7FFF], [0xFFFF, 0x8004], 0, 0, 0, 5),
    ]
    pool = [0x0001, 0x8001, 0x0002, 0x8002, 0x0003, 0x8003]
    for _unused in range(16):
        a, b = ([int(k) for k in rng.choice(pool, size=int(rng.integers(0, 3)), replace=False)] for _i in range(2))
        rows.append((a, b, *(int(v) for v in rng.integers(0, 2, 4))))
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _talk(a: Sequence[int], b: Sequence[int]) -> bool:
    return any(x & 0x7FFF == y & 0x7FFF and (x | y) & 0x8000 for x in a for y in b)


def _ways(
    network: Callable[[Sequence[int], Sequence[int]], bool] = _talk,
    nvlink: Callable[[Mapping], bool] = lambda g: (
        g["domain_a"] == g["domain_b"] and g["partition_a"] == g["partition_b"]
    ),
) -> Callable[..., str]:
    """Return a learner's function from a rule for each fabric."""

    def wrong(**given: object) -> str:
        over = network(given["keys_a"], given["keys_b"])
        return "NVLink" if nvlink(given | {"over": over}) else "network" if over else "nobody"

    return wrong


q5 = Question(
    id="13.q5",
    title=_("Who reaches whom"),
    points=2,
    answer="way",
    kind="function",
    expects=Choice(WAYS),
    inputs=_way_cases,
    reference=way,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "a partition key isolates NVLink",
            _ways(
                nvlink=lambda g: g["over"] and g["domain_a"] == g["domain_b"] and g["partition_a"] == g["partition_b"]
            ),
            _(
                "You let partition keys decide about NVLink. Its traffic passes no card and no InfiniBand switch: keys do not enter."
            ),
        ),
        Misconception(
            "NVLink across racks",
            _ways(nvlink=lambda g: g["partition_a"] == g["partition_b"]),
            _("You compare NVLink partitions of different domains. A partition lies within one domain."),
        ),
        Misconception(
            "NVLink partitions ignored",
            _ways(nvlink=lambda g: g["domain_a"] == g["domain_b"]),
            _("You let all GPUs of a domain reach each other. NVLink partitions part a domain."),
        ),
        Misconception(
            "limited members talk",
            _ways(network=lambda a, b: any(x & 0x7FFF == y & 0x7FFF for x in a for y in b)),
            _("You let two limited members talk. At least one of the two has to be a full member."),
        ),
        Misconception(
            "both have to be full",
            _ways(network=lambda a, b: any(x == y and x & 0x8000 for x in a for y in b)),
            _("You ask both to be full members. One full member is enough."),
        ),
        Misconception(
            "sixteen bits compared",
            _ways(network=lambda a, b: bool(set(a) & set(b))),
            _(
                "You compare all 16 bits of the keys. The top bit is the membership, and a full member meets a limited one."
            ),
        ),
    ),
)

# q6: one benchmark, or the mix ---------------------------------------------------------------------------------------


def _time_us(design: Mapping[str, Sequence[float]], mix: Sequence[Sequence[object]]) -> float:
    """Microseconds of all calls: (place, MB, times) priced by the place's [latency in µs, GB/s]."""
    return sum(times * (design[place][0] + mb / design[place][1] * 1e3) for place, mb, times in mix)


def winners(designs: Mapping[str, Mapping[str, Sequence[float]]], mix: Sequence[Sequence[object]]) -> list[str]:
    """Return the design that wins a call of 8,000 MB in the box, and the one that is quickest for the whole mix.

    >>> fast = {"box": [5.0, 700.0], "network": [30.0, 20.0]}
    >>> even = {"box": [5.0, 450.0], "network": [20.0, 50.0]}
    >>> winners({"fast box": fast, "even": even}, [["box", 64, 10], ["network", 64, 10]])
    ['fast box', 'even']
    """
    return [
        min(designs, key=lambda name: _time_us(designs[name], [["box", 8000.0, 1]])),
        min(designs, key=lambda name: _time_us(designs[name], mix)),
    ]


def _mix_cases(rng: np.random.Generator) -> list[Case]:
    fast = {"box": [5.0, 700.0], "network": [30.0, 20.0]}
    even = {"box": [8.0, 450.0], "network": [15.0, 50.0]}
    quick = {"box": [2.0, 400.0], "network": [5.0, 25.0]}
    slow = {"fast box": fast, "even": even, "quick": {"box": [2.0, 400.0], "network": [60.0, 25.0]}}
    three = {"fast box": fast, "even": even, "quick": quick}
    rows: list[tuple[dict, list]] = [
        ({"fast box": fast, "even": even}, [["box", 8000.0, 1]]),
        ({"fast box": fast, "even": even}, [["box", 64.0, 10], ["network", 64.0, 10]]),
        (three, [["network", 0.02, 500], ["box", 1.0, 100]]),  # latency decides
        (three, [["network", 0.02, 500], ["network", 0.01, 10]]),  # and not the best rate
        (slow, [["network", 0.02, 500], ["box", 0.1, 10]]),  # what is quick in the box is slow across
        (three, [["network", 512.0, 4], ["box", 64.0, 64]]),
        (three, [["box", 256.0, 1], ["network", 0.001, 1]]),
        (three, [["network", 64.0, 1], ["box", 2000.0, 400]]),  # how often decides
    ]
    for _unused in range(6):
        while True:
            made = {
                f"design {letter}": {
                    "box": [float(rng.integers(2, 12)), float(rng.integers(300, 900))],
                    "network": [float(rng.integers(4, 40)), float(rng.integers(10, 100))],
                }
                for letter in "ABC"
            }
            calls = [
                [
                    str(rng.choice(["box", "network"])),
                    float(round(10 ** rng.uniform(-2, 3), 3)),
                    int(rng.integers(1, 300)),
                ]
                for _call in range(3)
            ] + [["network", float(round(10 ** rng.uniform(-2, 2.5), 3)), int(rng.integers(1, 300))]]
            times = sorted(_time_us(d, calls) for d in made.values())
            boxes = sorted(_time_us(d, [["box", 8000.0, 1]]) for d in made.values())
            if times[1] > 1.02 * times[0] and boxes[1] > 1.01 * boxes[0]:  # a clear winner each
                break
        rows.append((made, calls))
    return [Case({"designs": d, "mix": m}) for d, m in rows]


def _judge_winners(answer: Sequence[str], designs: Mapping, mix: Sequence) -> str:
    for given, right, where in zip(answer, winners(designs, mix), (_("the benchmark"), _("the mix")), strict=True):
        if given not in designs:
            return _("{given} is not the name of a design.").format(given=repr(given))
        if given != right:
            return _("you say that {given} wins {where}; {right} does.").format(given=given, where=where, right=right)
    return ""


def _ranked(price: Callable[[Mapping, Sequence], float]) -> Callable[..., list[str]]:
    """Return a learner's ranking by another price of the mix; the benchmark is right."""
    return lambda designs, mix: [winners(designs, mix)[0], min(designs, key=lambda name: price(designs[name], mix))]


q6 = Question(
    id="13.q6",
    title=_("One benchmark, or the mix"),
    points=2,
    answer="winners",
    kind="function",
    expects=Plain(
        _("a list of two names of designs"),
        fits=lambda given: type(given) in (list, tuple) and len(given) == 2 and all(type(n) is str for n in given),
    ),
    accept=_judge_winners,
    inputs=_mix_cases,
    reference=winners,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "the benchmark decides",
            lambda designs, mix: [winners(designs, mix)[0]] * 2,
            _(
                "You let the benchmark choose for the mix as well. It never leaves the box; price every call where it runs."
            ),
        ),
        Misconception(
            "latency forgotten",
            _ranked(lambda d, mix: sum(times * mb / d[place][1] for place, mb, times in mix)),
            _("You price bytes only. Small messages are mostly latency."),
        ),
        Misconception(
            "each call once",
            _ranked(lambda d, mix: _time_us(d, [[place, mb, 1] for place, mb, _times in mix])),
            _("You count every call once. A step makes it as often as the list says."),
        ),
        Misconception(
            "everything in the box",
            _ranked(lambda d, mix: _time_us(d, [["box", mb, times] for _place, mb, times in mix])),
            _("You price calls across the network at the rate of the box."),
        ),
        Misconception(
            "mean of the rates",
            _ranked(lambda d, mix: -sum(d[place][1] for place, _mb, _times in mix) / len(mix)),
            _("You compare mean bandwidths. Times add up; rates do not."),
        ),
    ),
)

QUESTIONS = (q1, q2, q3, q4, q5, q6)
