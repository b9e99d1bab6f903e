"""The widths and hop latencies that builders use: line rates and latencies from the hardware table."""

from functools import cache

from course_lib.base.errors import one_of
from course_lib.base.hardware import value

# What is assumed, because no figure for a single hop is published.
TRUNK_S = 0.1e-6  # from NVSwitch to NVSwitch; PCIe switches are sold with 0.105 to 0.115 µs
SOCKET_CROSSING_S = 0.1e-6  # to the other CPU
NETWORK_SWITCH_S = 0.25e-6  # one more network switch with its cable; sellers' figures run from 0.13 to 0.4 µs
TORUS_HOP_S = 1.0e-6  # from chip to neighbouring chip

HOPS = (
    "nvlink",
    "nvlink-switched",
    "nvlink-trunk",
    "c2c",
    "xgmi",
    "ici",
    "pcie",
    "pcie-switched",
    "smp",
    "nic",
    "switch",
)


@cache
def hop_s(hop: str, generation: int = 4) -> float:
    """Return the latency of one hop, in seconds; `generation` is that of an NVLink.

    Hops between two GPUs add up to one step of a collective, `step_s` of the table: one direct hop of NVLink or
    Infinity Fabric, or two hops by way of an NVSwitch. The start of a copy, most of the `latency_s` of an NVLink, is
    not in it. A hop of C2C or PCIe is half of the load that was measured over it. The hop from a card to its switch is
    what makes two PCIe hops a side and two of these the latency measured from GPU to GPU over InfiniBand. The rest is
    assumed, above.

    >>> f"{hop_s('nvlink') * 1e6:.2f} {hop_s('nvlink-switched') * 1e6:.2f} {hop_s('pcie') * 1e6:.2f}"
    '1.00 0.50 0.30'
    """
    hop = one_of("kind of hop", hop, HOPS)
    nvlink = "nvlink" + one_of("NVLink generation", str(generation), list("123456"))
    pcie_s = value("pcie5", "load_s") / 2
    to_switch_s = (pcie_s + value("pcie5", "switch_hop_s")) / 2
    return {
        "nvlink": value(nvlink, "step_s"),
        "nvlink-switched": value(nvlink, "step_s") / 2,
        "nvlink-trunk": TRUNK_S,
        "c2c": value("c2c", "load_s") / 2,
        "xgmi": value("xgmi-mi300x", "step_s"),
        "ici": TORUS_HOP_S,
        "pcie": pcie_s,
        "pcie-switched": to_switch_s,
        "smp": SOCKET_CROSSING_S,
        "nic": value("ib-edr", "latency_s") / 2 - 2 * to_switch_s,
        "switch": NETWORK_SWITCH_S,
    }[hop]


@cache
def nvlink_Bps(generation: int) -> float:
    """Return one direction of one NVLink of a generation 1 … 5, after line coding.

    >>> nvlink_Bps(4)
    25000000000.0
    """
    return value("nvlink" + one_of("NVLink generation", str(generation), list("12345")), "link_Bps")


@cache
def pcie_Bps(generation: int) -> float:
    """Return one direction of a 16-lane PCIe slot of generation 3 … 7, after line coding and before packet headers.

    >>> round(pcie_Bps(5) / 1e9, 1)
    63.0
    """
    return value("pcie" + one_of("PCIe generation", str(generation), list("34567")), "line_Bps")
