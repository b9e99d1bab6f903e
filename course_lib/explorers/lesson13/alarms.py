"""Lesson 13: fleets that predict another, an alarm on error counters, and where numbers come from."""

from functools import lru_cache

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.cluster import fleetfit, telemetry
from course_lib.cluster.published import DAY_s, Known, fleet, known
from course_lib.figures import watching
from course_lib.figures.counted import predictions

LINKS, READINGS = 32_768, 24.0  # links of a fleet, readings of each counter a day
HEALTHY, SICK = 0.1, 5.0  # errors in a reading


def fleet_picture():
    """Return the figure of the held-out prediction: every fleet alone, all together, and the count.

    >>> fleet_picture().layout.title.text.startswith("All five together: 529")
    True
    """
    rows = fleetfit.held_out()
    names = [fleet(r.predicted.names[0]).title for r in rows[:-1]] + [_("All five together")]
    return predictions(
        names,
        [r.predicted.expected for r in rows],
        [r.predicted.low for r in rows],
        [r.predicted.high for r in rows],
        rows[-1].counted,
        what=_("stops"),
        span=_("54 days on 16,384 GPUs"),
    )


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
