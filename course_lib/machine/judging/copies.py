"""Judge copies between GPUs and hosts: p2pBandwidthLatencyTest and nvbandwidth."""

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import say_rate, say_share
from course_lib.machine.gpunames import CONSUMER
from course_lib.machine.judging.wiring import Verdict, listed
from course_lib.machine.matrices import Matrix
from course_lib.machine.nvbandwidth import Bandwidths
from course_lib.machine.p2p import PeerTest
from course_lib.machine.records import Cause, Finding

ODD = 0.8  # of the median: below it a device or a pair stands out
SLOT_SHARE = 0.65
PEER_SLOWER = 0.7  # of the copy without peer access


def peers(test: PeerTest, link_Bps: float | None) -> Verdict:
    """Judge p2pBandwidthLatencyTest. `link_Bps`: what one direction between two GPUs has raw, where it is known."""
    findings, causes, notes = [], [], []
    denied = [(a, b) for a, b, may in test.access if not may]
    on, off = test.matrix("unidirectional enabled"), test.matrix("unidirectional disabled")
    enough = False
    if denied and len(denied) == len(test.access):
        text = _(
            "no direct peer path between any two GPUs: the tables titled enabled and disabled are both copies staged through the host"
        )
        rate = _median(on or off)
        if rate:
            text += _(" (about {rate})").format(rate=say_rate(rate))
        findings.append(Finding("no-peer-access", text))
        consumer = any(g and CONSUMER.match(g) for g in test.gpus)
        because = _("the connectivity matrix holds zeros")
        cause = (
            _("consistent with cards whose driver offers no peer access (GeForce).")
            if consumer
            else _("consistent with a driver, virtual machine or board that offers no peer access.")
        )
        causes.append(Cause("no-peer-access", cause, because, _("nvidia-smi topo -p2p r: NS or CNS for the pairs?")))
        notes.append(
            _(
                "staged copies through one PCIe switch share its uplink: such pairs may look slower than pairs across CPUs"
            )
        )
    elif denied:
        pairs = ", ".join(f"{a}→{b}" for a, b in denied[:6])
        findings.append(Finding("some-peers-denied", _("no peer access for {pairs}").format(pairs=pairs)))
    slower = _peer_slower(on, off, {(a, b): may for a, b, may in test.access})
    if slower:
        n, total, ratio = slower
        text = _("peer access on is slower than off: {n} of {total} pairs, ratio about {ratio:.2g}")
        findings.append(Finding("peer-slower", text.format(n=n, total=total, ratio=ratio)))
        cause = _(
            "consistent with peer copies redirected to the CPU by access control (ACS) or a translating IOMMU; likely, not certain."
        )
        check = _(
            "lspci -vvv | grep ACSCtl (needs an administrator); kernel option iommu=pt; NCCL_P2P_DISABLE=1 as a stop-gap."
        )
        causes.append(
            Cause("acs", cause, _("pairs may reach each other, yet direct copies are slower than staged ones"), check)
        )
    for matrix in (on, test.matrix("bidirectional enabled")):
        if matrix is not None and not denied and not slower:
            found, said, ok = _matrix(matrix, link_Bps if matrix is on else None)
            findings += found
            notes += said
            enough = enough or ok
    if on is not None or off is not None:
        notes.append(_("the diagonal is each GPU's own memory, not a link"))
    if test.missing:
        notes.append(_("sections not found: {names}").format(names=", ".join(test.missing)))
    return findings, causes, notes, enough


def _median(matrix: Matrix | None) -> float | None:
    if matrix is None or matrix.unit != "GB/s":
        return None
    values = matrix.off_diagonal()
    return float(np.median(values)) * 1e9 if values.size else None


def _peer_slower(on: Matrix | None, off: Matrix | None, may: dict) -> tuple[int, int, float] | None:
    if on is None or off is None or on.unit != off.unit:
        return None
    ratios = []
    for i, a in enumerate(on.rows):
        for j, b in enumerate(on.columns):
            if a != b and a in off.rows and b in off.columns and may.get((a, b), True):
                before = off.values[off.rows.index(a), off.columns.index(b)]
                if np.isfinite(on.values[i, j]) and np.isfinite(before) and before > 0:
                    ratios.append(on.values[i, j] / before)
    low = [r for r in ratios if r < PEER_SLOWER]
    return (len(low), len(ratios), float(np.median(low))) if low else None


def _matrix(matrix: Matrix, link_Bps: float | None) -> tuple[list[Finding], list[str], bool]:
    """Judge one matrix of bandwidths between GPUs: devices and pairs that stand out, share of the raw rate."""
    values = matrix.off_diagonal()
    if not values.size or matrix.quantity != "bandwidth":
        return [], [], False
    findings, notes = [], []
    name = matrix.name or _("matrix")
    middle = float(np.median(values))
    text = _("{name}: {low:g} to {high:g} {unit} off the diagonal, median {median:g}")
    notes.append(text.format(name=name, low=values.min(), high=values.max(), unit=matrix.unit, median=round(middle, 2)))
    if middle <= 0:
        return (
            [Finding("no-bandwidth", _("{name}: most pairs show no bandwidth at all").format(name=name))],
            notes,
            False,
        )
    low_share = float((values < ODD * middle).mean())
    if values.min() < ODD * middle:
        odd = _odd_device(matrix, middle)
        if odd:
            text = _("{name}: GPU {gpus} is slow towards all others, {share} of the median")
            findings.append(Finding("slow-gpu", text.format(name=name, gpus=listed(odd[0]), share=say_share(odd[1]))))
        elif low_share < 0.25:
            pairs = _slow_pairs(matrix, middle)
            text = _("{name}: slow pairs {pairs}, under {odd} of the median")
            findings.append(Finding("slow-pair", text.format(name=name, pairs=pairs, odd=say_share(ODD))))
        else:
            notes.append(
                _("{name}: pairs differ in steps, as where links differ; paste nvidia-smi topo -m with it").format(
                    name=name
                )
            )
            return findings, notes, False
    if link_Bps and matrix.unit == "GB/s" and matrix.arrow != "<->":
        share = middle * 1e9 / link_Bps
        notes.append(
            _("{name}: the median is {share} of {raw}, one direction").format(
                name=name, share=say_share(share), raw=say_rate(link_Bps)
            )
        )
        if share < 0.6:
            text = _("{name}: pairs reach {share} of the raw {raw}; 75 to 92 % is usual")
            findings.append(
                Finding("slow-copies", text.format(name=name, share=say_share(share), raw=say_rate(link_Bps)))
            )
        elif share > 1.02:
            text = _("{name}: the median is above the raw rate {raw}: is the system right?")
            findings.append(Finding("above-bound", text.format(name=name, raw=say_rate(link_Bps))))
        return findings, notes, 0.6 <= share <= 1.02
    if matrix.arrow != "<->" and not findings:
        notes.append(_("what a pair should reach is not known here: give --system, or nvidia-smi topo -m with it"))
    return findings, notes, False


def _odd_device(matrix: Matrix, middle: float) -> tuple[list[int], float] | None:
    """Return devices all of whose pairs are slow while all pairs of the others are not, and their share of the median."""
    if matrix.rows != matrix.columns or len(matrix.rows) < 3:
        return None
    off = ~np.eye(len(matrix.rows), dtype=bool)
    low = (matrix.values < ODD * middle) & off
    slow = [k for k in range(len(low)) if low[k][off[k]].all() or low[:, k][off[:, k]].all()]
    rest = np.delete(np.delete(low, slow, 0), slow, 1)
    if not slow or len(slow) > len(low) / 3 or rest.any():
        return None
    others = [k for k in range(len(low)) if k not in slow]
    towards = [matrix.values[np.ix_(slow, others)], matrix.values[np.ix_(others, slow)]]
    medians = [float(np.median(part[np.isfinite(part)])) / middle for part in towards if np.isfinite(part).any()]
    return ([matrix.rows[k] for k in slow], min(medians)) if medians else None


def _slow_pairs(matrix: Matrix, middle: float) -> str:
    found = [
        (f"{b}→{a}" if matrix.arrow == "<-" else f"{a}→{b}")
        for i, a in enumerate(matrix.rows)
        for j, b in enumerate(matrix.columns)
        if (a != b or matrix.row_role != matrix.column_role) and matrix.values[i, j] < ODD * middle
    ]
    return ", ".join(found[:6]) + ("" if len(found) <= 6 else _(" and {n} more").format(n=len(found) - 6))


def bandwidths(found: Bandwidths, link_Bps: float | None, slot_Bps: float | None = None) -> Verdict:
    """Judge nvbandwidth: every matrix with its direction, against the raw rate of the link or slot where it is known."""
    findings, causes, notes, enough = [], [], [], False
    arrows = {"->": "→", "<-": "←", "<->": "↔"}
    for matrix in found.matrices:
        between = matrix.row_role == matrix.column_role == "GPU"
        if between and len(matrix.columns) > 1:
            odd, said, ok = _matrix(matrix, link_Bps)
            findings += odd
            notes += said
            enough = enough or ok
            continue
        values = matrix.off_diagonal()
        if not values.size:
            continue
        text = _("{name}: {a} {arrow} {b}, {low:g} to {high:g} {unit}")
        words = text.format(
            name=matrix.name or _("matrix"), a=matrix.row_role, arrow=arrows.get(matrix.arrow, matrix.arrow),
            b=matrix.column_role, low=values.min(), high=values.max(), unit=matrix.unit,
        )  # fmt: skip
        notes.append(words)
        middle = float(np.median(values))
        one_way = matrix.quantity == "bandwidth" and matrix.arrow != "<->" and matrix.unit == "GB/s"
        if (
            slot_Bps
            and one_way
            and {matrix.row_role, matrix.column_role} == {"CPU", "GPU"}
            and "all_to" not in matrix.name
        ):
            share = middle * 1e9 / slot_Bps
            text = _("{name}: the median is {share} of a slot's {raw}, one direction")
            words = text.format(name=matrix.name or _("matrix"), share=say_share(share), raw=say_rate(slot_Bps))
            if share < SLOT_SHARE:
                findings.append(
                    Finding("slow-slot", words + _("; 80 to 90 % is usual: fewer lanes or an older generation?"))
                )
            else:
                notes.append(words)
                enough = True
        if matrix.quantity == "bandwidth" and len(values) >= 3 and values.min() < 0.5 * middle:
            text = _(
                "{name}: one cell is under half of the median ({low:g} of {median:g} {unit}): that GPU's slot or CPU"
            )
            findings.append(
                Finding("slow-cell", text.format(name=matrix.name, low=values.min(), median=middle, unit=matrix.unit))
            )
    if found.pattern_failed:
        text = _("DATA CORRUPTION: tests that found copied data wrong: {n}")
        findings.insert(0, Finding("wrong-data", text.format(n=found.pattern_failed)))
        text = _("consistent with a translating IOMMU or access control (ACS), a faulty link, or GPU memory.")
        test = _(
            "Run the test alone with a smaller --bufferSize; iommu=pt or off; nvidia-smi nvlink -e and Xid errors."
        )
        causes.append(Cause("corruption", text, _("the benchmark compares the pattern that it copied"), test))
    if found.waived:
        notes.append(_("tests waived, for want of GPUs or of peer access: {n}").format(n=found.waived))
    if found.without:
        notes.append(_("no matrix under: {names}").format(names=", ".join(found.without[:8])))
    return findings, causes, notes, enough
