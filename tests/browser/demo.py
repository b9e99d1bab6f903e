"""Explorers of the tests' own: a link of latency and bandwidth, and one with every kind of control, errors and prints among them."""

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.base.scale import say_bytes, say_rate, say_time
from course_lib.base.units import parse_bytes
from course_lib.explorers.controls import Choice, CountSlider, Number, RateSlider, SizeSlider, TimeSlider, Toggle
from course_lib.explorers.explorer import Explorer, Guess
from course_lib.explorers.stepper import Stepper
from course_lib.figures.curves import Curve, Measured, rate_over_size, time_over_size

SIZES = np.logspace(1, 10, 181)


def link(latency_s, bandwidth_Bps):
    time_s = latency_s + SIZES / bandwidth_Bps
    return {
        "latency_s": latency_s,
        "bandwidth_Bps": bandwidth_Bps,
        "rate_Bps": SIZES / time_s,
        "half_B": latency_s * bandwidth_Bps,
    }


def draw(result):
    curve = Curve("a link", result["rate_Bps"], "nvlink", half_B=result["half_B"], limit=result["bandwidth_Bps"])
    sizes = np.array([1e5, 1e6, 1e7, 1e8])
    rate = sizes / (1.1e-5 + sizes / 45e9)
    return rate_over_size(SIZES, [curve], measured=[Measured("a copy", sizes, rate, rate * 0.9, rate * 1.05)])


def alpha_beta(guess=None):
    return Explorer(
        link,
        draw,
        question="From which message size on is half of the link used?",
        guess=guess,
        equation=lambda r: (
            "m½ = α · β",
            f"m½ = {say_time(r['latency_s'])} · {say_rate(r['bandwidth_Bps'])} = {say_bytes(r['half_B'])}",
        ),
        sentence=lambda r: f"Messages below {say_bytes(r['half_B'])} wait for latency more than for the wire.",
        latency_s=TimeSlider("latency α", 1e-7, 1e-3, 1e-5),
        bandwidth_Bps=RateSlider("bandwidth β, one direction", 1e9, 1e12, 50e9),
    )


def guessed():
    return alpha_beta(Guess("demo.half", "Half-size at 10 µs and 50 GB/s?", "KB", lambda: 10e-6 * 50e9))


def many(message_B, n, kind, both, typed_B, step):
    if typed_B == 0:
        raise CourseError("The size is 0 B; a message of at least 1 B is expected.")
    if kind == "crash":
        raise ZeroDivisionError("division by zero")
    if kind == "print":
        print("a print from the model")
    return {"message_B": message_B, "n": n, "scale": 2 if both else 1, "typed_B": typed_B, "step": step, "kind": kind}


def draw_many(r):
    time_s = 1e-6 * r["n"] + SIZES * r["scale"] / 1e11 + r["typed_B"] / 1e12 + r["step"] * 1e-6
    title = f"{r['n']} GPUs, step {r['step']}, {r['kind']}: {say_time(time_s[0])} at the least"
    return time_over_size(
        SIZES, [Curve("all", time_s, "network")], at_B=float(r["message_B"]), title=title, subtitle="a demo"
    )


def every_control():
    return Explorer(
        many,
        draw_many,
        question="Does every kind of control work?",
        message_B=SizeSlider("message size"),
        n=CountSlider("GPUs", 1, 1024, 8),
        kind=Choice("kind", ("ring", "tree", "print", "crash")),
        both=Toggle("both directions"),
        typed_B=Number("a size", 1024, parse=parse_bytes, say=say_bytes),
        step=Stepper("step", lambda values: values["n"] + 1, 0, 300),
    )
