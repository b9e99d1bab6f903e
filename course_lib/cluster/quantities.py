"""What a target may be about: names, units and which way is better; "50 ms" or "90 %" read into numbers."""

import difflib
import re
from dataclasses import dataclass

from course_lib.base.errors import CourseError
from course_lib.base.language import _

MOST = 1e30  # of any quantity
_SCALES: dict[str, dict[str, float]] = {
    "time": {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "days": 86400.0},
    "share": {"%": 0.01, "share": 1.0},
    "tokens": {"tokens/s": 1.0, "ktokens/s": 1e3, "Mtokens/s": 1e6},
    "money": {"USD": 1.0, "kUSD": 1e3, "MUSD": 1e6},
    "token price": {"USD/Mtokens": 1.0},
    "hour price": {"USD/GPUh": 1.0},
    "power": {"W": 1.0, "kW": 1e3, "MW": 1e6},
    "energy": {"J/token": 1.0, "mJ/token": 1e-3},
    "rate": {"MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12},
    "memory": {"GB": 1e9, "TB": 1e12, "GiB": 2.0**30},
    "count": {"GPUs": 1.0, "hosts": 1.0, "per day": 1.0},
}


@dataclass(frozen=True, slots=True)
class Measure:
    """Something that a target can be about: `kind` chooses the units, `better` is "lower" or "higher"."""

    name: str
    kind: str
    better: str
    title: str

    @property
    def units(self) -> tuple[str, ...]:
        """The units it may be written in."""
        return tuple(_SCALES[self.kind])


MEASURES = {
    m.name: m
    for m in (
        Measure("token_latency", "time", "lower", "latency of a decoded token"),
        Measure("first_token_latency", "time", "lower", "latency of the first token"),
        Measure("step_time", "time", "lower", "training step"),
        Measure("all_reduce_time", "time", "lower", "largest all-reduce"),
        Measure("time_between_failures", "time", "higher", "time between failures of the job"),
        Measure("restart_time", "time", "lower", "restart after a failure"),
        Measure("tokens_per_s", "tokens", "higher", "tokens a second of the whole cluster"),
        Measure("goodput", "share", "higher", "goodput"),
        Measure("utilisation", "share", "higher", "utilisation (of the peak FLOP/s)"),
        Measure("availability", "share", "higher", "availability"),
        Measure("quality_loss", "share", "lower", "loss of answer quality against the reference"),
        Measure("cost_per_million_tokens", "token price", "lower", "cost of a million tokens"),
        Measure("cost_per_gpu_hour", "hour price", "lower", "cost of an hour of one GPU"),
        Measure("budget", "money", "lower", "purchase"),
        Measure("yearly_cost", "money", "lower", "cost of a year"),
        Measure("power", "power", "lower", "power at the meter"),
        Measure("energy_per_token", "energy", "lower", "energy of a token"),
        Measure("bus_bandwidth", "rate", "higher", "bus bandwidth of the mix"),
        Measure("memory_per_gpu", "memory", "lower", "memory used on a GPU"),
        Measure("gpus", "count", "lower", "GPUs"),
        Measure("false_alarms", "count", "lower", "false alarms a day"),
    )
}


def nearest(word: str, valid: "tuple[str, ...] | list[str]") -> str:
    """Return the end of a sentence that helps with a wrong word: the nearest valid one if any, then all.

    >>> nearest("goodputt", ["goodput", "power"])
    'The nearest is goodput; valid: goodput, power.'
    """
    near = difflib.get_close_matches(str(word).lower(), [v.lower() for v in valid], n=1, cutoff=0.6)
    hint = next((v for v in valid if near and v.lower() == near[0]), None)
    every = ", ".join(valid)
    if hint is None:
        return _("Valid: {valid}.").format(valid=every)
    return _("The nearest is {near}; valid: {valid}.").format(near=hint, valid=every)


def parse(measure: Measure, text: object) -> float:
    """Return the SI number of a quantity as people write it ("50 ms", "90 %", "1.2 USD/Mtokens"); a unit is always needed.

    Raises CourseError that names the units this measure may have.

    >>> parse(MEASURES["token_latency"], "50 ms"), parse(MEASURES["goodput"], "90 %")
    (0.05, 0.9)
    >>> parse(MEASURES["goodput"], "90 s")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: goodput is '90 s': it has no unit 's'. Valid: %, share.
    """
    scales = _SCALES[measure.kind]
    found = (
        re.fullmatch(r"\s*([-+]?[\d_]*\.?\d+(?:[eE][-+]?\d+)?)\s*(\S.*?)?\s*", text) if isinstance(text, str) else None
    )
    if not found:
        sentence = _(
            '{name} is {text!r}; a number with a unit in quotes is expected, like "{example}". Valid units: {units}.'
        )
        example = f"50 {next(iter(scales))}"
        raise CourseError(sentence.format(name=measure.name, text=text, example=example, units=", ".join(scales)))
    unit = found[2] or ""
    if unit not in scales:
        if not unit:
            sentence = _("{name} is {text!r}: the unit is missing. Valid: {units}.")
            raise CourseError(sentence.format(name=measure.name, text=text, units=", ".join(scales)))
        sentence = _("{name} is {text!r}: it has no unit '{unit}'. {hint}")
        raise CourseError(sentence.format(name=measure.name, text=text, unit=unit, hint=nearest(unit, tuple(scales))))
    number = float(found[1].replace("_", "")) * scales[unit]
    if not number < MOST:
        raise CourseError(_("{name} is {text!r}; that is too large to be meant.").format(name=measure.name, text=text))
    if number == 0 and measure.kind != "share" and measure.name != "false_alarms":
        raise CourseError(_("{name} is {text!r}; nothing has 0 of it.").format(name=measure.name, text=text))
    if number < 0:
        raise CourseError(_("{name} is {text!r}; it cannot be below 0.").format(name=measure.name, text=text))
    if measure.kind == "share" and number > 1:
        raise CourseError(
            _("{name} is {text!r}; a share cannot be more than 100 %.").format(name=measure.name, text=text)
        )
    return number


def say(measure: Measure, value: float) -> str:
    """Return a number of this measure as people read it.

    >>> say(MEASURES["token_latency"], 0.0421), say(MEASURES["goodput"], 0.9136), say(MEASURES["budget"], 48.2e6)
    ('42.1 ms', '91.4 %', '48.2 MUSD')
    """
    if measure.kind == "share":
        return f"{value * 100:.3g} %"
    if measure.kind == "count":
        unit = {"false_alarms": _("a day"), "gpus": _("GPUs")}.get(measure.name, "")
        return f"{value:,.6g} {unit}".strip()
    scales = {unit: scale for unit, scale in _SCALES[measure.kind].items() if unit not in ("us", "GiB")}
    fitting = [unit for unit, scale in scales.items() if abs(value) >= scale]
    unit = max(fitting, key=scales.get) if fitting else min(scales, key=scales.get)
    number = value / scales[unit]
    text = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
    return _("{n} days").format(n=text) if unit == "days" else f"{text} {unit}"
