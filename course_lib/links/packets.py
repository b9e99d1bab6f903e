"""How much of the line rate packets leave: headers are counted where formats are published, measured where they are not."""

from functools import cache

import numpy as np

from course_lib.base import hardware
from course_lib.base.errors import CourseError, finite, one_of, together
from course_lib.base.language import _

REQUESTS = ("write", "read")
PCIE_LANES = (1, 2, 4, 8, 16)
PCIE_PAYLOADS_B = (128, 256, 512, 1024, 2048, 4096)
NETWORK_PAYLOADS_B = (256, 512, 1024, 2048, 4096)
MODELLED = ("pcie", "infiniband", "ethernet")  # packet formats are published: overhead is counted
MEASURED = ("nvlink", "c2c")  # they are not: overhead is read from a published copy
# What the table has to say of a link before its payload rate is known.
NEEDED = dict.fromkeys(MODELLED, ("latency_s", "max_payload_B", "packet_overhead_B"))
NEEDED |= dict.fromkeys(MEASURED, ("latency_s", "packet_efficiency"))
NEEDED["pcie"] = ("latency_s", "max_payload_B", "max_read_request_B", "packet_framing_B", "packet_lcrc_B", "dllp_B")
NEEDED["pcie"] += ("header_3dw_B", "header_4dw_B")
DLLPS = 2  # one acknowledgement and one flow-control update


def names() -> list[str]:
    """Return the names of the links whose payload rate is known, modelled or measured.

    >>> "pcie5" in names(), "nvlink4" in names(), "ib-ndr" in names()
    (True, True, True)
    """
    return list(_names())


@cache
def _names() -> tuple[str, ...]:
    items = hardware.table().items
    families = {name: items[name].family for name in hardware.items("link")}
    return tuple(
        name for name, family in families.items() if family in NEEDED and {*NEEDED[family]} <= {*hardware.record(name)}
    )


def known(name: str) -> tuple[str, str, dict]:
    """Return (name, family, values) of a link whose payload rate is known; raises CourseError for the others.

    >>> known("nic400")[:2]
    ('ib-ndr', 'infiniband')
    """
    name = hardware.find(name, "link")
    family = hardware.table().items[name].family
    if name not in _names():
        rate = hardware.value(name, "line_Bps") / 1e9
        raise CourseError(
            _(
                "For {name} neither a packet format nor a measured copy is known; its line rate is {rate:g} GB/s."
            ).format(name=name, rate=rate)
        )
    return name, family, hardware.record(name)


def choice(name: str, value, valid: tuple[int, ...]):
    """Return `value` as float (array) if every entry is one of `valid`, else raise a CourseError that lists them.

    >>> choice("lanes", [4, 16], (4, 8, 16)).tolist()
    [4.0, 16.0]
    """
    value = finite(name, value)
    allowed = np.zeros(np.shape(value), dtype=bool)
    for option in valid:
        allowed |= np.equal(value, option)
    if not allowed.all():
        wrong = np.asarray(value)[~allowed].flat[0]
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

    Source: Intel AN 855 and AN 708 (PCIe), IBTA packet layout.

    >>> packet_overhead_B("pcie5"), packet_overhead_B("pcie5", request="read"), packet_overhead_B("ib-ndr")
    (24.0, 28.0, 26.0)
    """
    name, family, record = known(name)
    request = one_of(_("request"), request, REQUESTS)
    if family in MEASURED:
        raise CourseError(
            _("The packet format of {name} is not fully published: its overhead is measured, see payload_Bps.").format(
                name=name
            )
        )
    payload = payload_size(family, record, max_payload_B)
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


def payload_size(family: str, record: dict, max_payload_B):
    """Return the data bytes of a full packet: `max_payload_B` if given and allowed in this family, else the link's default.

    >>> payload_size("pcie", {"max_payload_B": 256.0}, None)
    256.0
    """
    valid = PCIE_PAYLOADS_B if family == "pcie" else NETWORK_PAYLOADS_B
    return record["max_payload_B"] if max_payload_B is None else choice("max_payload_B", max_payload_B, valid)


def packet_efficiency(
    name: str, *, max_payload_B=None, request: str = "write", both_ways: bool = False, ecrc: bool = False
):
    """Return payload ÷ line rate for long transfers: counted for PCIe and networks, measured for NVLink and C2C.

    Arguments as in `packet_overhead_B`; for measured links only the defaults are accepted. In PCIe 6 and 7 the link-layer
    bytes of each flit are part of the overhead.

    >>> round(packet_efficiency("pcie5"), 4), round(packet_efficiency("pcie5", max_payload_B=128), 4)
    (0.9143, 0.8421)
    """
    name, family, record = known(name)
    if family in MEASURED:
        if max_payload_B is not None or request != "write" or both_ways or ecrc:
            raise CourseError(
                _("For {name} the share is measured; max_payload_B, request, both_ways and ecrc do not apply.").format(
                    name=name
                )
            )
        return record["packet_efficiency"]
    payload = payload_size(family, record, max_payload_B)
    overhead = packet_overhead_B(name, max_payload_B=max_payload_B, request=request, both_ways=both_ways, ecrc=ecrc)
    flit = record["flit_payload_B"] / (record["flit_B"] - record["flit_check_B"]) if "flit_B" in record else 1.0
    return payload / (payload + overhead) * flit


def wire_B(name: str, message_B, *, max_payload_B=None, request: str = "write", ecrc: bool = False):
    """Return the bytes on the wire for a message, headers of all its packets included, the last one partly filled.

    `message_B` (bytes, at least 0) and `max_payload_B` broadcast. A message of zero bytes still sends one header.
    Only for links whose packets are published.

    >>> wire_B("pcie5", [0, 1, 256, 257]).tolist()
    [24.0, 25.0, 280.0, 305.0]
    """
    name, family, record = known(name)
    message_B = finite("message_B", message_B, at_least=0, unit="bytes")
    overhead = packet_overhead_B(name, max_payload_B=max_payload_B, request=request, ecrc=ecrc)
    payload = payload_size(family, record, max_payload_B)
    together(message_B=message_B, max_payload_B=payload)
    packets = np.maximum(np.ceil(np.divide(message_B, payload)), 1)
    total = message_B + packets * overhead + record.get("message_overhead_B", 0.0)
    if "flit_B" in record:
        total = total * (record["flit_B"] - record["flit_check_B"]) / record["flit_payload_B"]
    return float(total) if np.ndim(total) == 0 else total
