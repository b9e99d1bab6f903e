"""Causes: what a slow sweep is consistent with, ranked, each with the test that would confirm it."""

from dataclasses import dataclass

from course_lib.base.language import _
from course_lib.base.units import say_rate, say_share
from course_lib.machine.judging.shape import Shape
from course_lib.machine.judging.suspect import codes
from course_lib.machine.records import Cause, Suspected
from course_lib.timing.system import System


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What the rules look at: a slow or odd sweep, and all that is known around it."""

    op: str
    n: int
    hosts: int | None
    shape: Shape
    system: System | None
    ratio: float | None
    ring_ratio: float | None
    after_Bps: float | None
    algorithm: Suspected
    facts: tuple
    nvlink: bool
    near_nic: bool


def ranked(case: Case) -> tuple[Cause, ...]:
    """Return the causes that a case is consistent with, the likeliest first."""
    found: list[tuple[float, Cause]] = []
    for rule in (_inside, _switch_off, _across, _dips, _forced):
        found += rule(case)
    found.sort(key=lambda pair: -pair[0])
    best: dict[str, Cause] = {}
    for _score, cause in found:
        best.setdefault(cause.code, cause)
    return tuple(best.values())[:6]


def _slow(case: Case) -> bool:
    return case.ratio is not None and case.ratio < 0.75


def _single(case: Case) -> bool:
    return case.hosts in (None, 1)


def _inside(case: Case) -> list[tuple[float, Cause]]:
    said, found = codes(case.facts), []
    after = "" if case.after_Bps is None else _(" Expect about {rate} after.").format(rate=say_rate(case.after_Bps))
    switched = said.get("set: NCCL_P2P_DISABLE") not in (None, "0") or said.get("set: NCCL_P2P_LEVEL") in ("LOC", "0")
    staged = case.algorithm.name == "staged through the host"
    if switched or (staged and _slow(case) and case.nvlink):
        because = (
            _("the log says that the environment switches peer access off") if switched else case.algorithm.because
        )
        test = _(
            "env | grep NCCL_P2P; unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL, run again, and look for `via SHM` under NCCL_DEBUG=INFO."
        )
        text = _(
            "consistent with NVLink present but peer access switched off by a variable (NCCL_P2P_DISABLE, NCCL_P2P_LEVEL)."
        )
        found.append((10 if switched else 6, Cause("peer-variable", text + after, because, test)))
    if not _single(case):
        return found
    if staged and _slow(case):
        text = _(
            "consistent with data staged through host memory: no peer access between GPUs (driver, container, virtual machine or ACS)."
        )
        test = _(
            "p2pBandwidthLatencyTest: does its connectivity matrix hold zeros? In a container, is /dev/shm mounted and the device visible?"
        )
        found.append((5, Cause("staged", text, case.algorithm.because, test)))
    if not _slow(case):
        return found
    if said.get("same GPU twice") is not None:
        text = _("two ranks use one GPU.")
        found.append(
            (
                9,
                Cause(
                    "same-gpu",
                    text,
                    _("the log says so"),
                    _("One process per GPU: check CUDA_VISIBLE_DEVICES of every rank."),
                ),
            )
        )
    if case.system is not None and case.system.scale_up.kind == "pcie":
        text = _("consistent with a slot at fewer lanes or an older generation, or traffic across the CPUs.")
        test = _("nvidia-smi -q -d PCIE under load: current link generation and width; lspci -vv: LnkSta.")
        found.append(
            (
                5,
                Cause(
                    "slot",
                    text,
                    _("cards on PCIe reach {share} of what is expected").format(share=say_share(case.ratio)),
                    test,
                ),
            )
        )
        text = _("consistent with peer copies redirected to the CPU (ACS, or a translating IOMMU).")
        test = _(
            "p2pBandwidthLatencyTest: is enabled slower than disabled? lspci -vvv | grep ACSCtl (needs an administrator)."
        )
        found.append((4, Cause("acs", text, _("a usual reason on PCIe"), test)))
    elif case.nvlink and not staged:
        text = _(
            "consistent with links that are down or run slower on one GPU: a ring goes at the speed of its slowest link."
        )
        test = _("nvidia-smi nvlink -s on every GPU: is one different from the others? dmesg | grep -i xid.")
        because = _("measured is {share} of expected at the largest sizes").format(share=say_share(case.ratio))
        found.append((4, Cause("link-down", text, because, test)))
    text = _("consistent with GPUs that other jobs use, or clocks held low by power or heat.")
    test = _("nvidia-smi -q -d PERFORMANCE,CLOCK during the run; nvidia-smi for other processes; run twice.")
    found.append((2, Cause("busy", text, _("fits any slow result"), test)))
    return found


def _switch_off(case: Case) -> list[tuple[float, Cause]]:
    said = codes(case.facts)
    up = case.system.scale_up if case.system else None
    if "multicast failed" in said:
        text = _(
            "consistent with the fabric manager restarted while GPUs were in use, or multicast memory that cannot be allocated (NVLS)."
        )
        test = _("NCCL_NVLS_ENABLE=0 as a test; stop all jobs, restart nvidia-fabricmanager, reset the GPUs or reboot.")
        return [(9, Cause("fabric-restarted", text, _("a warning of NVLS in the log"), test))]
    if up is None or not up.in_network_reduction or not _single(case) or case.op != "all_reduce" or case.n <= 2:
        return []
    forced_off = said.get("set: NCCL_NVLS_ENABLE") == "0"
    like_ring = case.ring_ratio is not None and 0.85 <= case.ring_ratio <= 1.15 and (case.ratio or 1) < 0.87
    if not forced_off and not like_ring:
        return []
    text = _("consistent with a ring: the sum inside the switch (NVLS) is off or was not chosen.")
    because = (
        _("the environment sets NCCL_NVLS_ENABLE to 0") if forced_off else _("the sweep fits the ring's prediction")
    )
    test = _("NCCL_DEBUG=INFO: does a line count nvls channels above 0? Run with NCCL_ALGO=NVLS and compare.")
    return [(9 if forced_off else 7, Cause("no-nvls", text, because, test))]


def _across(case: Case) -> list[tuple[float, Cause]]:
    said, found = codes(case.facts), []
    if "no GPUDirect RDMA" in said:
        because = _("the log says that GPUDirect RDMA is disabled")
        if case.near_nic:
            because += _(", although GPU and card share a PCIe switch (PIX or PXB in the matrix)")
        text = _(
            "consistent with the peer memory module missing or refused (nvidia-peermem), so that "
            "data passes host memory. Not the switch's fault."
        )
        test = _("lsmod | grep peermem; NCCL_DEBUG=INFO: `GDRDMA` behind NET/IB; NCCL_NET_GDR_LEVEL=SYS as a test.")
        found.append((9, Cause("no-gdr", text, because, test)))
    if case.hosts in (None, 1):
        return found
    if "via sockets" in said or case.algorithm.name == "sockets":
        text = _("consistent with plain TCP sockets: the library did not find the fast network.")
        test = _("NCCL_DEBUG=INFO: `Using network`; NCCL_IB_DISABLE unset; ibstat or the provider's plugin installed.")
        found.append((9 if "via sockets" in said else 6, Cause("sockets", text, case.algorithm.because, test)))
    out = case.system.scale_out if case.system else None
    if _slow(case) and out is not None and case.shape.plateau_Bps is not None:
        if out.nics_per_host > 1 and case.shape.plateau_Bps <= 1.05 * out.bandwidth_Bps * max(
            1, out.nics_per_host // 2
        ):
            text = _("consistent with {n} cards of which only some are used ({rate} each).")
            said_text = text.format(n=out.nics_per_host, rate=say_rate(out.bandwidth_Bps))
            test = _(
                "NCCL_DEBUG=INFO: how many NET/IB devices are listed? Check NCCL_IB_HCA and the cards' link state."
            )
            because = _("bus bandwidth {rate} is what fewer cards carry").format(rate=say_rate(case.shape.plateau_Bps))
            found.append((6, Cause("fewer-cards", said_text, because, test)))
        text = _("consistent with GPUDirect RDMA off: data passes host memory.")
        test = _("NCCL_DEBUG=INFO: `GDRDMA` behind NET/IB; lsmod | grep peermem.")
        found.append(
            (4, Cause("gdr-unknown", text, _("a usual reason for half or a quarter of the cards' rate"), test))
        )
        text = _(
            "consistent with flows that share links in the network (ECMP collisions, oversubscription, a cable at lower rate)."
        )
        test = _("ib_write_bw or nccl-tests between pairs of hosts: is one pair slower? Port counters of the switches.")
        found.append(
            (3, Cause("network", text, _("measured is {share} of expected").format(share=say_share(case.ratio)), test))
        )
    return found


def _dips(case: Case) -> list[tuple[float, Cause]]:
    if not case.shape.dips:
        return []
    text = _("consistent with a lossy Ethernet (RoCE without working flow control) or a wrong MTU or GID.")
    test = _(
        "Check PFC and ECN on cards and switches, MTU end to end, NCCL_IB_GID_INDEX, and discard counters (ethtool -S)."
    )
    found = [
        (8, Cause("lossy", text, _("the bandwidth collapses at some large sizes and comes back, or stays down"), test))
    ]
    text = _("consistent with something else using the machine or the network during those sizes.")
    test = _("Run the same sizes again, alone: does the dip stay at its size?")
    return [*found, (3, Cause("disturbed", text, _("single sizes are slow"), test))]


def _forced(case: Case) -> list[tuple[float, Cause]]:
    said, found = codes(case.facts), []
    for name in ("ALGO", "PROTO"):
        word = said.get(f"set: NCCL_{name}")
        if word and _slow(case):
            text = _("NCCL_{name} is set to {word}: the library may not choose.").format(name=name, word=word)
            found.append((8, Cause("forced", text, _("the log says so"), _("Unset it and run again."))))
    return found
