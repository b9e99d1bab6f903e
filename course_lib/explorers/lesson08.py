"""Lesson 08: one backward pass with its buckets on a real network, and the explorer of bucket size, network and batch."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course_lib.base import hardware
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_time
from course_lib.base.units import GiB, KiB, MiB
from course_lib.comm.meaning import bus_factor
from course_lib.explorers.controls import Choice, CountSlider, SizeSlider
from course_lib.explorers.explorer import Explorer
from course_lib.figures.overlap import over_buckets
from course_lib.plan.degrees import UTILISATION
from course_lib.plan.price import TimeOf, pricer
from course_lib.plan.replicas import Work, balance_tokens, bars, layers, tensors
from course_lib.plan.sharding import BucketSearch, Event, Overlap, bucket_search, overlap
from course_lib.plan.zero import SCHEMES, sharded_events, sharded_step, volume

MODEL = "gpt2-1.5b"
NAMES = ("DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3")
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


def bus_Bps(name: str) -> float:
    """Return the bus bandwidth of an all-reduce of all gradients on one of the networks.

    >>> 300e9 < bus_Bps("cards") < 400e9
    True
    """
    all_B, (_system, n, _role) = float(replica().gradient_B.sum()), NETWORKS[name]
    return bus_factor("all_reduce", n) * all_B / float(network(name)(all_B))


def balanced() -> dict[str, float]:
    """Return for each network the tokens a GPU needs so that the backward pass lasts as long as the all-reduce.

    >>> [round(t, -2) for t in balanced().values()]
    [700.0, 1100.0, 4800.0, 10400.0]
    """
    return {name: float(balance_tokens(rate(), bus_Bps(name), n)) for name, (_system, n, _role) in NETWORKS.items()}


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
    def in_line(self) -> int:
        """How many buckets at the end follow one another without a pause of the network: these finish late together."""
        idle = np.flatnonzero(self.timeline.start_s <= self.timeline.ready_s)
        return int(self.timeline.start_s.size - idle[-1])


@lru_cache(maxsize=512)
def read_buckets(bucket_B: float, where: str, tokens: int) -> Reading:
    """Return one backward pass of GPT-2 1.5B on a network, its gradients reduced in buckets of `bucket_B` bytes.

    >>> reading = read_buckets(32 * 2**20, "cards", 8192)
    >>> reading.timeline.bucket_B.size, reading.in_line < 5
    (73, True)
    """
    return Reading(bucket_B, where, int(tokens), pass_with(bucket_B, where, int(tokens)), searched(where, int(tokens)))


def _places() -> dict[str, str]:
    return {
        "box": _("one box of 8 GPUs, NVLink"),
        "cards": _("16 boxes, a card for each GPU"),
        "tcp": _("16 boxes, four cards each, TCP"),
        "one-card": _("16 boxes, one card each"),
    }


def _draw(reading: Reading):
    return over_buckets(
        _("buckets: {n}").format(n=reading.timeline.bucket_B.size),
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
    n, late = t.bucket_B.size, reading.in_line
    if n == 1:
        why = _("There is one bucket, and it is ready when nothing is left to compute: all of it is exposed.")
    elif t.communication_s > t.backward_s:
        why = _("It has more to do than there is time, so no bucket size can hide it all; {late} of {n} buckets queue.")
    elif t.ready_s[n - late] < 0.9 * t.backward_s:
        why = _("It has time enough, but the last {late} of {n} buckets queue and finish late together.")
    else:
        why = _(
            "It keeps up; only what is ready at the very end sticks out, {late} of {n} buckets, {size} with the embedding."
        )
    step_s = replica(reading.tokens).compute_s
    share = _("Of the whole step, forward pass included, {share} % is exposed.").format(
        share=say_number(100 * t.exposed_s / (step_s + t.exposed_s), 2)
    )
    return " ".join((busy, why.format(late=late, n=n, size=say_bytes(float(t.bucket_B[n - late :].sum()))), share))


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


@dataclass(frozen=True, slots=True)
class Sent:
    """Units that a rank sends in a step under each scheme: to reduce gradients, and to gather."""

    names: tuple[str, ...]
    reduced: tuple[int, ...]
    gathered: tuple[int, ...]

    @property
    def units(self) -> dict[str, int]:
        """Both together, by scheme."""
        return {n: a + b for n, a, b in zip(self.names, self.reduced, self.gathered)}


def sent(micro_batches: int = 1, *, deferred: bool = True) -> Sent:
    """Return what each scheme sends in a step of `micro_batches`, in units; an all-reduce is one to reduce, one to gather.

    >>> sent().units
    {'DDP': 2, 'ZeRO-1': 2, 'ZeRO-2': 2, 'ZeRO-3': 3}
    >>> sent(8, deferred=False).units
    {'DDP': 16, 'ZeRO-1': 9, 'ZeRO-2': 9, 'ZeRO-3': 24}
    """
    found = [volume(s, 1, 2, micro_batches=micro_batches, deferred=deferred) for s in SCHEMES]
    return Sent(
        NAMES,
        tuple(v.all_reduces + v.reduce_scatters for v in found),
        tuple(v.all_reduces + v.all_gathers for v in found),
    )


def gathered_ahead(prefetch: int, tokens: int = 2048, where: str = "cards") -> tuple[Event, ...]:
    """Return the bars of one ZeRO-3 step of Llama 3 8B on one of the networks, gathering `prefetch` layers ahead.

    >>> sorted({e.lane for e in gathered_ahead(1)})
    ['all-gather', 'compute', 'reduce-scatter']
    """
    system, n, _role = NETWORKS[where]
    work = layers("llama3-8b", tokens, rate(), seq=2048)
    prices = (pricer(op, system, n) for op in ("all_gather", "reduce_scatter"))
    return sharded_events(sharded_step(work.forward_s, work.backward_s, work.gradient_B, *prices, prefetch=prefetch))


def gather_s(name: str, message_B: float) -> float:
    """Return the seconds of an all-gather of `message_B` over all GPUs of one of the networks.

    >>> gather_s("box", 16e9) < gather_s("tcp", 16e9)
    True
    """
    system, n, _role = NETWORKS[name]
    return float(pricer("all_gather", system, n)(message_B))
