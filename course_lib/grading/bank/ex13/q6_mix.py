"""Question 13.q6: one benchmark, or the mix."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Plain
from course_lib.grading.bank.ex13.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


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
        (three, [["network", 64.0, 1], ["box", 4.0, 400]]),  # the sum decides, and not the largest item
        (three, [["network", 64.0, 1], *[["box", 500.0, 1]] * 6]),
        (three, [["network", 0.02, 1], ["network", 0.01, 1]]),  # latency decides, once
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


def _longest(answer: Sequence[str], designs: Mapping, mix: Sequence) -> bool:
    """Whether the mix is judged by its longest line or by its longest single call."""
    by_line = _ranked(lambda d, mix: max(_time_us(d, [call]) for call in mix))
    by_call = _ranked(lambda d, mix: max(_time_us(d, [[place, mb, 1]]) for place, mb, _times in mix))
    return list(answer) in (by_line(designs, mix), by_call(designs, mix))


def _slowest(answer: Sequence[str], designs: Mapping, mix: Sequence) -> bool:
    """Whether the slowest is named, for the mix alone or for the benchmark as well."""
    slow = [max(designs, key=lambda name: _time_us(designs[name], calls)) for calls in ([["box", 8000.0, 1]], mix)]
    return list(answer) in (slow, [winners(designs, mix)[0], slow[1]])


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
            "bits for bytes",
            _ranked(lambda d, mix: sum(times * (d[place][0] + 8 * mb / d[place][1] * 1e3) for place, mb, times in mix)),
            _("You turn MB into bits. Rates in GB/s are bytes already."),
        ),
        Misconception(
            "latency once for all calls of a line",
            _ranked(lambda d, mix: sum(d[place][0] + times * mb / d[place][1] * 1e3 for place, mb, times in mix)),
            _("You count the latency once for all calls of a line. Every call waits for it."),
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
            "milliseconds beside microseconds",
            _ranked(lambda d, mix: sum(times * (d[place][0] + mb / d[place][1]) for place, mb, times in mix)),
            _("You add MB over GB/s, which are milliseconds, to microseconds. Then latency counts a thousandfold."),
        ),
        Misconception(
            "the longest item decides",
            _ranked(lambda d, mix: max(times * (d[place][0] + mb / d[place][1] * 1e3) for place, mb, times in mix)),
            _("You compare the longest item of the mix. The calls follow one another, so their times add up."),
            recognise=_longest,
        ),
        Misconception(
            "calls across the network only",
            _ranked(lambda d, mix: _time_us(d, [call for call in mix if call[0] == "network"])),
            _("You leave the calls in the box out. They take their time, too."),
        ),
        Misconception(
            "the slowest named",
            lambda designs, mix: [
                winners(designs, mix)[0],
                max(designs, key=lambda name: _time_us(designs[name], mix)),
            ],
            _("You name the slowest. The quickest has the least time."),
            recognise=_slowest,
        ),
        Misconception(
            "the two names exchanged",
            lambda designs, mix: winners(designs, mix)[::-1],
            _("You have exchanged the two names: first the benchmark, then the mix."),
        ),
        Misconception(
            "mean of the rates",
            _ranked(lambda d, mix: -sum(d[place][1] for place, _mb, _times in mix) / len(mix)),
            _("You compare mean bandwidths. Times add up; rates do not."),
        ),
    ),
)
