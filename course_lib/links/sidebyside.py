"""Two links side by side: what a message of any size gets from each, one way or both ways at once."""

import re
from dataclasses import dataclass

import numpy as np

from course_lib.base import hardware
from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.links import alphabeta
from course_lib.links.linerate import payload_Bps, spec

PCIE_TO_NVLINK = ("pcie3", "pcie4", "pcie5", "pcie6", "nvlink1", "nvlink2", "nvlink3", "nvlink4", "nvlink5", "c2c")
SXM_GPUS = ("p100", "v100", "a100", "h100", "b200")  # one GPU for each generation of NVLink


@dataclass(frozen=True, slots=True)
class Side:
    """What one link gives, as arrays over message_B (n,).

    `bandwidth_Bps` is one direction; `rate_Bps` and `limit_Bps` (line rate) add the directions in use, of which there are
    `ways`; `time_s` is until the message has arrived.
    """

    name: str
    title: str
    family: str
    ways: int
    latency_s: float
    bandwidth_Bps: float
    limit_Bps: float
    message_B: np.ndarray
    time_s: np.ndarray
    rate_Bps: np.ndarray

    @property
    def half_B(self) -> float:
        """Message that reaches half of the bandwidth."""
        return self.latency_s * self.bandwidth_Bps


def short_title(name: str) -> str:
    """Return the name of a link as people say it: short enough for the end of a line in a figure.

    >>> short_title("pcie5"), short_title("nvlink4"), short_title("c2c"), short_title("ib-ndr")
    ('PCIe 5 x16', 'NVLink 4', 'NVLink-C2C', 'InfiniBand NDR')
    """
    name = hardware.find(name, "link")
    found = re.fullmatch(r"(pcie|nvlink)(\d)", name)
    if found:
        return f"PCIe {found[2]} x16" if found[1] == "pcie" else f"NVLink {found[2]}"
    if name == "c2c":
        return "NVLink-C2C"
    return hardware.table().items[name].title.split(",")[0]


def side(name: str, message_B, *, both_ways: bool = False) -> Side:
    """Return the Side of a link for message_B (scalar or (n,), bytes, at least 0).

    With `both_ways` a message of that size travels in each direction at the same time. PCIe then carries acknowledgements of
    the other direction between its packets, in the worst case one pair for each packet; for NVLink and C2C each direction keeps
    its rate (8 H200 measure 99 % of twice the one-way copy). Memory on either side is taken to keep up: published host copies in
    both directions lose far more to it than to the link. Raises CourseError for an unknown link or a bad size.

    >>> one, two = side("pcie5", 1e9), side("pcie5", 1e9, both_ways=True)
    >>> round(float(one.rate_Bps) / 1e9, 1), round(float(two.rate_Bps) / 1e9, 1), two.ways
    (57.6, 109.0, 2)
    """
    link, ways = spec(name), 2 if both_ways else 1
    counted = both_ways and link.family == "pcie"
    bandwidth_Bps = float(payload_Bps(link.name, both_ways=True) if counted else link.payload_Bps)
    time_s = np.asarray(alphabeta.time_s(message_B, link.latency_s, bandwidth_Bps))
    return Side(
        name=link.name,
        title=short_title(link.name),
        family=link.family,
        ways=ways,
        latency_s=link.latency_s,
        bandwidth_Bps=bandwidth_Bps,
        limit_Bps=ways * link.line_Bps,
        message_B=np.asarray(message_B, dtype=float),
        time_s=time_s,
        rate_Bps=ways * np.asarray(alphabeta.rate_Bps(message_B, link.latency_s, bandwidth_Bps)),
    )


def times_faster(a: Side, b: Side) -> np.ndarray:
    """Return how many times sooner the message arrives over `b` than over `a`; the sizes of both must be the same.

    >>> pcie, nvlink = (side(name, [1.0, 1e6, 1e12]) for name in ("pcie5", "nvlink4"))
    >>> np.round(times_faster(pcie, nvlink), 1).tolist()
    [1.0, 4.3, 6.9]
    """
    if not np.array_equal(a.message_B, b.message_B):
        raise CourseError(_("The two sides were asked for different message sizes; the same sizes are expected."))
    return a.time_s / b.time_s


@dataclass(frozen=True, slots=True)
class Generation:
    """A GPU with its NVLink and the PCIe slot of its host; rates are line rates of one direction."""

    gpu: str
    title: str
    nvlink: str
    pcie: str
    links: int
    link_Bps: float
    nvlink_Bps: float
    pcie_Bps: float

    @property
    def ratio(self) -> float:
        """NVLink over PCIe, both line rates of one direction."""
        return self.nvlink_Bps / self.pcie_Bps


def generations() -> list[Generation]:
    """Return a GPU for each generation of NVLink, oldest first, beside the PCIe slot that it was sold with.

    >>> [(g.title.split()[0], g.links, round(g.ratio, 1)) for g in generations()]
    [('P100', 4, 5.1), ('V100', 6, 9.5), ('A100', 12, 9.5), ('H100', 18, 7.1), ('B200', 18, 14.3)]
    """
    found = []
    for gpu in map(hardware.gpu, SXM_GPUS):
        nvlink, pcie = gpu.scale_up, gpu.host_link
        count, each = int(hardware.value(nvlink, "links")), hardware.value(nvlink, "link_Bps")
        rates = hardware.link(nvlink).line_Bps, hardware.link(pcie).line_Bps
        found.append(Generation(gpu.name, gpu.title, nvlink, pcie, count, each, *rates))
    return found
