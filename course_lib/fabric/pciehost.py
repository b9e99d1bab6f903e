"""A host with its PCIe tree: GPUs and network cards under PCIe switches, root complexes, two sockets, ACS."""

from collections.abc import Sequence

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.fabric.rates import hop_s, pcie_Bps
from course_lib.fabric.topology import Topology, assemble


def pcie_host(
    name: str,
    n_gpus: int,
    *,
    gpus_per_switch: int = 2,
    sockets: int = 2,
    nics: int = 0,
    generation: int = 4,
    acs: bool = False,
    own_cables: Sequence[tuple] = (),
    nvswitches: int = 0,
    drawn_below: bool | None = None,
    bandwidth_Bps: float | None = None,
    socket_Bps: float | None = None,
    main_kinds: tuple[str, ...] | None = None,
) -> Topology:
    """Return a host: GPUs and cards spread evenly over PCIe switches, the switches over the sockets.

    Args:
        name: what to call it.
        n_gpus: GPUs.
        gpus_per_switch: GPUs under one PCIe switch; 0: every GPU and card sits on its CPU without a switch.
        sockets: CPUs, each one root complex; any two are joined.
        nics: network cards, dealt out like the GPUs.
        generation: of PCIe, 3 to 5, all slots 16 lanes.
        acs: access control services on: the switch may not turn traffic round, so peers under one switch go up to
            the root complex and down again. Such a switch is drawn as two vertices, one for each way.
        own_cables: cables between GPUs (and NVSwitches, the vertices after the GPUs), as `assemble` takes them.
        nvswitches: how many vertices after the GPUs are NVSwitches.
        drawn_below: draw the host side below the GPUs; None: where there are NVSwitches above.
        bandwidth_Bps: one direction of a slot; None: the line rate of the generation after coding.
        socket_Bps: one direction between two sockets; None: as much as one slot (assumed; it shows who shares it).
        main_kinds: link kinds that cuts count; None: the GPUs' own cables, or PCIe where they have none.

    Raises:
        CourseError: counts that are not whole or not positive.

    Validity: line rates; packet headers take about a tenth, and bridges between sockets often much more.

    >>> from course_lib.fabric.routes import routes
    >>> on, off = (pcie_host("a host", 4, acs=acs) for acs in (True, False))
    >>> len(routes(off, 0, 1).first), len(routes(on, 0, 1).first)
    (2, 4)
    """
    n, sockets = whole("n_gpus", n_gpus, at_least=1), whole("sockets", sockets, at_least=1, at_most=8)
    per, nics = whole("gpus_per_switch", gpus_per_switch, at_least=0), whole("nics", nics, at_least=0)
    nvswitches = whole("nvswitches", nvswitches, at_least=0)
    if not isinstance(acs, bool):
        raise CourseError(_("acs is {value}; it has to be True or False.").format(value=repr(acs)))
    slot = pcie_Bps(generation) if bandwidth_Bps is None else bandwidth_Bps
    vertices = [("gpu", 0)] * n + [("nvswitch", 0)] * nvswitches
    n_switches = -(-n // per) if per else 0
    sign = -1.0 if (bool(nvswitches) if drawn_below is None else drawn_below) else 1.0
    up = [len(vertices) + s for s in range(n_switches)]
    vertices += [("pcie-switch", 0, (s + 0.5) / n_switches, sign) for s in range(n_switches)]
    down = up
    if acs:
        down = [len(vertices) + s for s in range(n_switches)]
        vertices += [("pcie-switch", 0, (s + 0.5) / n_switches, sign * 1.2) for s in range(n_switches)]
    cpu = [len(vertices) + c for c in range(sockets)]
    vertices += [("cpu", 0, (c + 0.5) / sockets, sign * 2) for c in range(sockets)]
    card = [len(vertices) + i for i in range(nics)]
    vertices += [("nic", 0, (i + 0.5) / nics, sign * 0.5) for i in range(nics)]

    cables = list(own_cables)
    devices = [(g, g, n) for g in range(n)] + [(card[i], i, nics) for i in range(nics)]
    for vertex, i, of in devices:
        if not per:
            cables.append((vertex, cpu[i * sockets // of], "pcie", slot, hop_s("pcie"), 1))
        else:
            s = i // per if vertex < n else i * n_switches // of
            cables += _up_down(vertex, up[s], down[s], slot, acs)
    for s in range(n_switches):
        root = cpu[s * sockets // n_switches]
        if acs:
            cables.append((up[s], root, "pcie", slot, hop_s("pcie-switched"), 1, True))
            cables.append((root, down[s], "pcie", slot, hop_s("pcie-switched"), 1, True))
        else:
            cables.append((up[s], root, "pcie", slot, hop_s("pcie-switched"), 1))
    between = slot if socket_Bps is None else socket_Bps
    cables += [(cpu[a], cpu[b], "smp", between, hop_s("smp"), 1) for a in range(sockets) for b in range(a + 1, sockets)]
    main = main_kinds or tuple(dict.fromkeys(c[2] for c in own_cables)) or ("pcie", "smp")
    return assemble(name, vertices, cables, main_kinds=main)


def _up_down(device: int, up: int, down: int, slot_Bps: float, acs: bool) -> list[tuple]:
    hop = hop_s("pcie-switched")
    if not acs:
        return [(device, up, "pcie", slot_Bps, hop, 1)]
    return [(device, up, "pcie", slot_Bps, hop, 1, True), (down, device, "pcie", slot_Bps, hop, 1, True)]


def bridged_pairs(
    name: str, n_gpus: int, links_per_pair: int, bandwidth_Bps: float, *, generation: int = 4, **tree: object
) -> Topology:
    """Return PCIe cards joined two by two by NVLink bridges (0–1, 2–3, …); other pairs go over PCIe.

    >>> cards = bridged_pairs("4 cards", 4, 12, 25e9)
    >>> cards.bandwidth_Bps[:4].tolist()
    [300000000000.0, 300000000000.0, 300000000000.0, 300000000000.0]
    """
    n = whole("n_gpus", n_gpus, at_least=2)
    if n % 2:
        raise CourseError(_("n_gpus is {n}; bridges join cards two by two, so it has to be even.").format(n=n))
    bridges = [(a, a + 1, "nvlink", bandwidth_Bps, hop_s("nvlink"), links_per_pair) for a in range(0, n, 2)]
    return pcie_host(name, n, own_cables=bridges, generation=generation, main_kinds=("nvlink", "pcie", "smp"), **tree)
