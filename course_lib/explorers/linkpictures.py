"""Still pictures of lesson 01: ladder, packets, losses, generations, staged copies, and measured copies beside the model."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from course_lib.base import hardware, measured
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_rate
from course_lib.figures import linkrows, rows
from course_lib.figures.curves import Curve, Measured, rate_over_size
from course_lib.figures.theme import ROLES
from course_lib.links import linerate, sidebyside, staging
from course_lib.links.linerate import measured_copies, spec

ROLE = {"infiniband": "network", "ethernet": "network"}  # the rest carry the name of their colour role, or are grey


def ladder(gpu: str = "h100") -> go.Figure:
    """Return what one GPU reaches, fastest first: memory, NVLink, C2C, PCIe, network card; line rates of one direction.

    >>> len(ladder("h100").data)
    1
    """
    titles, families, rate_Bps = zip(*linerate.ladder(gpu), strict=True)
    short = {hardware.table().items[name].title: sidebyside.short_title(name) for name in hardware.items("link")}
    roles = [ROLE.get(family, family if family in ROLES else "model") for family in families]
    return rows.ladder([short.get(t, t) for t in titles], rate_Bps, roles)


def packets(link: str = "pcie5") -> go.Figure:
    """Return the packets of a PCIe link drawn to scale, for the payload sizes that hosts choose.

    >>> packets().layout.title.text
    '24 B of headers on 256 B of data: 91 % of the packet is data'
    """
    sizes = [size for size in linerate.PCIE_PAYLOADS_B if size <= 1024]
    overhead_B = float(linerate.packet_overhead_B(link))
    return linkrows.packets(sizes, overhead_B, chosen_B=spec(link).max_payload_B)


def losses(link: str = "pcie5") -> go.Figure:
    """Return the way from the raw rate of one direction to the payload of a host copy, and the best measured copy of a server.

    >>> len(losses().data)
    3
    """
    steps, rate_Bps = zip(*linerate.waterfall(link, request="read")[1:], strict=True)
    left, raw = rate_Bps[-1], rate_Bps[0]
    title = _("Code and headers leave {left} of {raw}: {percent} %").format(
        left=say_rate(left), raw=say_rate(raw), percent=say_number(100 * left / raw, 2)
    )
    return rows.losses(steps, rate_Bps, measured_Bps=measured_copies(link)[0].measured_Bps, title=title)


def generations() -> go.Figure:
    """Return NVLink beside the PCIe slot of the same GPU, generation by generation.

    >>> generations().layout.title.text
    'B200 SXM: NVLink carries 14 times what its PCIe slot carries'
    """
    found = sidebyside.generations()
    under = [_("{n} links of {each}").format(n=g.links, each=say_rate(g.link_Bps)) for g in found]
    pcie, nvlink = ([sidebyside.short_title(getattr(g, which)) for g in found] for which in ("pcie", "nvlink"))
    rates = [g.pcie_Bps for g in found], [g.nvlink_Bps for g in found]
    return linkrows.generations([g.title for g in found], pcie, nvlink, *rates, under=under)


def host_copies(link: str = "pcie5") -> go.Figure:
    """Return every published host copy of a PCIe generation beside the model, the worst named.

    >>> "below the model" in host_copies().layout.title.text.replace("<br>", " ")
    True
    """
    found = measured_copies(link)
    names = [f"{c.machine}, {c.case}" for c in found]
    return rows.residuals(names, [c.measured_Bps for c in found], [c.predicted_Bps for c in found], say_rate)


@dataclass(frozen=True, slots=True)
class Overlay:
    """A measured copy beside line rate and model, all bytes per second of one direction."""

    name: str
    role: str
    measured_Bps: float
    model_Bps: float
    line_Bps: float
    source: str


def overlay() -> list[Overlay]:
    """Return the three copies of the lesson: to the host, over NVLink, and between GPUs without peer access.

    >>> [(o.name, round(o.measured_Bps / 1e9, 1), round(o.line_Bps / 1e9)) for o in overlay()]
    [('H200, host to GPU', 55.4, 63), ('H200, GPU to GPU over NVLink', 396.4, 450), ('H100, GPU to GPU, peer access off', 37.2, 63)]
    """
    host, nvlink = measured_copies("pcie5")[0], next(c for c in measured_copies("nvlink4") if "H200" in c.machine)
    off = staging.without_peer_access()[0]
    ends = staging.staged_ends(off.message_B, off.link)
    pcie, fast = spec("pcie5").line_Bps, spec("nvlink4").line_Bps
    return [
        Overlay(_("H200, host to GPU"), "pcie", host.measured_Bps, host.predicted_Bps, pcie, host.source),
        Overlay(
            _("H200, GPU to GPU over NVLink"), "nvlink", nvlink.measured_Bps, nvlink.predicted_Bps, fast, nvlink.source
        ),
        Overlay(
            _("H100, GPU to GPU, peer access off"),
            "pcie",
            off.rate_Bps,
            float(ends.pipelined_Bps),
            pcie,
            str(off.source),
        ),
    ]


def draw_overlay() -> go.Figure:
    """Return the measured copies as shares of their line rates."""
    found = overlay()
    rates = [[getattr(o, field) for o in found] for field in ("measured_Bps", "model_Bps", "line_Bps")]
    return linkrows.of_line_rate([o.name for o in found], *rates, [o.role for o in found])


def draw_staging(link: str = "pcie5") -> go.Figure:
    """Return a copy between two GPUs over size: with peer access, and between the two ends of staging, measured points on it."""
    ends = staging.staged_ends(np.logspace(5, 11, 121), link)
    off = [u for u in staging.without_peer_access() if u.link == link]
    curves = [
        Curve(_("peer access"), ends.direct_Bps, "pcie"),
        Curve(_("in chunks"), ends.pipelined_Bps, "memory", dash="longdash"),
        Curve(_("in one piece"), ends.stored_Bps, "memory", dash="dot"),
    ]
    points = [
        Measured(
            u.machine,
            np.array([u.message_B]),
            np.array([u.rate_Bps]),
            np.array([u.lowest_Bps]),
            np.array([u.highest_Bps]),
        )
        for u in off
    ]
    title = _(
        "Through host memory {machine} copies at {rate}; peer access over the same slots could reach {direct}"
    ).format(machine=off[0].machine, rate=say_rate(off[0].rate_Bps), direct=say_rate(float(ends.direct_Bps[-1])))
    subtitle = _(
        "solid: direct; dashed and dotted: staged, best chunks or in one piece; cross: measured, peer access off"
    )
    return rate_over_size(ends.message_B, curves, measured=points, title=title, subtitle=subtitle)


def small_writes() -> dict[str, float]:
    """Return measured small writes between two GPUs and single loads from host memory, by path, in seconds.

    >>> list(small_writes().values())[0] < 2e-6
    True
    """
    on, off = (measured.matrix(name).values[0] for name in ("dgx1-v100-latency", staging.LATENCY_OFF))
    return {
        _("V100 to its neighbour, one NVLink"): float(on[1]),
        _("V100 to the same neighbour, peer access off"): float(off[1]),
        _("a load from host memory over PCIe 5"): hardware.value("pcie5", "load_s"),
        _("a load from host memory over NVLink-C2C"): hardware.value("c2c", "load_s"),
    }
