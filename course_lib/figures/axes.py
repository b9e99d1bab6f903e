"""Axes with the ticks that people say: sizes, rates, times and counts, logarithmic or not, and none at all for graphs."""

import math
from collections.abc import Callable, Sequence

from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_share, say_time
from course_lib.figures.theme import theme


def _axis(title: str, **more) -> dict:
    now = theme()
    return {
        "title": {"text": title, "font": {"size": 13, "color": now.muted}, "standoff": 10},
        "tickfont": {"size": 12, "color": now.muted},
        "gridcolor": now.grid,
        "gridwidth": 1,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "fixedrange": False,
        "ticklabelstandoff": 4,
        "tickangle": 0,
        **more,
    }


def log_ticks(low: float, high: float, say: Callable[[float], str], at_most: int = 7) -> tuple[list[float], list[str]]:
    """Return a tick at every power of ten within [low, high], and texts: every one, or every thousand where they are more than `at_most`.

    >>> log_ticks(10, 1e7, say_bytes, 3)
    ([10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0, 10000000.0], ['', '', '1 KB', '', '', '1 MB', ''])
    """
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    decades = range(first, last + 1)
    stride = next((s for s in (1, 3, 6) if len(decades) <= at_most * s), 9)
    values = [10.0**k for k in decades]
    if len(values) < 2:  # less than a decade or two: steps of 1, 2, 5
        values = [
            m * 10.0**k
            for k in range(first - 1, last + 1)
            for m in (1, 2, 5)
            if low <= m * 10.0**k * (1 + 1e-9) <= high * (1 + 2e-9)
        ]
        return values, [say(v) for v in values]
    return values, [say(v) if k % stride == 0 else "" for k, v in zip(decades, values)]


def log_axis(title: str, low: float, high: float, say: Callable[[float], str], at_most: int = 7, **more) -> dict:
    """Return a log axis from `low` to `high` (above zero) whose ticks are said by `say`.

    >>> log_axis("size", 1, 1000, say_bytes)["ticktext"]
    ['1 B', '10 B', '100 B', '1 KB']
    """
    values, texts = log_ticks(low, high, say, at_most)
    ends = [math.log10(low), math.log10(high)]
    return _axis(title, type="log", range=ends, tickvals=values, ticktext=texts, **more)


def size_axis(low_B: float = 1, high_B: float = 1e10, title: str | None = None, **more) -> dict:
    """Return a log axis of message sizes in bytes (1 KB, 1 MB, 1 GB).

    >>> size_axis(1e3, 1e9)["title"]["text"]
    'message size'
    """
    return log_axis(_("message size") if title is None else title, low_B, high_B, say_bytes, 4, **more)


def rate_axis(low_Bps: float = 1e6, high_Bps: float = 1e12, title: str | None = None, **more) -> dict:
    """Return a log axis of rates in bytes per second, one direction (1 MB/s, 1 GB/s).

    >>> rate_axis(1e9, 1e12)["ticktext"]
    ['1 GB/s', '10 GB/s', '100 GB/s', '1 TB/s']
    """
    name = _("rate, one direction") if title is None else title
    return log_axis(name, low_Bps, high_Bps, say_rate, 7, **more)


def say_tick_time(time_s: float) -> str:
    """Return a power of ten of seconds as a tick: µs, ms and s, never minutes.

    >>> say_tick_time(1e-4), say_tick_time(100.0)
    ('100 µs', '100 s')
    """
    return say_time(time_s) if time_s < 1 else f"{say_number(time_s)} s"


def time_axis(low_s: float = 1e-6, high_s: float = 1.0, title: str | None = None, **more) -> dict:
    """Return a log axis of times in seconds (1 µs, 1 ms, 1 s).

    >>> time_axis(1e-6, 1e-3)["ticktext"]
    ['1 µs', '10 µs', '100 µs', '1 ms']
    """
    return log_axis(_("time") if title is None else title, low_s, high_s, say_tick_time, 7, **more)


def count_axis(low: float, high: float, title: str, counts: Sequence[int] = (), **more) -> dict:
    """Return a log axis of counts such as ranks; `counts` are the ticks, else powers of ten.

    >>> count_axis(2, 1000, "GPUs", (2, 8, 72))["ticktext"]
    ['2', '8', '72']
    """
    axis = log_axis(title, low, high, say_number, **more)
    return axis | ({"tickvals": list(counts), "ticktext": [say_number(c) for c in counts]} if len(counts) else {})


def linear_axis(title: str, low: float | None = None, high: float | None = None, **more) -> dict:
    """Return a linear axis; without bounds Plotly chooses them.

    >>> linear_axis("step", 0, 7)["range"]
    [0, 7]
    """
    ends = {} if low is None or high is None else {"range": [low, high]}
    return _axis(title, type="linear", **ends, **more)


def share_axis(title: str, low: float = 0.0, high: float = 1.0, **more) -> dict:
    """Return a linear axis of shares of one with at most seven ticks in percent.

    >>> share_axis("efficiency", 0, 1.05)["ticktext"]
    ['0 %', '20 %', '40 %', '60 %', '80 %', '100 %']
    """
    step = next((s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / s <= 6), 1.0)
    ticks = [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    return linear_axis(title, low, high, tickvals=ticks, ticktext=[say_share(t) for t in ticks], **more)


def blank_axis(low: float, high: float, title: str = "", **more) -> dict:
    """Return an axis that is not drawn, for graphs and timelines.

    >>> blank_axis(0, 1)["visible"]
    False
    """
    return {
        "type": "linear",
        "range": [low, high],
        "visible": False,
        "fixedrange": True,
        "title": {"text": title},
        **more,
    }


def at(axis: dict, value: float) -> float:
    """Return `value` as annotations and shapes count on `axis`: its log10 on a log axis.

    >>> at(size_axis(), 1000)
    3.0
    """
    return math.log10(value) if axis.get("type") == "log" else value
