"""Lesson 08: one backward pass with its buckets on a real network, and the explorer of bucket size, network and batch."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course_lib.base import hardware
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_time
from course_lib.base.units import GiB, KiB, MiB
from course_lib.explorers.controls import Choice, CountSlider, SizeSlider
from course_lib.explorers.explorer import Explorer
from course_lib.figures.overlap import over_buckets
from course_lib.plan.degrees import UTILISATION
from course_lib.plan.price import TimeOf, pricer
from course_lib.plan.replicas import Work, bars, tensors
from course_lib.plan.sharding import BucketSearch, Event, Overlap, bucket_search, overlap

MODEL = "gpt2-1.5b"
SIZES = tuple(float(256 * KiB * 2**k) for k in range(15))  # 256 KiB … 4 GiB, more than all gradients
TOKENS = (1024, 2048, 4096, 8192, 16384, 32768, 65536)
# system, GPUs, colour of the links that the ring waits for
NETWORKS = {
    "box": ("dgx-h100", 8, "nvlink"),
    "cards": ("dgx-h100", 128, "network"),
    "tcp": ("gcp-a3-high", 128, "network"),
    "one-card": ("pcie5-box", 128, "network"),
}


def rate() -> float:
    """Return the operations per second at which one H100 is taken to compute.

    >>> f"{rate():.3g}"
    '3.96e+14'
    """
    return UTILISATION * hardware.gpu("h100").bf16_flops


@lru_cache(maxsize=16)
def replica(tokens: int = 8192) -> Work:
    """Return the tensors of one replica of GPT-2 (1.5 billion parameters) for a batch of `tokens`, backward order.

    >>> round(float(replica().backward_s.sum()) * 1e3)
    142
    """
    return tensors(MODEL, tokens, rate())


def network(name: str) -> TimeOf:
    """Return what prices an all-reduce on one of the explorer's networks: "box", "cards", "tcp" or "one-card".

    >>> bool(network("one-card")(1e9) > 5 * network("cards")(1e9))
    True
    """
    system, n, _role = NETWORKS[name]
    return pricer("all_reduce", system, n)


def pass_with(bucket_B: float, where: str = "cards", tokens: int = 8192) -> Overlap:
    """Return the timeline of one backward pass with buckets of a size on a network.

    >>> bool(pass_with(25e6).exposed_s < pass_with(4e9).exposed_s)
    True
    """
    work = replica(tokens)
    return overlap(work.backward_s, work.gradient_B, bucket_B, network(where))


def drawn(bucket_B: float, where: str = "cards", tokens: int = 8192) -> tuple[Event, ...]:
    """Return the bars of `pass_with` for a figure.

    >>> drawn(25e6)[0].label
    'head'
    """
    return bars(replica(tokens), pass_with(bucket_B, where, tokens))


@lru_cache(maxsize=64)
def searched(where: str, tokens: int) -> BucketSearch:
    """Return the exposed time at every bucket size of the explorer.

    >>> len(searched("cards", 8192).exposed_s)
    15
    """
    work = replica(tokens)
    return bucket_search(work.backward_s, work.gradient_B, network(where), SIZES)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the explorer shows: the choice, its timeline, and the exposed time at every size."""

    bucket_B: float
    where: str
    tokens: int
    timeline: Overlap
    found: BucketSearch

    @property
    def last_s(self) -> float:
        """How long the last bucket is on the network: it cannot be hidden, for nothing is computed after it is ready."""
        return float(self.timeline.finish_s[-1] - self.timeline.start_s[-1])


@lru_cache(maxsize=512)
def read_buckets(bucket_B: float, where: str, tokens: int) -> Reading:
    """Return one backward pass of GPT-2 1.5B on a network, its gradients reduced in buckets of `bucket_B` bytes.

    >>> reading = read_buckets(32 * 2**20, "cards", 8192)
    >>> bool(reading.timeline.exposed_s >= reading.last_s)
    True
    """
    return Reading(bucket_B, where, int(tokens), pass_with(bucket_B, where, int(tokens)), searched(where, int(tokens)))


def _places() -> dict[str, str]:
    return {
        "box": _("one box of 8 H100, NVLink"),
        "cards": _("16 boxes of 8 H100, a 400 Gb/s card for each GPU"),
        "tcp": _("16 boxes of 8 H100, four 200 Gb/s cards a box, TCP"),
        "one-card": _("16 boxes of 8 GPUs on PCIe 5, one 400 Gb/s card a box"),
    }


def _draw(reading: Reading):
    return over_buckets(
        _("backward pass, {n} buckets").format(n=reading.timeline.bucket_B.size),
        bars(replica(reading.tokens), reading.timeline),
        reading.found,
        reading.bucket_B,
        role=NETWORKS[reading.where][2],
    )


def _equation(reading: Reading) -> tuple[str, str]:
    t = reading.timeline
    return (
        _("exposed = last bucket finished − backward pass finished"),
        _("exposed = {a} − {b} = {c}").format(
            a=say_time(t.total_s, 4), b=say_time(t.backward_s, 4), c=say_time(t.exposed_s)
        ),
    )


def _sentence(reading: Reading) -> str:
    t = reading.timeline
    busy = _("The network is busy for {busy} of a pass of {whole}.").format(
        busy=say_time(t.communication_s), whole=say_time(t.backward_s)
    )
    if t.exposed_s <= reading.last_s * (1 + 1e-9):
        why = _(
            "Only the last bucket sticks out, {size} with the embedding: it is ready when nothing is left to compute."
        )
    elif t.communication_s > t.backward_s:
        why = _(
            "The network has more to do than the processor, so no bucket size can hide it; the last one has {size}."
        )
    else:
        why = _("Buckets queue: the network is still behind when the last one, {size}, is ready.")
    step_s = replica(reading.tokens).compute_s
    share = _("Of the whole step, forward pass included, {share} % is exposed.").format(
        share=say_number(100 * t.exposed_s / (step_s + t.exposed_s), 2)
    )
    return " ".join((busy, why.format(size=say_bytes(float(t.bucket_B[-1]))), share))


def buckets() -> Explorer:
    """Return the explorer: bucket size, network and batch of a data-parallel backward pass.

    >>> buckets().figure.layout.title.text.startswith("Buckets of 32 MiB")
    True
    """
    return Explorer(
        read_buckets,
        _draw,
        question=_("How large should the buckets of gradients be?"),
        equation=_equation,
        sentence=_sentence,
        bucket_B=SizeSlider(
            _("bucket size"), 256 * KiB, 4 * GiB, 32 * MiB, help=_("a bucket is sent when it holds this many bytes")
        ),
        where=Choice(_("network"), tuple((text, name) for name, text in _places().items()), "one-card"),
        tokens=CountSlider(
            _("tokens for each GPU"), 1024, 65536, 8192, counts=TOKENS, help=_("what one replica works on in a step")
        ),
    )


def after_waiting(bucket_B: float = 25e6, where: str = "cards", tokens: int = 8192) -> tuple[Event, ...]:
    """Return the bars of a pass that reduces nothing before it has finished, then all gradients at once.

    >>> [e.lane for e in after_waiting()].count("network")
    1
    """
    total = float(np.sum(replica(tokens).gradient_B))
    return drawn(2 * total, where, tokens)
