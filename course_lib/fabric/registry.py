"""Machines by name: `build("hgx-h100")`, every one made from the hardware table."""

from collections.abc import Callable

from course_lib.base.errors import one_of
from course_lib.base.hardware import named, value
from course_lib.base.language import _
from course_lib.fabric.pciehost import bridged_pairs, pcie_host
from course_lib.fabric.rates import nvlink_Bps
from course_lib.fabric.scaleout import cluster
from course_lib.fabric.scaleup import cube_mesh, full_mesh, grace_hosts, nvswitch_box, two_board_box
from course_lib.fabric.topology import Topology
from course_lib.fabric.torus import torus


def _switched(system: str, widths: tuple[int, ...]) -> Callable[..., Topology]:
    """A box whose GPUs have `widths` links to each switch, at the rate that the GPU's total leaves for one."""

    def make(name: str, merged: bool) -> Topology:
        link, gpus, per_host = (
            named(system, "scale_up"),
            int(value(system, "gpus")),
            int(value(system, "gpus_per_host")),
        )
        per_link, step_s = value(link, "line_Bps") / sum(widths), value(link, "step_s")
        return nvswitch_box(name, gpus, widths, per_link, merged=merged, gpus_per_host=per_host, latency_s=step_s)

    return make


def _rack(system: str, chips: int) -> Callable[..., Topology]:
    return _switched(system, (1,) * chips)


def _dgx1(generation: int) -> Callable[..., Topology]:
    def make(name: str, merged: bool) -> Topology:
        return pcie_host(name, 8, own_cables=cube_mesh(generation), nics=4, generation=3, drawn_below=True)

    return make


def _mesh(n: int, links: int, generation: int) -> Callable[..., Topology]:
    return lambda name, merged: full_mesh(name, n, links, nvlink_Bps(generation), generation=generation)


def _tray(system: str, cpus: int, per: int) -> Callable[..., Topology]:
    """A Grace or Vera tray of a rack: its GPUs with all their links to the rack's switches, drawn as one."""

    def make(name: str, merged: bool) -> Topology:
        link = named(system, "scale_up")
        own = nvswitch_box("", cpus * per, (1,), value(link, "line_Bps"), latency_s=value(link, "step_s"))
        return grace_hosts(name, cpus, per, own, value(named(system, "host_link"), "line_Bps"))

    return make


def _gh200_quad(name: str, merged: bool) -> Topology:
    return grace_hosts(name, 4, 1, full_mesh("", 4, 6, nvlink_Bps(4)), value("c2c", "line_Bps"))


def _tpu(item: str, dims: tuple[int, ...]) -> Callable[..., Topology]:
    return lambda name, merged: torus(name, dims, value(item, "link_Bps"))


def _superpod(name: str, merged: bool) -> Topology:
    return cluster(build("hgx-h100", merged=True), 4 * int(value("superpod-h100", "hosts")), name=name)


_BUILDERS: dict[str, tuple[str, Callable[..., Topology]]] = {
    "dgx1-p100": (_("8 P100, hybrid cube mesh of single links; PCIe 3 below"), _dgx1(1)),
    "dgx1-v100": (_("8 V100, hybrid cube mesh with one or two links a pair; PCIe 3 below"), _dgx1(2)),
    "dgx2": (
        _("16 V100 on two boards, 12 NVSwitches in 6 planes, 8 trunk links a plane"),
        lambda name, merged: two_board_box(name, 8, 6, 8, nvlink_Bps(2)),
    ),
    "hgx-a100": (_("8 A100, 6 NVSwitches with 2 links each"), _switched("dgx-a100", (2,) * 6)),
    "hgx-h100": (_("8 H100, 4 NVSwitches with 5, 4, 4 and 5 links"), _switched("dgx-h100", (5, 4, 4, 5))),
    "hgx-h200": (_("8 H200, 4 NVSwitches with 5, 4, 4 and 5 links"), _switched("dgx-h200", (5, 4, 4, 5))),
    "hgx-b200": (_("8 B200, 2 NVSwitches with 9 links each"), _switched("dgx-b200", (9, 9))),
    "hgx-b300": (_("8 B300, 2 NVSwitches with 9 links each"), _switched("dgx-b300", (9, 9))),
    "nvl72-gb200": (_("72 GB200, 18 NVSwitches with one link each"), _rack("gb200-nvl72", 18)),
    "nvl72-gb300": (_("72 GB300, 18 NVSwitches with one link each"), _rack("gb300-nvl72", 18)),
    "nvl72-rubin": (
        _("72 Rubin as announced: 3.6 TB/s a GPU both ways, over 36 NVSwitches"),
        _rack("vera-rubin-nvl72", 36),
    ),
    "gb200-tray": (_("4 GB200 with 2 Grace CPUs on C2C, up to the rack's switches"), _tray("gb200-nvl72", 2, 2)),
    "gb300-tray": (_("4 GB300 with 2 Grace CPUs on C2C, up to the rack's switches"), _tray("gb300-nvl72", 2, 2)),
    "gh200-quad": (_("4 GH200, 6 NVLinks a pair, a Grace CPU each on C2C"), _gh200_quad),
    "a100-quad": (_("4 A100 on a board without a switch, 4 NVLinks a pair"), _mesh(4, 4, 3)),
    "v100-quad": (_("4 V100 on a board without a switch, 2 NVLinks a pair"), _mesh(4, 2, 2)),
    "h100-quad": (_("4 H100 on a board without a switch, 6 NVLinks a pair"), _mesh(4, 6, 4)),
    "mi300x": (
        _("8 MI300X, every pair joined by its own Infinity Fabric link"),
        lambda name, merged: full_mesh(name, 8, 1, value("xgmi-mi300x", "link_Bps"), "xgmi"),
    ),
    "a100-pcie-bridged": (
        _("4 A100 PCIe in two bridged pairs"),
        lambda name, merged: bridged_pairs(name, 4, 12, nvlink_Bps(3), generation=4, gpus_per_switch=0),
    ),
    "h100-nvl-pair": (
        _("2 H100 NVL with three bridges"),
        lambda name, merged: bridged_pairs(name, 2, 12, nvlink_Bps(4), generation=5, gpus_per_switch=0, sockets=1),
    ),
    "rtx3090-pair": (
        _("2 RTX 3090 with a bridge of four links"),
        lambda name, merged: bridged_pairs(
            name, 2, 4, value("nvlink-bridge-ga102", "link_Bps"), generation=4, gpus_per_switch=0, sockets=1
        ),
    ),
    "pcie-8": (
        _("8 GPUs under four PCIe 4 switches on two sockets"),
        lambda name, merged: pcie_host(name, 8, generation=4),
    ),
    "pcie-8-acs": (
        _("the same with ACS on: peers meet at the root complex only"),
        lambda name, merged: pcie_host(name, 8, generation=4, acs=True),
    ),
    "pcie-direct-4": (
        _("4 GPUs, each in a slot of its CPU, two sockets, PCIe 5"),
        lambda name, merged: pcie_host(name, 4, generation=5, gpus_per_switch=0),
    ),
    "tpu-v5e-16": (_("16 TPU v5e in a 4 × 4 torus"), _tpu("ici-v5e", (4, 4))),
    "tpu-v4-64": (_("64 TPU v4 in a 4 × 4 × 4 torus"), _tpu("ici-v4", (4, 4, 4))),
    "tpu-v4-pod": (_("4,096 TPU v4 in a 16 × 16 × 16 torus"), _tpu("ici-v4", (16, 16, 16))),
    "superpod-h100": (_("128 hosts of 8 H100: rails, 32 leaves, 16 spines"), _superpod),
}

_ALIASES = {
    "dgx-1-p100": "dgx1-p100",
    "dgx-1-v100": "dgx1-v100",
    "dgx-1": "dgx1-v100",
    "dgx-2": "dgx2",
    "dgx-a100": "hgx-a100",
    "dgx-h100": "hgx-h100",
    "dgx-h200": "hgx-h200",
    "dgx-b200": "hgx-b200",
    "dgx-b300": "hgx-b300",
    "gb200-nvl72": "nvl72-gb200",
    "nvl72": "nvl72-gb200",
    "gb300-nvl72": "nvl72-gb300",
    "vr-nvl72": "nvl72-rubin",
    "vera-rubin-nvl72": "nvl72-rubin",
    "mi300x-platform": "mi300x",
    "a100-pcie-pair": "a100-pcie-bridged",
    "h100-nvl": "h100-nvl-pair",
}


def names() -> list[str]:
    """Return the names that `build` knows, oldest machine first.

    >>> names()[:2]
    ['dgx1-p100', 'dgx1-v100']
    """
    return list(_BUILDERS)


def describe(name: str) -> str:
    """Return one line about a machine.

    >>> describe("hgx-b200")
    '8 B200, 2 NVSwitches with 9 links each'
    """
    return _(_BUILDERS[_known(name)][0])


def build(name: str, *, merged: bool = False) -> Topology:
    """Return the topology of a machine by name.

    Args:
        name: one of `names()`, or another usual name such as `dgx-h100`.
        merged: draw the NVSwitches of a box or rack as one vertex (same speeds, fewer links).

    Raises:
        CourseError: unknown name, with the nearest ones.

    >>> build("hgx-h100").n_gpus
    8
    >>> build("hgx-h10")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: There is no machine 'hgx-h10'. The nearest: hgx-h100, hgx-h200, hgx-a100, dgx-h100.
    """
    known = _known(name)
    return _BUILDERS[known][1](known, bool(merged))


def _known(name: str) -> str:
    found = one_of(_("machine"), name, [*_BUILDERS, *_ALIASES])
    return _ALIASES.get(found, found)
