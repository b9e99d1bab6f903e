"""Lesson 09: a small training job to round and to compress, and the explorer of codec, bandwidth and ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from threading import Thread

import numpy as np

from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.base.scale import GBITPS, say_bit_rate, say_bytes, say_number, say_rate, say_time
from course_lib.explorers.ahead import in_background
from course_lib.explorers.controls import Choice, CountSlider, Slider
from course_lib.explorers.explorer import Explorer
from course_lib.figures.base import capital
from course_lib.figures.breakeven import break_even
from course_lib.figures.compression import say_times
from course_lib.plan.breakeven import sent_B
from course_lib.plan.codecs import Codec, Dense, EightBit, LowRank, OneBit, RandomK, TopK
from course_lib.plan.codecsteps import MODEL, Steps, steps
from course_lib.plan.compression import Training, train
from course_lib.plan.price import pricer
from course_lib.plan.smallmodel import Shape, batches, first_weights, loss_and_gradient, make_task
from course_lib.plan.transformer import model, params

JOB_TOKENS = 16_777_216  # a step of sixteen million tokens, as in the training of Llama 3 405B
RANKS = (2, 4, 8, 16, 32, 64, 128, 256)
CARDS_Bps = tuple(g * GBITPS for g in (1, 10, 25, 50, 100, 200, 400, 800, 1600, 3600))
SLOWER = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)


def codecs() -> dict[str, tuple[str, Codec]]:
    """Return the codecs of the lesson by name: what they are called, and the codec.

    >>> list(codecs())
    ['bf16', '8-bit', '1-bit', 'top-k', 'random-k', 'low-rank']
    """
    return {
        "bf16": (_("BF16"), Dense("bf16")),
        "8-bit": (_("8 bits"), EightBit()),
        "1-bit": (_("1 bit"), OneBit()),
        "top-k": (_("top 1 %"), TopK(0.01)),
        "random-k": (_("random 1 %"), RandomK(0.01)),
        "low-rank": (_("rank 2"), LowRank(2)),
    }


def trained(name: str, error_feedback: bool = True) -> Training:
    """Return the small model's training through a codec, "dense" or one of `codecs`; each is trained once.

    >>> trained("dense").loss.size
    120
    """
    return trained_once(name, bool(error_feedback) or name == "dense")


@cache
def trained_once(name: str, error_feedback: bool) -> Training:
    """Return what `trained` does, kept by name and feedback, however they were passed.

    >>> trained_once("dense", True) is trained("dense", error_feedback=True)
    True
    """
    if name == "dense":
        return train(Dense())
    return train(codecs()[one_of(_("codec"), name, codecs())][1], error_feedback=error_feedback)


@cache
def train_ahead() -> Thread | None:
    """Train in the background what no cell has trained yet, so that the explorer shows at once and every choice answers.

    Returns the thread; None where there are no threads: a codec is trained there when it is chosen.

    >>> train_ahead() is train_ahead()
    True
    """
    return in_background(trained(name, on) for name in codecs() for on in (True, False))


def small_gradients(seed: int = 0) -> np.ndarray:
    """Return the gradients of the small model's first step that are not zero, as small as in a job of sixteen million tokens.

    >>> bool(np.median(np.abs(small_gradients())) < 1e-7)
    True
    """
    shape, task = Shape(), make_task(seed)
    drawn = batches(task, 1, 1, 64, seed)[0]
    _loss, gradient = loss_and_gradient(
        first_weights(shape, seed), task.inputs[drawn], task.labels[drawn], shape, averaged_over=JOB_TOKENS
    )
    return gradient[gradient != 0]


@dataclass(frozen=True, slots=True)
class Halved:
    """All-reduces of FP32 gradients and of the same in half the bytes: sizes before (n,), seconds (ways, n), names, colours."""

    message_B: np.ndarray
    before_s: np.ndarray
    after_s: np.ndarray
    names: tuple[str, ...]
    roles: tuple[str, ...]


def half_the_bytes() -> Halved:
    """Return what halving the bytes of an all-reduce does, in one box of 8 H100 and over 8 boxes.

    >>> found = half_the_bytes()
    >>> bool(found.before_s[0, 0] / found.after_s[0, 0] < 1.05)
    True
    """
    sizes = np.geomspace(1e3, 1e10, 57)
    ways = (("NVLink", "nvlink", 8), (_("cards of 400 Gb/s"), "network", 64))
    before, after = (
        np.array([pricer("all_reduce", "dgx-h100", n)(sizes / part) for _name, _role, n in ways]) for part in (1, 2)
    )
    return Halved(sizes, before, after, tuple(w[0] for w in ways), tuple(w[1] for w in ways))


def sent_by_ranks(n_ranks: Sequence[int] = RANKS, size: int = 1_000_000) -> tuple[np.ndarray, list[str]]:
    """Return the bytes that each rank sends for `size` gradients (ways, n): dense, top 1 %, 8 bits gathered and in two phases.

    >>> sent, names = sent_by_ranks()
    >>> sent.shape, names[0]
    ((4, 8), 'dense FP32')
    """
    ways = (
        (_("dense FP32"), Dense(), None),
        (_("top 1 %, gathered"), TopK(0.01), None),
        (_("8 bits, gathered"), EightBit(), "all_gather"),
        (_("8 bits, two phases"), EightBit(), "two_phase"),
    )
    rows = [[sent_B(codec, size, int(n), how=how) for n in n_ranks] for _name, codec, how in ways]
    return np.array(rows), [name for name, _codec, _how in ways]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the explorer shows: a codec's steps over bandwidth, the chosen bandwidth, and how far training gets."""

    name: str
    title: str
    bandwidth_Bps: float
    slower: float
    found: Steps
    losses: tuple[float, float, float]

    def at(self, step_s: np.ndarray) -> float:
        """A step at the chosen bandwidth, read between the points."""
        return float(np.exp(np.interp(np.log(self.bandwidth_Bps), np.log(self.found.bandwidth_Bps), np.log(step_s))))


def read_codec(name: str, bandwidth_Bps: float, n_ranks: int, slower: float) -> Reading:
    """Return a step with gradients through a codec: `slower` times as long as the GPU's memory needs, on `n_ranks` hosts.

    >>> read_codec("top-k", 1.25e9, 8, 10).found.n_ranks
    8
    """
    title, codec = codecs()[one_of(_("codec"), name, codecs())]
    losses = tuple(float(t.loss[-1]) for t in (trained("dense"), trained(name), trained(name, False)))
    return Reading(name, title, bandwidth_Bps, slower, steps(codec, n_ranks, slower), losses)


def _draw(r: Reading):
    dense, packed = r.at(r.found.dense_s), r.at(r.found.packed_s)
    head = (
        _("{name}: a step of {a} instead of {b}, {gain} × as fast")
        if packed <= dense
        else _("{name}: a step of {a} instead of {b}, {loss} × as slow")
    )
    title = head.format(
        name=r.title,
        a=say_time(packed),
        b=say_time(dense),
        gain=say_number(dense / packed, 3),
        loss=say_number(packed / dense, 3),
    )
    title = capital(title)
    return break_even(
        r.found.bandwidth_Bps,
        r.found.dense_s,
        r.found.packed_s,
        at_Bps=r.bandwidth_Bps,
        crossing_Bps=r.found.crossing_Bps,
        losses=list(zip((_("FP32"), _("with error feedback"), _("without")), r.losses)),
        name=r.title,
        title=title,
    )


def _equation(r: Reading) -> tuple[str, str]:
    saved_B = r.found.dense_sent_B - r.found.packed_sent_B
    formula = _("break-even = (bytes dense − bytes packed) ÷ codec time")
    numbers = _("break-even = ({dense} − {packed}) ÷ {codec} = {rate}").format(
        dense=say_bytes(r.found.dense_sent_B),
        packed=say_bytes(r.found.packed_sent_B),
        codec=say_time(r.found.codec_s),
        rate=say_rate(saved_B / r.found.codec_s) if saved_B > 0 else _("never: no bytes are saved"),
    )
    return formula, numbers


def _sentence(r: Reading) -> str:
    less = say_times(r.found.dense_sent_B / r.found.packed_sent_B)
    text = _("On {n} hosts each GPU sends {less} than FP32; compute takes {compute} of the step, the codec {codec}.").format(
        n=r.found.n_ranks, less=less, compute=say_time(r.found.compute_s), codec=say_time(r.found.codec_s)
    )  # fmt: skip
    if r.found.crossing_Bps == 0:
        return text + " " + _("It pays at no bandwidth in this picture.")
    if np.isinf(r.found.crossing_Bps):
        return text + " " + _("It pays at every bandwidth in this picture.")
    return text + " " + _("It pays up to a card of about {rate}.").format(rate=say_bit_rate(r.found.crossing_Bps, 2))


def when_it_pays() -> Explorer:
    """Return the explorer of lesson 09: which codec, on how many hosts, over which card, and how good its kernel is.

    >>> when_it_pays().figure.layout.title.text[:7]
    'Top 1 %'
    """
    size = say_number(params(model(MODEL)).total / 1e9, 2)
    explorer = Explorer(
        read_codec,
        _draw,
        question=_("Is it worth compressing the gradients of {size} billion parameters?").format(size=size),
        equation=_equation,
        sentence=_sentence,
        name=Choice(_("codec"), tuple((title, key) for key, (title, _c) in codecs().items()), "top-k"),
        bandwidth_Bps=Slider(_("card of each GPU, one direction"), CARDS_Bps, 25 * GBITPS, say_bit_rate),
        n_ranks=CountSlider(_("hosts, one GPU each"), 2, 256, 8, counts=RANKS),
        slower=Slider(_("codec, times slower than GPU memory"), SLOWER, 30, lambda v: f"{say_number(v)} ×"),
    )
    train_ahead()
    return explorer
