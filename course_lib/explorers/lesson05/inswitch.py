"""Lesson 05: published bus bandwidths of a switch that adds, over GPUs and over sizes, beside the limits of links."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from course_lib.base import hardware
from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.comm.meaning import bus_factor
from course_lib.figures.inswitch import busbw_over_gpus, choice_beside
from course_lib.timing.busbw import busbw_limit_Bps, wire_Bps
from course_lib.timing.sweeps import part, sweeps
from course_lib.timing.system import load
from course_lib.timing.tuning import predict

#: Eight H200 of one host, all-reduce of 8 GiB, published for these numbers of GPUs.
RAMP_GPUS = (4, 5, 6, 7, 8)
LEAST_SHOWN_B = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class Ramp:
    """Published bus bandwidths of 8 GiB on part of eight H200, (5,) each: adding in the switch allowed, and switched off."""

    n_ranks: np.ndarray
    allowed_Bps: np.ndarray
    off_Bps: np.ndarray

    @property
    def gain(self) -> np.ndarray:
        """Allowed over switched off."""
        return self.allowed_Bps / self.off_Bps

    @property
    def wire_Bps(self) -> np.ndarray:
        """What a link carried in one direction: by the bytes of NVLS where there is a gain, by those of the ring where there is none."""
        switched = self.gain > 1
        law = [wire_Bps("all_reduce", "in-network", int(n), b) for n, b in zip(self.n_ranks, self.allowed_Bps)]
        return np.where(switched, law, self.off_Bps)


def ramp() -> Ramp:
    """Return the published measurement of bus bandwidth over GPUs on an eight-GPU H200 host.

    >>> ramp().gain.round(2).tolist()
    [1.0, 1.14, 1.19, 1.26, 1.29]
    """
    read = lambda what: np.array([hardware.value("measured-busbw", f"h200_{n}_{what}_busbw_Bps") for n in RAMP_GPUS])  # noqa: E731
    return Ramp(np.array(RAMP_GPUS), read("nvls"), read("ring"))


def ramp_figure() -> go.Figure:
    """Return the published ramp with the limits of both forms of adding in the network, and of the link.

    >>> len(ramp_figure().data)
    5
    """
    seen, link_Bps = ramp(), load("dgx-h200").scale_up.bandwidth_Bps
    n = np.arange(2, 17)
    limits = {
        name: np.array([busbw_limit_Bps("all_reduce", algorithm, int(k), link_Bps) for k in n])
        for name, algorithm in ((_("NVLS"), "in-network"), (_("push-up"), "sharp"))
    }
    return busbw_over_gpus(n, limits, link_Bps, seen.n_ranks, seen.allowed_Bps, seen.off_Bps)


def sweep_figure(name: str) -> go.Figure:
    """Return a published all-reduce sweep inside one box from 64 KiB on, the predictor's choice and its ring beside it.

    Constants are those that did not see the sweep, where it judges.

    Raises:
        CourseError: no all-reduce sweep of that name in the package.

    >>> sweep_figure("m118").layout.title.text.replace("<br>", " ")
    '8x H100 80GB HBM3: 480 GB/s of bus bandwidth on a link of 450 GB/s'
    """
    known = {one.name: one for one in sweeps() if one.op == "all_reduce"}
    one = known[one_of(_("all-reduce sweep"), name, known)]
    link_Bps = one.system.scale_up.bandwidth_Bps
    column = "training" if part(one) == "judging" else "shipped"
    shown = one.message_B >= LEAST_SHOWN_B
    sizes = one.message_B[shown]
    asked = {"n_hosts": one.n_hosts, "column": column}
    choice = predict(one.op, sizes, one.system, one.n_ranks, **asked).busbw_Bps
    ring = predict(one.op, sizes, one.system, one.n_ranks, algorithm="ring", **asked).busbw_Bps
    measured = sizes / one.time_s[shown] * bus_factor(one.op, one.n_ranks)
    return choice_beside(sizes, measured, choice, ring, link_Bps, one.measured_on.split(" (")[0])
