"""Lesson 11: one box and four as measured, messages between hosts, collisions and lost packets."""

import numpy as np
import plotly.graph_objects as go

from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.explorers.lesson11.flows import CARD_Bps
from course_lib.fabric.collisions import fullest_mean
from course_lib.figures.curves import Curve, Measured, rate_over_size
from course_lib.figures.fabrics import fullest_path, goodput_over_loss
from course_lib.links.packets import packet_overhead_B
from course_lib.links.rdma import between_hosts_s
from course_lib.links.recovery import PAYLOAD_B, RECOVERIES, goodput_share, packets_behind, simulated_share
from course_lib.timing.acrossboxes import Run, runs
from course_lib.timing.system import load
from course_lib.timing.tuning import predict


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
        Curve(_("one box"), model(one), "nvlink", limit=load("dgx-b200").scale_up.bandwidth_Bps),
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
    figure.layout.yaxis.title.text = _("bus bandwidth")
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
