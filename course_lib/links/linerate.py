"""From lanes to payload: lanes × rate × encoding is the line rate; packet headers take their share of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from course_lib.base import hardware, measured
from course_lib.base.errors import CourseError, finite, together
from course_lib.base.language import _
from course_lib.links.packets import (
    MODELLED,
    PCIE_LANES,
    PCIE_PAYLOADS_B,
    REQUESTS,
    choice,
    known,
    names,
    packet_efficiency,
    packet_overhead_B,
    wire_B,
)

__all__ = [
    "PCIE_LANES", "PCIE_PAYLOADS_B", "REQUESTS", "Comparison", "LinkSpec", "ladder", "line_rate_Bps", "measured_copies", "names",
    "packet_efficiency", "packet_overhead_B", "parameters", "payload_Bps", "spec", "waterfall", "wire_B",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """A link with its defaults: line rate after the code, payload rate of large copies, latency; all one direction.

    `modelled` is False where the payload rate is a measured share of the line rate. `unit_count` counts lanes (PCIe,
    InfiniBand) or links (NVLink, C2C); None for the rest.
    """

    name: str
    title: str
    family: str
    unit_count: int | None
    line_Bps: float
    payload_Bps: float
    latency_s: float
    max_payload_B: float | None
    modelled: bool

    @property
    def bidirectional_Bps(self) -> float:
        """Line rate of both directions together, the number of most advertisements."""
        return 2 * self.line_Bps


def line_rate_Bps(lanes, lane_bps, encoding=1.0):
    """Return the line rate in bytes per second, one direction: lanes × bits per second of a lane × encoding ÷ 8.

    `lanes`, `lane_bps` (bits per second; 1 GT/s is 1e9) and `encoding` (useful bits ÷ bits sent, above 0 to 1) broadcast.
    Raises CourseError for values that are not finite or out of range.

    >>> round(line_rate_Bps(16, 32e9, 128 / 130) / 1e9, 3)
    63.015
    """
    lanes = finite("lanes", lanes, above=0)
    lane_bps = finite("lane_bps", lane_bps, at_least=0, unit="bits per second")
    encoding = finite("encoding", encoding, above=0)
    if np.any(np.asarray(encoding) > 1):
        raise CourseError(
            _("encoding is {value}; useful bits over sent bits is at most 1.").format(value=np.max(encoding))
        )
    together(lanes=lanes, lane_bps=lane_bps, encoding=encoding)
    with np.errstate(over="ignore"):
        return finite(_("the line rate"), lanes * lane_bps * encoding / 8)


def payload_Bps(
    name: str,
    *,
    lanes=None,
    links=None,
    max_payload_B=None,
    request: str = "write",
    both_ways: bool = False,
    ecrc: bool = False,
):
    """Return the payload rate of long transfers in bytes per second, one direction.

    `lanes` (PCIe: 1, 2, 4, 8, 16; default 16) or `links` (NVLink, C2C; default all of a GPU's) scale the link. The other
    arguments are those of `packet_overhead_B`. All numbers broadcast. Holds for messages much longer than a packet and
    a link that is never short of credits: published PCIe copies reach 86 to 99 % of it,
    network cards 94 to 100 % (see `measured_copies`).

    >>> round(payload_Bps("pcie5") / 1e9, 1), round(payload_Bps("pcie5", lanes=8, max_payload_B=128) / 1e9, 1)
    (57.6, 26.5)
    >>> round(payload_Bps("nvlink4") / 1e9, 1), round(payload_Bps("nvlink4", links=6) / 1e9, 1)
    (396.4, 132.1)
    """
    name, family, record = known(name)
    share = 1.0
    if lanes is not None:
        if family != "pcie":
            raise CourseError(_("lanes is for PCIe; {name} is scaled with links=, or not at all.").format(name=name))
        share = choice("lanes", lanes, PCIE_LANES) / record["lanes"]
    if links is not None:
        if "links" not in record:
            raise CourseError(_("links is for NVLink and C2C; {name} has none to choose from.").format(name=name))
        share = choice("links", links, tuple(range(1, int(record["links"]) + 1))) / record["links"]
    together(
        **{k: v for k, v in (("lanes", lanes), ("links", links), ("max_payload_B", max_payload_B)) if v is not None}
    )
    efficiency = packet_efficiency(name, max_payload_B=max_payload_B, request=request, both_ways=both_ways, ecrc=ecrc)
    return record["line_Bps"] * share * efficiency


@cache
def spec(name: str) -> LinkSpec:
    """Return the LinkSpec of a link with its defaults; raises CourseError with the nearest names.

    >>> spec("pcie5").modelled, spec("nvlink5").modelled, spec("nvlink5").bidirectional_Bps / 1e9
    (True, False, 1800.0)
    """
    name, family, record = known(name)
    count = record.get("links", record.get("lanes"))
    return LinkSpec(
        name=name,
        title=hardware.table().items[name].title,
        family=family,
        unit_count=None if count is None else int(count),
        line_Bps=record["line_Bps"],
        payload_Bps=payload_Bps(name),
        latency_s=record["latency_s"],
        max_payload_B=record.get("max_payload_B"),
        modelled=family in MODELLED,
    )


def parameters(links: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return (latency_s, payload_Bps) of several links as arrays, ready to broadcast over message sizes.

    >>> latency_s, bandwidth_Bps = parameters(["pcie5", "nvlink4"])
    >>> bandwidth_Bps.shape
    (2,)
    """
    if isinstance(links, str):
        raise CourseError(_("links is {name!r}; a list of names is expected, such as [{name!r}].").format(name=links))
    specs = [spec(name) for name in links]
    return np.array([s.latency_s for s in specs]), np.array([s.payload_Bps for s in specs])


def ladder(gpu: str = "h100", nic: str = "ib-ndr") -> list[tuple[str, str, float]]:
    """Return what one GPU can reach, fastest first: (title, family, bytes per second of one direction).

    Its memory (one bandwidth, shared by reads and writes), its scale-up link, its link to the host and one network card;
    links as line rates. C2C is in it for comparison where the GPU's host link is PCIe.

    >>> [family for _title, family, _rate in ladder("h100")]
    ['memory', 'nvlink', 'c2c', 'pcie', 'infiniband']
    """
    record = hardware.gpu(gpu)
    rungs = [(_("memory of {gpu}").format(gpu=record.title), "memory", record.hbm_Bps)]
    for name in dict.fromkeys((record.scale_up, "c2c", record.host_link, hardware.find(nic, "link"))):
        if name is not None:
            link = hardware.link(name)
            rungs.append((_(link.title), link.family, link.line_Bps))
    return sorted(rungs, key=lambda rung: -rung[2])


def waterfall(name: str, *, max_payload_B=None, request: str = "write") -> list[tuple[str, float]]:
    """Return the way from the advertised number to the payload, as (what is left, bytes per second of one direction).

    The first entry is the advertised sum of both directions; every later one is one direction.

    >>> [(step, round(rate / 1e9, 1)) for step, rate in waterfall("pcie5")]
    [('both directions summed', 128.0), ('one direction', 64.0), ('after the line code', 63.0), ('after packet headers', 57.6)]
    """
    name, family, record = known(name)
    raw = record.get("raw_Bps", record["line_Bps"]) if family == "pcie" else record["line_Bps"]
    steps = [(_("both directions summed"), 2 * raw), (_("one direction"), raw)]
    if raw != record["line_Bps"]:
        steps.append((_("after the line code"), record["line_Bps"]))
    payload = record["line_Bps"] * packet_efficiency(name, max_payload_B=max_payload_B, request=request)
    return [*steps, (_("after packet headers"), payload)]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A published copy beside the model: `residual` is measured ÷ predicted − 1; `independent` is False where the copy set the share."""

    link: str
    case: str
    machine: str
    tool: str
    predicted_Bps: float
    measured_Bps: float
    residual: float
    modelled: bool
    independent: bool
    source: str
    note: str


def measured_copies(link: str | None = None) -> list[Comparison]:
    """Return published large copies beside the predicted payload rate, of one link or of all; rates are one direction.

    >>> best = measured_copies("pcie5")[0]
    >>> best.machine, round(best.predicted_Bps / 1e9, 1), round(best.measured_Bps / 1e9, 2), round(best.residual, 3)
    ('8x H200', 56.8, 55.43, -0.024)
    """
    if link is not None:
        link = known(link)[0]
    found = []
    for copy in measured.copies():
        if link not in (None, copy.link):
            continue
        request = copy.request or "write"
        predicted_Bps = float(payload_Bps(copy.link, request=request) * copy.share)
        record = hardware.record(copy.link)
        origin = record.get("copy_Bps")
        chosen = origin is not None and abs(copy.measured_Bps / origin - 1) < 1e-3
        found.append(
            Comparison(
                link=copy.link,
                case=copy.case,
                machine=copy.machine,
                tool=copy.tool,
                predicted_Bps=predicted_Bps,
                measured_Bps=copy.measured_Bps,
                residual=copy.measured_Bps / predicted_Bps - 1,
                modelled=spec(copy.link).modelled,
                independent=not chosen,
                source=str(copy.source),
                note=copy.note,
            )
        )
    return found
