"""Lesson 13: fleets, useful time, bills, alarms, tenants and gates, and the explorer of cluster size."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.cluster import checkpoints, cost, fleetfit, goodput, loadmix, telemetry, tenants
from course_lib.cluster.published import DAY_s, Known, fleet, known
from course_lib.cluster.reliability import between_s
from course_lib.cluster.targets import read_targets
from course_lib.explorers.controls import CountSlider, Slider
from course_lib.explorers.explorer import Explorer
from course_lib.figures import failing, paying, watching
from course_lib.plan.transformer import model, params

MODEL = "llama3-405b"
GPUS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
# Failures in 1,000 host-days: the published fleets, and rates ten times better and worse than most.
RATES = (0.5, 1.0, 2.34, 3.79, 6.5, 14.1, 30.0)
STALLS = (0.5, 1.0, 3.0, 10.0, 33.0, 60.0, 120.0, 300.0)
RESTART = "restart-lablup"
LINKS, READINGS = 32_768, 24.0  # links of a fleet, readings of each counter a day
HEALTHY, SICK = 0.1, 5.0  # errors in a reading


def tokens_per_s_per_gpu() -> float:
    """Return the tokens a second that one GPU trains of Llama 3 405B at its published rate, six operations a parameter and token.

    >>> round(tokens_per_s_per_gpu())
    164
    """
    return known("llama3-flops").value / (6 * params(model(MODEL)).total)


def restart_s() -> float:
    """Return the seconds of a restart that the lesson takes: the median of one published cluster.

    >>> restart_s()
    660.0
    """
    return known(RESTART).value


# Fleets ---------------------------------------------------------------------------------------------------------------


def fleet_picture():
    """Return the figure of the held-out prediction: every fleet alone, all together, and the count.

    >>> fleet_picture().layout.title.text.startswith("All five together: 529")
    True
    """
    rows = fleetfit.held_out()
    names = [fleet(r.predicted.names[0]).title for r in rows[:-1]] + [_("All five together")]
    return failing.predictions(
        names,
        [r.predicted.expected for r in rows],
        [r.predicted.low for r in rows],
        [r.predicted.high for r in rows],
        rows[-1].counted,
        what=_("stops"),
        span=_("54 days on 16,384 GPUs"),
    )


# Useful time ----------------------------------------------------------------------------------------------------------


def interval_picture(save_s: float, between: float):
    """Return the useful share over the checkpoint interval, with the rules of Young and Daly and the exact best marked.

    >>> interval_picture(33.0, 3.09 * 3600).layout.title.text.startswith("Exact")
    True
    """
    rules = {_("Young"): checkpoints.young_s, _("Exact"): checkpoints.best_s}
    marks = [(name, rule(save_s, between)) for name, rule in rules.items()]
    best = marks[-1][1]
    x = np.geomspace(best / 20, best * 20, 160)
    share = goodput.useful(between, x, save_s, restart_s()).useful
    shown = [(n, t, goodput.useful(between, t, save_s, restart_s()).useful) for n, t in marks]
    return failing.over_interval(x, share, shown)


@dataclass(frozen=True, slots=True)
class Job:
    """A job by name: time between failures, standstill for a checkpoint, what it waits until the copy counts, restart."""

    name: str
    between_s: float
    save_s: float
    late_s: float
    restart_s: float

    @property
    def shares(self) -> goodput.Shares:
        """Where its time goes, at the best interval."""
        if self.late_s:
            tau = checkpoints.background_s(self.save_s, self.late_s, self.between_s)
            return goodput.useful(self.between_s, tau, self.save_s, self.restart_s, late_s=self.late_s)
        return goodput.best(self.between_s, self.save_s, self.restart_s)


def write_s() -> float:
    """Return the seconds to write the largest checkpoint of the Llama 3 run at its storage's sustained rate.

    >>> round(write_s(), 1)
    32.8
    """
    return checkpoints.write_s(fleet(MODEL).gpus * known("checkpoint-most").value, known("storage").value)


def jobs() -> tuple[Job, ...]:
    """Return the four jobs of the lesson: saving while standing still, in the background, and the same on 100,000 GPUs.

    >>> [round(j.shares.useful, 2) for j in jobs()]
    [0.87, 0.93, 0.66, 0.86]
    """
    here, large = fleet(MODEL).between_s, fleet(MODEL).between_s * fleet(MODEL).gpus / 100_000
    return (
        Job(_("16,384 GPUs, standing still"), here, write_s(), 0.0, restart_s()),
        Job(_("16,384 GPUs, background"), here, 1.0, write_s(), restart_s()),
        Job(_("100,000 GPUs, background"), large, 1.0, write_s(), restart_s()),
        Job(_("100,000 GPUs, restart 3 min"), large, 1.0, write_s(), 180.0),
    )


def shares_picture():
    """Return where the time of the four jobs goes.

    >>> len(shares_picture().data)
    4
    """
    names, shares = [j.name for j in jobs()], [j.shares for j in jobs()]
    return failing.time_shares(
        names, *([getattr(s, part) for s in shares] for part in failing.PARTS), title=_shares_title(shares)
    )


def _shares_title(shares) -> str:
    return _("From 16,384 to 100,000 GPUs the time that stays falls from {a} to {b} %").format(
        a=say_number(100 * shares[1].useful, 2), b=say_number(100 * shares[2].useful, 2)
    )


# The explorer ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reading:
    """What the explorer shows: the choice, and over all cluster sizes the shares and the cost of a million tokens."""

    n_gpus: int
    rate: float
    save_s: float
    between: np.ndarray
    shares: goodput.Shares
    usd: np.ndarray
    ideal_usd: np.ndarray

    @property
    def at(self) -> int:
        """Where the chosen size stands among all."""
        return GPUS.index(self.n_gpus)


@lru_cache(maxsize=1)
def _bills() -> tuple[np.ndarray, np.ndarray]:
    """Return the cost of a year at each size, and the tokens a second."""
    found = np.array([cost.bill(n).usd_per_year for n in GPUS])
    return found, tokens_per_s_per_gpu() * np.array(GPUS)


@lru_cache(maxsize=256)
def read_cluster(n_gpus: int, rate: float, save_s: float) -> Reading:
    """Return the shares of time and the cost of a million tokens over cluster sizes.

    Args:
        n_gpus: the chosen size, one of `GPUS`.
        rate: failures in 1,000 host-days, hosts of 8.
        save_s: standstill for one checkpoint, in seconds.

    >>> r = read_cluster(16384, 3.79, 10.0)
    >>> round(float(r.shares.useful[r.at]), 2), round(float(r.between[r.at]) / 3600, 2)
    (0.9, 3.09)
    """
    between = between_s(rate / 1000 / DAY_s, np.array(GPUS) / 8)
    shares = goodput.best(between, save_s, restart_s())
    year, tokens = _bills()
    kept = np.maximum(shares.useful, 1e-6)
    return Reading(
        int(n_gpus),
        rate,
        save_s,
        between,
        shares,
        cost.usd_per_million_tokens(year, tokens, kept),
        cost.usd_per_million_tokens(year, tokens, 1.0),
    )


def _draw(reading: Reading):
    parts = {name: getattr(reading.shares, name) for name in failing.PARTS}
    return failing.over_cluster(GPUS, parts, reading.usd, reading.ideal_usd, reading.n_gpus)


def _equation(reading: Reading) -> tuple[str, str]:
    i = reading.at
    between, tau = float(reading.between[i]), float(checkpoints.best_s(reading.save_s, reading.between[i]))
    return (
        _("stays ≈ 1 − save/interval − (interval/2 + restart)/between"),
        _("{u} % (exact) from save {s}, interval {t}, restart {r}, between failures {m}").format(
            u=say_number(100 * float(reading.shares.useful[i]), 3),
            s=say_time(reading.save_s),
            t=say_time(tau),
            r=say_time(restart_s()),
            m=say_time(between),
        ),
    )


def _sentence(reading: Reading) -> str:
    i, s = reading.at, reading.shares
    lost = {
        _("saving"): float(s.saving[i]),
        _("doing again"): float(s.redone[i]),
        _("restarting"): float(s.restarting[i]),
    }
    most = max(lost, key=lost.get)
    between = float(reading.between[i])
    if between < restart_s():
        tail = _("A restart takes longer than the job runs between failures: most restarts fail as well.")
    elif float(s.useful[i]) > 0.97:
        tail = _("Failures hardly matter at this size, and more often saving would not help.")
    else:
        tail = _("Most of what is lost goes to {what}, {share} % of the time.").format(
            what=most, share=say_number(100 * lost[most], 2)
        )
    dearer = float(reading.usd[i] / reading.ideal_usd[i])
    extra = (
        _("Failures add {p} % to the cost of a token.").format(p=say_number(100 * (dearer - 1), 2))
        if dearer < 3
        else _("Failures make a token {k} × as dear.").format(k=say_number(dearer, 2))
    )
    return " ".join((_("One failure stops the job every {time}.").format(time=say_time(between)), tail, extra))


def cluster() -> Explorer:
    """Return the explorer: cluster size, failure rate and checkpoint time, to goodput and the cost of a token.

    >>> cluster().figure.layout.title.text.startswith("16,384 GPUs keep 90")
    True
    """
    return Explorer(
        read_cluster,
        _draw,
        question=_("What is left of a large cluster when parts fail?"),
        equation=_equation,
        sentence=_sentence,
        n_gpus=CountSlider(_("GPUs of the job"), GPUS[0], GPUS[-1], 16384, counts=GPUS, help=_("hosts of eight")),
        rate=Slider(
            _("failures in 1,000 host-days"),
            values=RATES,
            value=3.79,
            say=_say_rate,
            help=_("2.34 and 6.5 are Meta's two research clusters, 3.79 the Llama 3 run, 14.1 the OPT run"),
        ),
        save_s=Slider(
            _("standstill for a checkpoint"),
            values=STALLS,
            value=10.0,
            say=say_time,
            help=_("how long training stands still to save"),
        ),
    )


def _say_rate(rate: float) -> str:
    return say_number(rate, 3)


# Cost -----------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def bill(n_gpus: int = 16384) -> cost.Bill:
    """Return what a year of a cluster of 8-GPU hosts costs.

    >>> round(bill().usd_per_gpu_hour, 1)
    2.3
    """
    return cost.bill(n_gpus)


def bill_picture(n_gpus: int = 16384):
    """Return the lines of that bill.

    >>> len(bill_picture().data)
    1
    """
    return paying.bill(bill(n_gpus).lines, n_gpus)


def usd_per_million(useful: float, n_gpus: int = 16384) -> float:
    """Return what a million trained tokens of Llama 3 405B cost with this share of useful time.

    >>> usd_per_million(0.5) > 1.7 * usd_per_million(0.9)
    True
    """
    return cost.usd_per_million_tokens(bill(n_gpus).usd_per_year, n_gpus * tokens_per_s_per_gpu(), useful)


def purchase_only(n_gpus: int = 16384) -> float:
    """Return what it seems to cost when the hosts are the only cost and never stop.

    >>> purchase_only() < usd_per_million(1.0)
    True
    """
    years = known("life_years").value
    return cost.purchase_only_usd(known("host_usd").value, n_gpus // 8, years, n_gpus * tokens_per_s_per_gpu())


def energy_J(useful: float, n_gpus: int = 16384) -> float:
    """Return the joules of one trained token that stays, at the meter.

    >>> round(energy_J(0.93))
    10
    """
    return cost.joules_per_token(bill(n_gpus).power_W, n_gpus * tokens_per_s_per_gpu(), useful)


# Watching, mix, tenants -----------------------------------------------------------------------------------------------


def alarm_picture(chosen: int = 5):
    """Return what an error alarm finds over what it cries, with counts of a simulated fleet beside the closed form.

    >>> "5 errors" in alarm_picture().layout.title.text
    True
    """
    k = np.arange(1, 7)
    closed = telemetry.counter_alarm(k, HEALTHY, SICK, LINKS, READINGS)
    drawn = _drawn_alarms()
    return watching.alarms(
        k.tolist(),
        closed.detection,
        closed.false_per_day,
        simulated=([a.detection for a in drawn], [a.false_per_day for a in drawn]),
        chosen=chosen,
    )


@lru_cache(maxsize=1)
def _drawn_alarms() -> tuple[telemetry.Alarm, ...]:
    fleet_readings = telemetry.simulate_counters(LINKS + 64, 64, HEALTHY, SICK, int(READINGS), seed=13)
    return tuple(telemetry.judged(fleet_readings, k, READINGS) for k in range(1, 7))


DESIGNS = {_("B200, two cards"): ("dgx-b200", 2), _("H100, eight cards"): ("dgx-h100", 8)}


def designs() -> dict:
    """Return the two designs that the lesson ranks, by name.

    >>> [d.scale_out.nics_per_host for d in designs().values()]
    [2, 8]
    """
    return {name: loadmix.variant(system, name, cards=cards) for name, (system, cards) in DESIGNS.items()}


def ranking(mix: str = "expert training", neighbours: float = 0.0, lateness_s: float = 0.0) -> loadmix.Ranking:
    """Return both rankings of the two designs.

    >>> ranking().wins_benchmark, ranking().wins_mix
    ('B200, two cards', 'H100, eight cards')
    """
    return loadmix.rank(designs(), loadmix.mix(mix), neighbours=neighbours, lateness_s=lateness_s)


def ranking_picture(mix: str = "expert training"):
    """Return both rankings as a figure.

    >>> len(ranking_picture().data)
    2
    """
    r = ranking(mix)
    return paying.two_rankings(r.benchmark_Bps, r.mix_s, mix=_(mix))


OWNERS = (0, 0, 0, 0, 1, 1, 1, 1)
NAMES = ("a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3")


def two_tenants(nvlink_partitions: bool = False) -> tenants.Reach:
    """Return who reaches whom among eight GPUs of one rack: two tenants with a partition key each.

    >>> len(tenants.leaks(OWNERS, two_tenants())), len(tenants.leaks(OWNERS, two_tenants(True)))
    (16, 0)
    """
    keys = [[tenants.partition_key(1 + owner)] for owner in OWNERS]
    return tenants.reach(keys, [0] * 8, OWNERS if nvlink_partitions else None)


def reach_picture(nvlink_partitions: bool = False):
    """Return that as a figure.

    >>> "16 of 16" in reach_picture().layout.title.text
    True
    """
    return watching.reach(NAMES, two_tenants(nvlink_partitions).way, OWNERS)


def slowed(choice: str = "adaptive") -> dict[str, dict[str, float]]:
    """Return who slows whom on a small fabric tapered 4 to 1: two jobs with keys of their own, one of them noisy.

    >>> slowed()["quiet"]["noisy"] > 2
    True
    """
    from course_lib.fabric.scaleout import cluster as joined
    from course_lib.fabric.scaleup import nvswitch_box

    pod = joined(nvswitch_box("h100", 8, [18], 25e9), 8, oversubscription=4.0, radix=16, attach="leaf")
    flows = {"quiet": [(0, 16)], "noisy": [(k, 16 + k) for k in range(1, 5)]}
    return tenants.slowdowns(pod, flows, choice=choice)


TARGETS = """
title = "Roll-out of the new training pool"
roll_back = "drain the new pool, resume from the last checkpoint on the old one"

[targets.goodput]
at_least = "90 %"
owner = "training lead"
review = 2027-03-01
escalate_to = "head of infrastructure"

[targets.cost_per_million_tokens]
at_most = "4.50 USD/Mtokens"
owner = "capacity planner"
review = 2027-06-01
escalate_to = "head of finance"

[targets.restart_time]
at_most = "10 min"
owner = "on-call lead"
review = 2027-01-15
escalate_to = "head of infrastructure"
needs = "measured"
"""


def refused(old: str, new: str) -> str:
    """Return what reading the lesson's targets says when a word of them is replaced by another.

    >>> refused("10 min", "10 minutes")
    "targets, line 18: restart_time is '10 minutes': it has no unit 'minutes'. The nearest is min; valid: ns, us, µs, ms, s, min, h, days."
    """
    try:
        read_targets(TARGETS.replace(old, new))
    except CourseError as error:
        return str(error)
    return _("It is read without a complaint.")


def origins(*names: str) -> None:
    """Print the named numbers with value, kind and source; assumed ones with the reason that is given for them.

    >>> origins("pue", "storage")
    pue: 1.3 ratio (assumed: between 1.58, the mean of all sites, and the 1.1 of large liquid-cooled ones)
    storage: 2 TB/s (spec: Grattafiori et al., The Llama 3 Herd of Models (2024))
    """
    said = {"B/s": say_rate, "B": say_bytes, "s": say_time, "FLOP/s": lambda v: f"{say_number(v / 1e12)} TFLOP/s"}
    for name in names:
        k: Known = known(name)
        value = said[k.unit](k.value) if k.unit in said else f"{say_number(k.value, 4)} {k.unit}"
        why = _("assumed: {note}").format(note=k.note) if k.kind == "assumed" else f"{k.kind}: {k.source}"
        print(f"{k.name}: {value} ({why})")


def fleet_origins() -> None:
    """Print every published fleet with its rate and source.

    >>> fleet_origins()  # doctest: +ELLIPSIS
    Meta Research SuperCluster 1, A100: 6.5 in 1,000 host-days (failures of hosts under large jobs)...
    """
    for found in fleetfit.fleets():
        rate = say_number(found.rate_per_host_s * DAY_s * 1000, 3)
        print(
            _("{title}: {rate} in 1,000 host-days ({counts})").format(
                title=found.title, rate=rate, counts=_(found.counts)
            )
        )
        print(f"  {found.source}, {found.address}")
