"""Lesson 10's explorer: over how many GPUs to spread the experts of a layer, in boxes and in a rack."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_time
from course_lib.explorers.controls import Choice, CountSlider
from course_lib.explorers.explorer import Explorer, Guess
from course_lib.explorers.lesson10.machines import BOXES, GPU, MODEL, RACK
from course_lib.figures.experts import layer_over_degrees
from course_lib.plan.expertlayer import Layers, layers
from course_lib.plan.experts import sent_copies, visits
from course_lib.plan.pools import gb

DEGREES = (2, 4, 8, 16, 32, 64, 72, 128, 256)
TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
JOBS = {"decode": ("decode", "low-latency"), "library": ("decode", "library"), "train": ("train", "throughput")}


@dataclass(frozen=True, slots=True)
class Reading:
    """What the explorer shows: a layer at all degrees on boxes and in a rack, and which degree is chosen."""

    job: str
    boxes: Layers
    rack: Layers
    chosen: int

    @property
    def here(self) -> int:
        """The place of the chosen degree in the arrays."""
        return int(np.flatnonzero(self.rack.degree == self.chosen)[0])

    @property
    def gain(self) -> float:
        """How many times as fast the rack is at the chosen degree."""
        return float(self.boxes.time_s[self.here] / self.rack.time_s[self.here])

    @property
    def best(self) -> tuple[int, int]:
        """The quickest degree on boxes, and in the rack."""
        return tuple(int(found.degree[np.argmin(found.time_s)]) for found in (self.boxes, self.rack))


@lru_cache(maxsize=64)
def read_layer(degree: int, tokens: int, job: str) -> Reading:
    """Return a layer of DeepSeek-V3's experts on B200-like GPUs: `tokens` on each GPU, in boxes of eight and in one rack.

    The same processor computes in both, so that only the wires differ.

    >>> found = read_layer(64, 128, "decode")
    >>> 4 < found.gain < 6, found.best
    (True, (8, 64))
    """
    kind, way = JOBS[one_of(_("job"), job, JOBS)]
    both = [layers(MODEL, s, DEGREES, tokens, job=kind, way=way, gpu=GPU) for s in (BOXES, RACK)]
    return Reading(job, *both, degree)


def _title(r: Reading) -> str:
    if abs(r.gain - 1) < 0.005:
        return _("{n} GPUs fit in a box: {time} a layer in both, 1 ×").format(
            n=r.chosen, time=say_time(float(r.rack.time_s[r.here]))
        )
    return _("{n} GPUs share the experts: {a} a layer on boxes, {b} in the rack, {gain} ×").format(
        n=r.chosen,
        a=say_time(float(r.boxes.time_s[r.here])),
        b=say_time(float(r.rack.time_s[r.here])),
        gain=say_number(r.gain, 2),
    )


def _draw(r: Reading):
    return layer_over_degrees(
        r.rack.degree.tolist(), r.boxes.time_s, r.rack.time_s, r.rack.compute_s, chosen=r.chosen, title=_title(r)
    )


def _equation(r: Reading) -> tuple[str, str]:
    boxes, rack = (
        _("{a} + {b} + {c}").format(
            a=say_time(float(found.compute_s[r.here])),
            b=say_time(float(found.dispatch_s[r.here])),
            c=say_time(float(found.combine_s[r.here])),
        )
        for found in (r.boxes, r.rack)
    )
    return (
        _("layer = computing + dispatch + combine"),
        _("layer = {boxes} on boxes, {rack} in the rack").format(boxes=boxes, rack=rack),
    )


def _sentence(r: Reading) -> str:
    way = JOBS[r.job][1]
    net = sent_copies(MODEL, BOXES, r.chosen, way)[0]
    if r.job == "train":
        first = _("Forward and backward; tokens on each GPU: {n}.").format(n=f"{r.rack.tokens:,}")
    else:
        first = _("Each GPU keeps {size} of experts, all layers.").format(size=gb(float(r.rack.experts_B[r.here])))
    if net < 0.005:
        second = _("On boxes, too, no copy of a token has to leave a box.")
    else:
        second = _("On boxes {n} of the {k} copies of each token cross a network card.").format(
            n=say_number(net, 2), k=say_number(_copies(way, r.chosen), 2)
        )
    a, b = r.best
    third = _("Quickest on boxes: {a} GPUs ({ta}); in the rack: {b} ({tb}).").format(
        a=a, ta=say_time(float(r.boxes.time_s.min())), b=b, tb=say_time(float(r.rack.time_s.min()))
    )
    return f"{first} {second} {third}"


def _copies(way: str, degree: int) -> float:
    """Copies of a token that are made: one for each expert, or one for each box that has work for it."""
    return 8.0 if way in ("library", "low-latency") else float(visits(256, 8, max(1, -(-degree // 8))))


def boxes_or_rack() -> Explorer:
    """Return the explorer: how many GPUs share the experts of a layer, with how many tokens each, in boxes and in a rack.

    >>> boxes_or_rack().figure.layout.title.text[:7]
    '64 GPUs'
    """
    for job in JOBS:  # price every number of ranks now, so that all choices answer at once
        read_layer(64, 128, job)
    return Explorer(
        read_layer,
        _draw,
        question=_("Over how many GPUs should the experts of a layer be spread?"),
        guess=Guess(
            "10.few",
            _("8 tokens on each GPU, boxes of eight: over how many GPUs is a layer quickest?"),
            unit=_("GPUs"),
            truth=lambda: float(read_layer(64, 8, "decode").best[0]),
        ),
        equation=_equation,
        sentence=_sentence,
        degree=CountSlider(
            _("GPUs that share the experts"), 2, 256, 64, counts=DEGREES, help=_("the expert-parallel degree")
        ),
        tokens=CountSlider(_("tokens on each GPU"), 1, 8192, 128, counts=TOKENS, help=_("in the layer at one time")),
        job=Choice(
            _("job"),
            (
                (_("write, kernels for experts"), "decode"),
                (_("write, library's all-to-all"), "library"),
                (_("train, both ways"), "train"),
            ),
            "decode",
        ),
    )
