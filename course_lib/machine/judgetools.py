"""Judge what the other tools printed: topology matrices, link states, peer copies, nvbandwidth."""

import statistics

import numpy as np

from course_lib.base.language import _
from course_lib.base.units import say_rate
from course_lib.machine.fabricof import NVLINK_SHARE, Fabric
from course_lib.machine.gpunames import CONSUMER
from course_lib.machine.matrices import Matrix
from course_lib.machine.nvbandwidth import Bandwidths
from course_lib.machine.nvlink import NvlinkStatus
from course_lib.machine.p2p import PeerTest
from course_lib.machine.records import Cause, Finding
from course_lib.machine.topo import TopoMatrix

ODD = 0.8  # of the median: below it a device or a pair stands out
SLOT_SHARE = 0.65
# Links of boards that use fewer than their chip has: bridges of 12, export variants of 8.
BY_DESIGN = {"H100 PCIe": 12, "H100 NVL": 12, "H800 SXM": 8, "H800 PCIe": 8, "A800 SXM": 8, "A800": 8, "H800": 8}
PEER_SLOWER = 0.7  # of the copy without peer access
Verdict = tuple[list[Finding], list[Cause], list[str], bool]  # findings, causes, notes, enough for "healthy"?


def topology(matrix: TopoMatrix, fabric: Fabric | None, others: tuple[TopoMatrix, ...]) -> Verdict:
    """Judge a topology matrix: GPUs off the NVLink fabric, cells that contradict each other, GPUs far from every card."""
    findings, causes, notes = [], [], []
    if matrix.asymmetric:
        pairs = ", ".join(f"{a}–{b}" for a, b in matrix.asymmetric[:4])
        text = _("the two cells of a pair disagree: {pairs}; the matrix was edited or damaged")
        findings.append(Finding("asymmetric", text.format(pairs=pairs)))
    links = matrix.nvlinks
    joined = (links > 0).any(1)
    odd = [gpu for gpu, has in zip(matrix.gpus, joined, strict=True) if not has] if joined.any() else []
    if odd and len(odd) < len(matrix.gpus) / 2 and int(joined.sum()) > 2:
        text = _("{gpus} has no NVLink while the others have {k}: it is off the NVLink fabric")
        findings.append(Finding("gpu-off-fabric", text.format(gpus=", ".join(odd), k=int(links.max()))))
        cause = _(
            "consistent with links that failed to train, a GPU that was reset alone, or partitioning (MIG, a virtual machine)."
        )
        test = _("nvidia-smi nvlink -s and -e on that GPU; dmesg | grep -i xid; state of nvidia-fabricmanager.")
        causes.append(Cause("gpu-off-fabric", cause, _("its row shows PCIe words only"), test))
    if fabric is not None:
        notes += _described(matrix, fabric)
    if matrix.missing_rows:
        gpus = [row for row in matrix.missing_rows if row.startswith("GPU")]
        if gpus:
            notes.append(_("row for {rows} missing").format(rows=", ".join(gpus)))
        if len(gpus) < len(matrix.missing_rows):
            notes.append(_("rows of {n} network cards missing").format(n=len(matrix.missing_rows) - len(gpus)))
    far = _far(matrix)
    if far:
        notes.append(
            _("no near network card (PIX or PXB): {gpus}; their network traffic crosses the CPU").format(
                gpus=", ".join(far)
            )
        )
    near = [f"{gpu} {'/'.join(matrix.near_nics(k))}" for k, gpu in enumerate(matrix.gpus) if matrix.near_nics(k)]
    if near:
        notes.append(_("near network cards: {pairs}").format(pairs=", ".join(near)))
    for other in others:
        if other.links != matrix.links:
            notes.append(_("the text holds {n} matrices that differ; the first is described").format(n=len(others) + 1))
            break
    return findings, causes, notes, matrix.complete and not matrix.asymmetric


def _far(matrix: TopoMatrix) -> list[str]:
    if not matrix.nics or any(word == "" for row in matrix.to_nics for word in row):
        return []
    near = [bool(matrix.near_nics(k)) for k in range(len(matrix.gpus))]
    return [] if all(near) or not any(near) else [g for g, ok in zip(matrix.gpus, near, strict=True) if not ok]


def _described(matrix: TopoMatrix, fabric: Fabric) -> list[str]:
    links, g = matrix.nvlinks, len(matrix.gpus)
    most = int(links.max(initial=0))
    texts = {
        "switch": _("{g} GPUs behind a switch: {k} NVLinks from each, all-to-all"),
        "mesh": _("{g} GPUs joined pair by pair, {k} NVLinks a pair, no switch"),
        "partial mesh": _("{g} GPUs in a partial mesh of up to {k} NVLinks a pair: not all-to-all"),
        "islands": _("{g} GPUs in separate NVLink islands of up to {k} links a pair"),
        "pair": _("two GPUs joined by {k} NVLinks"),
        "pcie": _("{g} GPUs without NVLink: they meet over PCIe and the CPU"),
        "single": _("one GPU: no links to other GPUs"),
    }
    notes = [texts[fabric.shape].format(g=g, k=most)]
    if fabric.link_Bps and fabric.shape in ("switch", "mesh", "pair", "partial mesh"):
        per = max(fabric.links_per_gpu)
        text = _("{k} links a GPU × {link} = {raw}, one direction; about {net} after packets")
        raw = per * fabric.link_Bps
        notes.append(
            text.format(k=per, link=say_rate(fabric.link_Bps), raw=say_rate(raw), net=say_rate(NVLINK_SHARE * raw))
        )
    nodes = sorted({n for numa in matrix.numa if numa for n in numa} - {n for n in matrix.gpu_numa if n is not None})
    memory = sorted({n for n in matrix.gpu_numa if n is not None})
    if memory:
        notes.append(
            _("GPU memory is NUMA node {nodes} (memory only, no CPUs)").format(nodes=", ".join(map(str, memory)))
        )
        groups = len({cpus for cpus in matrix.cpu_affinity if cpus})
        if groups:
            notes.append(_("groups of CPUs: {n}").format(n=groups))
    elif nodes:
        notes.append(_("NUMA nodes with CPUs: {nodes}").format(nodes=", ".join(map(str, nodes[:16]))))
    return [*notes, *fabric.said]


def link_states(status: NvlinkStatus) -> Verdict:
    """Judge `nvidia-smi nvlink -s`: GPUs against each other; the odd one out is a fault."""
    findings, causes, notes = [], [], []
    counts = [len(g.links) for g in status.gpus]
    up = [sum(rate is not None for _k, rate in g.links) for g in status.gpus]
    usual, rates = max(up), [rate for g in status.gpus for _k, rate in g.links if rate]
    if not any(up):
        notes.append(_("all links of all GPUs are inactive: no NVLink in use (no bridge, or a driver problem)"))
        return findings, causes, notes, False
    whole = [g for g, n in zip(status.gpus, up, strict=True) if n == len(g.links)]
    same_hole = len(status.gpus) > 1 and not whole and len({g.inactive for g in status.gpus}) == 1
    designed = [g for g, n in zip(status.gpus, up, strict=True) if BY_DESIGN.get(g.model) == n]
    if designed:
        text = _("{n} active links are all that a {model} has; the others are inactive by design")
        notes.append(text.format(n=BY_DESIGN[designed[0].model], model=designed[0].model))
    for g, n in zip(status.gpus, up, strict=True):
        if g in designed:
            continue
        down = [k for k in g.inactive if k >= 0]
        if same_hole or (not down and g.inactive == () and n == usual):
            continue
        if down or g.inactive:
            total = max(len(g.links), max(counts)) if min(g.inactive) >= 0 else max(counts)
            lost = len(down) if down else total
            text = _(
                "GPU {gpu}: links {links} are inactive, {lost} of {total}: expected loss {lost}/{total} of its NVLink bandwidth"
            )
            if not down:
                text = _("GPU {gpu}: all links are inactive, {lost} of {total}: it has no NVLink bandwidth")
            elif len(down) == 1:
                text = _(
                    "GPU {gpu}: link {links} is inactive, {lost} of {total}: expected loss {lost}/{total} of its NVLink bandwidth"
                )
            findings.append(Finding("link-down", text.format(gpu=g.gpu, links=_and(down), lost=lost, total=total)))
    slow = [g.gpu for g in status.gpus for _k, rate in g.links if rate and rate < 0.9 * statistics.median(rates)]
    if slow:
        text = _("links slower than the median of {median}: on GPU {gpus}")
        words = text.format(median=say_rate(statistics.median(rates)), gpus=_and(sorted(set(slow))))
        findings.append(Finding("link-slow", words))
    if same_hole:
        text = _(
            "the same links ({links}) are inactive on every GPU: by design of the board (no bridge there), not a fault of one GPU"
        )
        notes.append(text.format(links=_and([k for k in status.gpus[0].inactive if k >= 0])))
    if len(status.gpus) == 1:
        notes.append(
            _("only one GPU was pasted: compare with the others of the host (nvidia-smi nvlink -s without -i)")
        )
    text = _("{n} of {total} links active, {rate} each as printed, one direction")
    notes.append(text.format(n=sum(up), total=sum(counts), rate=say_rate(statistics.median(rates))))
    if findings:
        cause = _(
            "consistent with a link that failed to train or was taken down after errors; a ring slows to that GPU's bandwidth."
        )
        test = _("nvidia-smi nvlink -e (error counters); dmesg | grep -i xid; reset the GPU; reseat or replace.")
        causes.append(Cause("link-down", cause, _("other links of the same kind are active"), test))
    return findings, causes, notes, len(status.gpus) > 1 or not status.gpus[0].inactive or bool(designed)


def _and(numbers) -> str:
    words = [str(n) for n in numbers]
    return words[0] if len(words) == 1 else _("{first} and {last}").format(first=", ".join(words[:-1]), last=words[-1])


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
            text = _("{name}: GPU {gpus} is slow towards all others, {share:.0%} of the median")
            findings.append(Finding("slow-gpu", text.format(name=name, gpus=_and(odd[0]), share=odd[1])))
        elif low_share < 0.25:
            pairs = _slow_pairs(matrix, middle)
            text = _("{name}: slow pairs {pairs}, under {odd:.0%} of the median")
            findings.append(Finding("slow-pair", text.format(name=name, pairs=pairs, odd=ODD)))
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
            _("{name}: the median is {share:.0%} of {raw}, one direction").format(
                name=name, share=share, raw=say_rate(link_Bps)
            )
        )
        if share < 0.6:
            text = _("{name}: pairs reach {share:.0%} of the raw {raw}; 75 to 92 % is usual")
            findings.append(Finding("slow-copies", text.format(name=name, share=share, raw=say_rate(link_Bps))))
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
    share = float(np.nanmedian(matrix.values[slow][:, [k for k in range(len(low)) if k not in slow]])) / middle
    column = float(np.nanmedian(matrix.values[[k for k in range(len(low)) if k not in slow]][:, slow])) / middle
    return [matrix.rows[k] for k in slow], min(share, column)


def _slow_pairs(matrix: Matrix, middle: float) -> str:
    found = [
        f"{a}→{b}"
        for i, a in enumerate(matrix.rows)
        for j, b in enumerate(matrix.columns)
        if (a != b or matrix.row_role != matrix.column_role) and matrix.values[i, j] < ODD * middle
    ]
    return ", ".join(found[:6]) + ("" if len(found) <= 6 else _(" and {n} more").format(n=len(found) - 6))


def bandwidths(found: Bandwidths, link_Bps: float | None, slot_Bps: float | None = None) -> Verdict:
    """Judge nvbandwidth: every matrix with its direction, against the raw rate of the link or slot where it is known."""
    findings, notes, enough = [], [], False
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
            text = _("{name}: the median is {share:.0%} of a slot's {raw}, one direction")
            words = text.format(name=matrix.name or _("matrix"), share=share, raw=say_rate(slot_Bps))
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
    if found.waived:
        notes.append(_("{n} tests waived (they need more GPUs)").format(n=found.waived))
    if found.without:
        notes.append(_("no matrix under: {names}").format(names=", ".join(found.without[:8])))
    return findings, [], notes, enough
