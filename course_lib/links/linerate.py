"""From lanes to payload: lanes × rate × encoding is the line rate; packet headers take their share of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from course_lib.base import hardware, measured
from course_lib.base.errors import CourseError, finite, one_of
from course_lib.base.language import _

REQUESTS = ("write", "read")
PCIE_LANES = (1, 2, 4, 8, 16)
PCIE_PAYLOADS_B = (128, 256, 512, 1024, 2048, 4096)
NETWORK_PAYLOADS_B = (256, 512, 1024, 2048, 4096)
MODELLED = ("pcie", "infiniband", "ethernet")  # packet formats are published: overhead is counted
MEASURED = ("nvlink", "c2c")  # they are not: overhead is read from a published copy
DLLPS = 2  # one acknowledgement and one flow-control update


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
    return lanes * lane_bps * encoding / 8


def names() -> list[str]:
    """Return the names of the links whose payload rate is known, modelled or measured.

    >>> "pcie5" in names(), "nvlink4" in names(), "ib-ndr" in names()
    (True, True, True)
    """
    families = MODELLED + MEASURED
    table = hardware.table()
    return [n for n in hardware.items("link") if table.items[n].family in families and (n, "latency_s") in table.values]


def _known(name: str) -> tuple[str, str, dict]:
    name = hardware.find(name, "link")
    family = hardware.table().items[name].family
    if name not in names():
        rate = hardware.value(name, "line_Bps") / 1e9
        raise CourseError(
            _(
                "For {name} neither a packet format nor a measured copy is known; its line rate is {rate:g} GB/s."
            ).format(name=name, rate=rate)
        )
    return name, family, hardware.record(name)


def _choice(name: str, value, valid: tuple[int, ...]):
    value = finite(name, value)
    if not np.isin(value, valid).all():
        wrong = np.asarray(value).ravel()[~np.isin(np.asarray(value).ravel(), valid)][0]
        raise CourseError(
            _("{name} is {value:g}; valid: {valid}.").format(name=name, value=wrong, valid=", ".join(map(str, valid)))
        )
    return value


def packet_overhead_B(
    name: str, *, max_payload_B=None, request: str = "write", both_ways: bool = False, ecrc: bool = False
):
    """Return the bytes that travel with each packet of data, in the direction of the data.

    PCIe "write" is a posted write to a 64-bit address (a GPU that writes host memory, or a peer); "read" is a completion
    (host memory that a GPU's copy engine reads), with the acknowledgements of its requests. `both_ways` adds an
    acknowledgement and a flow-control update for each packet that comes the other way, the worst case. `ecrc` adds the
    optional end-to-end check. InfiniBand and Ethernet have one packet format here (RDMA write). Broadcasts over
    `max_payload_B`. Raises CourseError for links whose format is not published.

    Source: Intel AN 690 and AN 708 (PCIe), IBTA packet layout.

    >>> packet_overhead_B("pcie5"), packet_overhead_B("pcie5", request="read"), packet_overhead_B("ib-ndr")
    (24.0, 28.0, 26.0)
    """
    name, family, record = _known(name)
    request = one_of(_("request"), request, REQUESTS)
    if family in MEASURED:
        raise CourseError(
            _("The packet format of {name} is not fully published: its overhead is measured, see payload_Bps.").format(
                name=name
            )
        )
    payload = _payload_size(family, record, max_payload_B)
    if family != "pcie":
        return record["packet_overhead_B"] + 0 * payload
    header = record["header_4dw_B"] if request == "write" else record["header_3dw_B"]
    overhead = record["packet_framing_B"] + header + record["packet_lcrc_B"] + (4.0 if ecrc else 0.0)
    acknowledgements = DLLPS * record["dllp_B"]
    if request == "read":
        overhead = overhead + acknowledgements * payload / record["max_read_request_B"]
    if both_ways:
        overhead = overhead + acknowledgements
    return overhead + 0 * payload


def _payload_size(family: str, record: dict, max_payload_B):
    valid = PCIE_PAYLOADS_B if family == "pcie" else NETWORK_PAYLOADS_B
    return record["max_payload_B"] if max_payload_B is None else _choice("max_payload_B", max_payload_B, valid)


def packet_efficiency(
    name: str, *, max_payload_B=None, request: str = "write", both_ways: bool = False, ecrc: bool = False
):
    """Return payload ÷ line rate for long transfers: counted for PCIe and networks, measured for NVLink and C2C.

    Arguments as in `packet_overhead_B`; for measured links only the defaults are accepted. In PCIe 6 and 7 the link-layer
    bytes of each flit are part of the overhead.

    >>> round(packet_efficiency("pcie5"), 4), round(packet_efficiency("pcie5", max_payload_B=128), 4)
    (0.9143, 0.8421)
    """
    name, family, record = _known(name)
    if family in MEASURED:
        if max_payload_B is not None or request != "write" or both_ways or ecrc:
            raise CourseError(
                _("For {name} the share is measured; max_payload_B, request, both_ways and ecrc do not apply.").format(
                    name=name
                )
            )
        return record["packet_efficiency"]
    payload = _payload_size(family, record, max_payload_B)
    overhead = packet_overhead_B(name, max_payload_B=max_payload_B, request=request, both_ways=both_ways, ecrc=ecrc)
    flit = record["flit_payload_B"] / (record["flit_B"] - record["flit_check_B"]) if "flit_B" in record else 1.0
    return payload / (payload + overhead) * flit


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
    a link that is never short of credits: copies reach 92 to 100 % of it (see `measured_copies`).

    >>> round(payload_Bps("pcie5") / 1e9, 1), round(payload_Bps("pcie5", lanes=8, max_payload_B=128) / 1e9, 1)
    (57.6, 26.5)
    >>> round(payload_Bps("nvlink4") / 1e9, 1), round(payload_Bps("nvlink4", links=6) / 1e9, 1)
    (396.4, 132.1)
    """
    name, family, record = _known(name)
    share = 1.0
    if lanes is not None:
        if family != "pcie":
            raise CourseError(_("lanes is for PCIe; {name} is scaled with links=, or not at all.").format(name=name))
        share = _choice("lanes", lanes, PCIE_LANES) / record["lanes"]
    if links is not None:
        if "links" not in record:
            raise CourseError(_("links is for NVLink and C2C; {name} has none to choose from.").format(name=name))
        share = _choice("links", links, tuple(range(1, int(record["links"]) + 1))) / record["links"]
    efficiency = packet_efficiency(name, max_payload_B=max_payload_B, request=request, both_ways=both_ways, ecrc=ecrc)
    return record["line_Bps"] * share * efficiency


def wire_B(name: str, message_B, *, max_payload_B=None, request: str = "write", ecrc: bool = False):
    """Return the bytes on the wire for a message, headers of all its packets included, the last one partly filled.

    `message_B` (bytes, at least 0) and `max_payload_B` broadcast. A message of zero bytes still sends one header.
    Only for links whose packets are published.

    >>> wire_B("pcie5", [0, 1, 256, 257]).tolist()
    [24.0, 25.0, 280.0, 305.0]
    """
    name, family, record = _known(name)
    message_B = finite("message_B", message_B, at_least=0, unit="bytes")
    overhead = packet_overhead_B(name, max_payload_B=max_payload_B, request=request, ecrc=ecrc)
    payload = _payload_size(family, record, max_payload_B)
    packets = np.maximum(np.ceil(np.divide(message_B, payload)), 1)
    total = message_B + packets * overhead + record.get("message_overhead_B", 0.0)
    if "flit_B" in record:
        total = total * (record["flit_B"] - record["flit_check_B"]) / record["flit_payload_B"]
    return float(total) if np.ndim(total) == 0 else total


@cache
def spec(name: str) -> LinkSpec:
    """Return the LinkSpec of a link with its defaults; raises CourseError with the nearest names.

    >>> spec("pcie5").modelled, spec("nvlink5").modelled, spec("nvlink5").bidirectional_Bps / 1e9
    (True, False, 1800.0)
    """
    name, family, record = _known(name)
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


def waterfall(name: str, *, max_payload_B=None, request: str = "write") -> list[tuple[str, float]]:
    """Return the way from the advertised number to the payload, as (what is left, bytes per second of one direction).

    The first entry is the advertised sum of both directions; every later one is one direction.

    >>> [(step, round(rate / 1e9, 1)) for step, rate in waterfall("pcie5")]
    [('both directions summed', 128.0), ('one direction', 64.0), ('after the line code', 63.0), ('after packet headers', 57.6)]
    """
    name, _family, record = _known(name)
    raw = record.get("raw_Bps", record["line_Bps"]) if _family == "pcie" else record["line_Bps"]
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
        link = _known(link)[0]
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
                copy.link,
                copy.case,
                copy.machine,
                copy.tool,
                predicted_Bps,
                copy.measured_Bps,
                copy.measured_Bps / predicted_Bps - 1,
                spec(copy.link).modelled,
                not chosen,
                str(copy.source),
                copy.note,
            )  # fmt: skip
        )
    return found
