"""Lesson 10: boxes of eight against a rack of seventy-two for a layer of experts, and the runs that the lesson shows."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course_lib.base import hardware
from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.explorers.controls import Choice, CountSlider
from course_lib.explorers.explorer import Explorer, Guess
from course_lib.figures.experts import layer_over_degrees
from course_lib.plan import expertruns, servedruns
from course_lib.plan.expertlayer import Layers, layers
from course_lib.plan.experts import sent_copies, token_B, visits
from course_lib.plan.pools import gb
from course_lib.plan.served import Layout, fits, held, host_Bps, placed_on
from course_lib.plan.serving import Step, decode, prefill

MODEL, GPU = "deepseek-v3", "gb200"
BOXES, RACK = "dgx-b200", "gb200-nvl72"
DEGREES = (2, 4, 8, 16, 32, 64, 72, 128, 256)
TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
CONTEXT = 4096
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
        first = _("Forward and backward, {n} tokens on each GPU.").format(n=f"{r.rack.tokens:,}")
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
                (_("write tokens; kernels made for experts"), "decode"),
                (_("write tokens; the library's all-to-all"), "library"),
                (_("train, forward and backward"), "train"),
            ),
            "decode",
        ),
    )


@dataclass(frozen=True, slots=True)
class Exchanges:
    """Measured exchanges: tokens or ranks (n,), measured and modelled seconds (2, n), the library's (n,) for a dispatch."""

    x: np.ndarray
    measured_s: np.ndarray
    model_s: np.ndarray
    library_s: np.ndarray
    source: str

    @property
    def columns(self) -> tuple:
        """As the figure takes them."""
        return self.x, self.measured_s, self.model_s, self.library_s


def in_one_box() -> Exchanges:
    """Return exchanges over tokens in one box of eight B300, which no constant saw.

    >>> found = in_one_box()
    >>> bool(np.abs(np.log(found.model_s / found.measured_s)).max() < 0.06)
    True
    """
    chosen = [r for r in expertruns.runs() if (r.system, r.n_experts, r.way) == ("dgx-b300", 256, "low-latency")]
    return _exchanges(chosen, "tokens")


def across_boxes() -> Exchanges:
    """Return exchanges of 128 tokens over boxes of eight H800, by the number of GPUs.

    >>> found = across_boxes()
    >>> found.x.tolist(), bool(found.library_s[-1] > 8 * found.measured_s[0, -1])
    ([8, 16, 32, 64, 128, 256], True)
    """
    return _exchanges([r for r in expertruns.runs() if r.system == "hgx-h800"], "n_ranks")


def _exchanges(chosen: list, x: str) -> Exchanges:
    out, back = (expertruns.compare(chosen, phase) for phase in ("dispatch", "combine"))
    return Exchanges(
        getattr(out, x),
        np.stack([out.measured_s, back.measured_s]),
        np.stack([out.model_s, back.model_s]),
        out.library_s,
        expertruns.sources()[chosen[0].source].title,
    )


@lru_cache(maxsize=8)
def curve(system: str, most_degree: int = 256) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, over the requests on a GPU, tokens per second for a reader and from a GPU, at the quickest degree that fits.

    One degree for each number of requests: the one with the shortest step. Third: those degrees.

    >>> reader, gpu, degree = curve("gb200-nvl72")
    >>> bool((np.diff(reader) < 0).all() and (np.diff(gpu) > 0).all())
    True
    """
    each = 2.0 ** np.arange(-3, 10)  # below 1: not every GPU has a request
    degrees = [e for e in (8, 16, 32, 64, 128, 256) if e <= most_degree]
    steps = np.array(
        [decode(MODEL, system, Layout(expert=e), e * each, CONTEXT, gpu=GPU).step_s for e in degrees], float
    )
    best = steps.min(axis=0)
    return 1 / best, each / best, np.array(degrees)[steps.argmin(axis=0)]


def step_of(system: str, degree: int, each: int) -> Step:
    """Return a decoding step of DeepSeek-V3 on a system, `each` requests on every GPU.

    >>> step_of("gb200-nvl72", 64, 128).n_gpus
    64
    """
    return decode(MODEL, system, Layout(expert=degree), degree * each, CONTEXT, gpu=GPU)


def shares(step: Step) -> str:
    """Return the terms of a step in words, longest first.

    >>> shares(step_of("gb200-nvl72", 64, 128)).count(",") >= 4
    True
    """
    terms = sorted(step.terms.items(), key=lambda item: -float(item[1]))
    return ", ".join(f"{_(name)} {say_time(float(value))}" for name, value in terms)


def copies_in_words(way: str) -> str:
    """Return how many copies of a token cross a card, and NVLink, on 64 GPUs in boxes of eight.

    >>> copies_in_words("low-latency")
    '7 over a card, 0.88 over NVLink'
    """
    net, up = sent_copies(MODEL, BOXES, 64, way)
    return _("{net} over a card, {up} over NVLink").format(net=say_number(net, 2), up=say_number(up, 2))


def domains() -> list[str]:
    """Return how many GPUs and hosts one NVLink domain had, from 2017 on.

    >>> domains()[-1]
    'GB200 NVL72: 72 GPUs in 18 hosts'
    """
    known = [hardware.system(n) for n in ("dgx-1-v100", "dgx-2", "dgx-h100", "gh200-nvl32", "gb200-nvl72")]
    return [
        _("{title}: {n} GPUs in {hosts}").format(
            title=_(s.title), n=s.gpus, hosts=_("1 host") if s.hosts == 1 else _("{n} hosts").format(n=s.hosts)
        )
        for s in known
    ]


def offload() -> list[str]:
    """Return three lines: a layout on four GPUs that does not fit, what a remote expert costs, and a prompt with a quarter away.

    >>> lines = offload()
    >>> len(lines), "too many" in lines[0]
    (3, True)
    """
    layout, away = Layout(expert=4), Layout(expert=4, host_share=0.25)
    verdict = fits(MODEL, layout, GPU, 4, 2000)
    kept = held(MODEL, layout, GPU)
    expert_B = kept.experts_B / kept.slots
    _place, rack = placed_on(RACK, layout, None)
    _place, box = placed_on(BOXES, layout, None)
    first = verdict.sentence.split(" What")[0]
    second = _("an expert of every layer, {size}: {a} over C2C, {b} over PCIe 5").format(
        size=gb(expert_B), a=say_time(expert_B / host_Bps(rack)), b=say_time(expert_B / host_Bps(box))
    )
    steps = [prefill(MODEL, s, away, 2000, 32, gpu=g) for s, g in ((RACK, rack), (BOXES, box))]
    third = _(
        "32 prompts of 2,000 tokens, a quarter of the experts away: {a} of {b} wait for C2C, {c} of {d} for PCIe"
    ).format(
        a=say_time(float(steps[0].terms["host memory"])),
        b=say_time(float(steps[0].step_s)),
        c=say_time(float(steps[1].terms["host memory"])),
        d=say_time(float(steps[1].step_s)),
    )
    return [first, second, third]


def equal_speed() -> tuple:
    """Return the published curves as the figure takes them: rack and boxes.

    >>> len(equal_speed()[0])
    2
    """
    seen = servedruns.equal_speed()
    return [seen.reader_per_s] * 2, [seen.rack_per_s, seen.boxes_per_s]


def where_it_came_from(*names: str) -> list[str]:
    """Return title and address of published runs.

    >>> where_it_came_from("deepep-v1")[0].startswith("DeepEP")
    True
    """
    return [f"{s.title}: {s.address}" for s in (expertruns.sources()[n] for n in names)]


def bytes_of_a_copy() -> str:
    """Return what one copy of a token weighs on its way out and on its way back.

    >>> bytes_of_a_copy().startswith("out")
    True
    """
    return _("out {a} (FP8 and its scales), back {b} (BF16); a card carries {rate}, a GPU's NVLink {more}").format(
        a=say_bytes(token_B(7168, "dispatch"), 3),
        b=say_bytes(token_B(7168, "combine"), 3),
        rate=say_rate(hardware.link("ib-ndr").line_Bps),
        more=say_rate(hardware.link("nvlink5").line_Bps),
    )
