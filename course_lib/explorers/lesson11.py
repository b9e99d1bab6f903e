"""Lesson 11: flows through leaves and spines, by hash or spread, and what the lesson prints and draws."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.cluster.tenants import slowdowns
from course_lib.explorers.controls import Choice, CountSlider
from course_lib.explorers.explorer import Explorer, Guess
from course_lib.fabric.bill import bill, published
from course_lib.fabric.collisions import fullest_mean
from course_lib.fabric.patterns import permutation, shift
from course_lib.fabric.routes import routes
from course_lib.fabric.scaleout import cluster
from course_lib.fabric.scaleup import simple_host
from course_lib.fabric.sharing import loads, max_min_rates
from course_lib.fabric.topology import Topology
from course_lib.figures.curves import Curve, Measured, rate_over_size
from course_lib.figures.fabrics import fullest_path, goodput_over_loss
from course_lib.figures.layout import layout
from course_lib.figures.topology import topology_loads
from course_lib.links.packets import packet_overhead_B
from course_lib.links.rdma import between_hosts_s
from course_lib.links.recovery import PAYLOAD_B, RECOVERIES, goodput_share, packets_behind, simulated_share
from course_lib.timing.acrossboxes import Run, runs, two_boxes
from course_lib.timing.tuning import predict

HOSTS, PER_HOST, CARD_Bps, NVLINK_Bps = 8, 4, 50e9, 450e9
RATIOS = (1, 2, 4)
SEEDS = range(1, 13)
PATTERNS = (
    (_("a random permutation"), "permutation"),
    (_("another one"), "another"),
    (_("each GPU to its twin in the next host"), "twin"),
)
WAYS = (
    (_("by hash of the flow (ECMP)"), "hashed"),
    (_("by a table of destinations"), "fixed"),
    (_("spread over all (adaptive)"), "adaptive"),
)


@lru_cache(maxsize=8)
def fabric(ratio: int = 1, attach: str = "leaf") -> Topology:
    """Return eight hosts of four GPUs with a card each, below eight leaves: with `leaf` a host's cards share one, with `rail` twins do.

    >>> net = fabric(2).plan.net
    >>> net.n_leaves, net.uplinks, net.n_spines
    (8, 2, 2)
    """
    host = simple_host("switch", PER_HOST, NVLINK_Bps, 1e-6)
    name = _("8 hosts, {r}:1").format(r=ratio)
    return cluster(
        host,
        HOSTS,
        nics_per_host=PER_HOST,
        radix=8,
        oversubscription=ratio,
        attach=attach,
        bandwidth_Bps=CARD_Bps,
        name=name,
    )


@dataclass(frozen=True, slots=True)
class Flows:
    """Flows through the fabric: fair rates of those that leave their host (p,), what links carry (l,), flows on the fullest uplink."""

    topology: Topology
    choice: str
    ratio: int
    seed: int
    rate_Bps: np.ndarray
    flow_Bps: np.ndarray
    fullest: float
    first: int  # the uplink, or the link down to a leaf, that carries most flows
    climbing: float  # share of the flows that leave their host and climb to a spine
    uplinks: int

    @property
    def slowest_Bps(self) -> float:
        return float(self.rate_Bps.min())

    @property
    def mean_Bps(self) -> float:
        return float(self.rate_Bps.mean())


def pairs(pattern: str) -> tuple[np.ndarray, np.ndarray]:
    """Return who sends to whom among the 32 GPUs.

    >>> [int(end[5]) for end in pairs("twin")]
    [5, 9]
    """
    n = HOSTS * PER_HOST
    pattern = one_of(_("pattern"), pattern, [name for _title, name in PATTERNS])
    return shift(n, PER_HOST) if pattern == "twin" else permutation(n, 1 if pattern == "permutation" else 2)


@lru_cache(maxsize=512)
def send(
    pattern: str = "permutation", choice: str = "hashed", seed: int = 1, ratio: int = 1, attach: str = "leaf"
) -> Flows:
    """Return what every flow gets; those that stay in their host use NVLink and are left out of the rates.

    >>> by_hash, spread = send("twin", "hashed", 1), send("twin", "adaptive", 1)
    >>> by_hash.slowest_Bps < spread.slowest_Bps, round(spread.slowest_Bps / 1e9)
    (True, 50)
    """
    topology = fabric(ratio, attach)
    src, dst = pairs(pattern)
    paths = routes(topology, src, dst, choice, seed)
    rate = max_min_rates(topology, paths)
    away = src // PER_HOST != dst // PER_HOST
    plan = topology.plan
    first, last = plan.link["leaf_up"], plan.link["leaf_up"] + plan.net.n_leaves * plan.net.uplinks
    meet = loads(topology, paths, 1.0)[first : first + 2 * (last - first)]
    flow = loads(topology, paths, rate)
    climbing = float(meet[: last - first].sum() / away.sum())
    where = first + int(meet.argmax())
    return Flows(topology, choice, ratio, seed, rate[away], flow, float(meet.max()), where, climbing, plan.net.uplinks)


def _title(f: Flows) -> str:
    return _("The slowest of {n} flows gets {rate} of a card's {card}; the mean is {mean}").format(
        n=len(f.rate_Bps), rate=say_rate(f.slowest_Bps), card=say_rate(CARD_Bps), mean=say_rate(f.mean_Bps)
    )


def _draw(f: Flows) -> go.Figure:
    return topology_loads(f.topology, f.flow_Bps, first=f.first, title=_title(f), subtitle=_how_to_read())


def _how_to_read() -> str:
    return _(
        "below: hosts; middle: leaves; top: spines; width: what flows; colour: how full; outlined: full; dotted: unused"
    )


def _equation(f: Flows) -> tuple[str, str]:
    if f.fullest > 1:
        return (
            _("slowest flow ≤ uplink ÷ flows on the fullest uplink"),
            _("slowest flow = {rate} ≤ {card} ÷ {n} = {bound}").format(
                rate=say_rate(f.slowest_Bps),
                card=say_rate(CARD_Bps),
                n=say_number(f.fullest, 2),
                bound=say_rate(CARD_Bps / f.fullest),
            ),
        )
    return (
        _("slowest flow ≤ card ÷ 1"),
        _("slowest flow = {rate}: no uplink carries more than {n} flow").format(
            rate=say_rate(f.slowest_Bps), n=say_number(f.fullest, 2)
        ),
    )


def _sentence(f: Flows) -> str:
    least = f.ratio
    words = _("A leaf has {down} cards below and {up} uplinks, {r}:1.").format(down=PER_HOST, up=f.uplinks, r=f.ratio)
    if f.choice == "adaptive":
        words += " " + _("Spread over all uplinks, a full leaf puts {n} on each; the seed plays no part.").format(
            n=least
        )
    elif f.choice == "fixed":
        words += " " + _("The table sends all flows to one destination the same way; the seed plays no part.")
    else:
        words += " " + _(
            "Hash {s}: the fullest uplink carries {n} flows, spread evenly it would be {m} at most."
        ).format(s=f.seed, n=say_number(f.fullest, 2), m=least)
    return words


def hash_or_spread() -> Explorer:
    """Return the explorer: who sends to whom over leaves and spines, how flows choose an uplink, the hash, the ratio.

    >>> hash_or_spread().figure.layout.title.text[:11]
    'The slowest'
    """
    for ratio in RATIOS:
        layout(fabric(ratio))
        for _name, pattern in PATTERNS:
            send(pattern, "hashed", 1, ratio)
    return Explorer(
        send,
        _draw,
        question=_("Which uplink fills first, and what does the slowest flow get?"),
        guess=Guess(
            "11.spread",
            _(
                "Half as many uplinks as cards (2:1), packets spread over all. Every GPU sends to its twin. The slowest flow gets:"
            ),
            "GB/s",
            truth=lambda: send("twin", "adaptive", 1, 2).slowest_Bps,
        ),
        equation=_equation,
        sentence=_sentence,
        pattern=Choice(_("who sends to whom"), PATTERNS, "twin"),
        choice=Choice(_("how a flow gets its uplink"), WAYS, "hashed"),
        seed=CountSlider(
            _("hash, number"), 1, 12, 1, counts=SEEDS, help=_("another seed of the hash: other flows meet")
        ),
        ratio=Choice(_("cards to uplinks"), tuple((f"{r}:1", r) for r in RATIOS), 1),
    )


def over_seeds(pattern: str = "twin", ratio: int = 1) -> np.ndarray:
    """Return the slowest flow (12,) for each hash, bytes/s.

    >>> bool((over_seeds() < 50e9).all())
    True
    """
    return np.array([send(pattern, "hashed", s, ratio).slowest_Bps for s in SEEDS])


def placed(attach: str, pattern: str, choice: str = "hashed") -> str:
    """Return in words what flows get in a wiring: slowest, mean, and how much of the traffic climbs to a spine.

    >>> placed("rail", "twin").endswith("bytes climb to a spine")
    True
    """
    found = send(pattern, choice, 1, 1, attach)
    return _("slowest {slow}, mean {mean}; {share} % of the bytes climb to a spine").format(
        slow=say_rate(found.slowest_Bps), mean=say_rate(found.mean_Bps), share=say_number(100 * found.climbing, 2)
    )


def placement_picture(attach: str, pattern: str) -> go.Figure:
    """Return the fabric under a pattern, flows hashed; the title says how many bytes climb.

    >>> placement_picture("rail", "twin").layout.title.text.replace("<br>", " ")
    '25 % of the bytes climb to a spine; the slowest flow gets 50 GB/s'
    """
    found = send(pattern, "hashed", 1, 1, attach)
    title = _("{share} % of the bytes climb to a spine; the slowest flow gets {rate}").format(
        share=say_number(100 * found.climbing, 2), rate=say_rate(found.slowest_Bps)
    )
    return topology_loads(found.topology, found.flow_Bps, first=found.first, title=title, subtitle=_how_to_read())


def one_and_four(again: bool = False) -> go.Figure:
    """Return measured bus bandwidth of B200 in one box and in four over size, beside the predictor.

    >>> len(one_and_four().data) > 4
    True
    """
    one, four = runs()["one-box"], runs()["four-boxes-again" if again else "four-boxes"]
    sizes = one.message_B

    def model(run: Run) -> np.ndarray:
        return np.asarray(predict("all_reduce", sizes, "dgx-b200", run.n_ranks).busbw_Bps)

    curves = [
        Curve(_("one box"), model(one), "nvlink", limit=900e9),
        Curve(_("four boxes"), model(four), "network", limit=CARD_Bps),
    ]
    points = [Measured(_("one box"), sizes, one.busbw_Bps), Measured(_("four boxes"), sizes, four.busbw_Bps)]
    at = one.at(2.0**32)
    title = _("4 GiB: {a} in one box, {b} over four, {r} × less; the links differ by 18").format(
        a=say_rate(float(one.busbw_Bps[at])),
        b=say_rate(float(four.busbw_Bps[at])),
        r=say_number(float(one.busbw_Bps[at] / four.busbw_Bps[at]), 2),
    )
    subtitle = _(
        "crosses: measured in one box, circles: over four; lines: predictor; dashed grey: NVLink and one card, one direction"
    )
    figure = rate_over_size(sizes, curves, measured=points, title=title, subtitle=subtitle)
    figure.data[-1].marker.symbol = "circle"
    figure.layout.yaxis.title.text = _("bus bandwidth (bytes/s)")
    low, high = figure.layout.xaxis.range
    figure.layout.xaxis.range = (low - 0.15, high + 1.9)  # room for the labels beside the last points
    low, high = figure.layout.yaxis.range
    figure.layout.yaxis.range = (low - 0.2, high)
    return figure


def rdma_or_host(message_B: float) -> str:
    """Return in words what a message between GPUs of two hosts takes: card reads GPU memory, or through both hosts' memories.

    >>> rdma_or_host(8.0).startswith("8 B")
    True
    """
    straight, through = between_hosts_s(message_B)
    return _("{size}: {a} straight, {b} through the memories of both hosts").format(
        size=say_bytes(message_B), a=say_time(straight), b=say_time(through)
    )


def collisions(n_paths: int = 32) -> go.Figure:
    """Return how many flows meet on the fullest of n_paths, hashed and spread, over the number of flows.

    >>> collisions().layout.title.text.startswith("512 flows on 32 paths")
    True
    """
    flows = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    return fullest_path(flows, [fullest_mean(k, n_paths) for k in flows], n_paths)


def losses(round_trip_s: float = 20e-6, bandwidth_Bps: float = CARD_Bps) -> go.Figure:
    """Return the share of sent packets that count over the loss, both recoveries, and runs that were played packet by packet.

    >>> len(losses().data)
    3
    """
    behind = packets_behind(
        round_trip_s, bandwidth_Bps, PAYLOAD_B + packet_overhead_B("eth-400", max_payload_B=PAYLOAD_B)
    )
    loss = np.logspace(-6, -1, 41)
    shares = [goodput_share(loss, behind, way) for way in RECOVERIES]
    tried = np.array([1e-4, 1e-3, 1e-2, 1e-1])
    runs_ = np.array([simulated_share(float(p), round(behind), n_packets=100_000) for p in tried])
    title = _("One packet in 100 lost: go-back-N keeps {a} %, selective repeat {b} %").format(
        a=say_number(100 * float(goodput_share(0.01, behind)), 2),
        b=say_number(100 * float(goodput_share(0.01, behind, RECOVERIES[1])), 2),
    )
    return goodput_over_loss(loss, shares, [_(way) for way in RECOVERIES], played=(tried, runs_), title=title)


def bills(n_gpus: int = 8192, ratios: tuple = (1, 2, 3, 7)) -> list[str]:
    """Return what a network costs in switches and cables at several ratios, a line each.

    >>> bills(4096, (1,))[0]
    '1:1: 320 switches (128 + 128 + 64), 12,288 cables'
    """
    found = [bill(n_gpus, oversubscription=r) for r in ratios]
    return [
        _("{r}:1: {n} switches ({a} + {b} + {c}), {m} cables").format(
            r=r, n=b.n_switches, a=b.n_leaves, b=b.n_spines, c=b.n_cores, m=f"{b.n_cables:,}"
        )
        for r, b in zip(ratios, found, strict=True)
    ]


def reference_designs() -> list[str]:
    """Return the published designs beside the bill, a line each.

    >>> all("as published" in line for line in reference_designs())
    True
    """
    return [
        _("{n} GPUs: {a} leaves, {b} spines, {c} cores; {verdict}").format(
            n=f"{p.bill.n_gpus:,}",
            a=p.bill.n_leaves,
            b=p.bill.n_spines,
            c=p.bill.n_cores,
            verdict=_("as published") if p.agrees else _("published: {said}").format(said=p.switches),
        )
        for p in published()
    ]


TWO_TENANTS = {"A": [(0, 4), (1, 5), (4, 0), (5, 1)], "B": [(2, 6), (3, 7), (6, 2), (7, 3)]}


def neighbours(ratio: int, choice: str, seed: int = 1) -> str:
    """Return how many times slower each of two tenants is because of the other.

    >>> neighbours(1, "adaptive")
    'A 1 ×, B 1 ×'
    """
    found = slowdowns(fabric(ratio), TWO_TENANTS, choice=choice, seed=seed)
    return ", ".join(_("{who} {r} ×").format(who=who, r=say_number(each["all"], 2)) for who, each in found.items())


def sources_of_runs() -> list[str]:
    """Return title and address of the runs over boxes.

    >>> len(sources_of_runs())
    4
    """
    known = [f"{r.title}, {r.settings}: {r.address}" for r in runs().values()]
    return [*known, _("Two boxes: {address}").format(address=two_boxes()[1])]


def source_of_claim(key: str) -> str:
    """Return title and address of a source of the ledger of claims.

    >>> source_of_claim("ea-rsc").startswith("Meta builds")
    True
    """
    from course_lib.grading.claims import source

    found = source(key)
    return f"{found}: {found.address}"
