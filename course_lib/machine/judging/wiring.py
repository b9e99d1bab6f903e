"""Judge topology matrices and states of links."""

import statistics

from course_lib.base.language import _
from course_lib.base.units import say_rate
from course_lib.machine.fabricof import NVLINK_SHARE, Fabric, short_pairs
from course_lib.machine.nvlink import NvlinkStatus
from course_lib.machine.records import Cause, Finding
from course_lib.machine.topo import TopoMatrix

# Links of boards that use fewer than their chip has: bridges of 12, export variants of 8.
BY_DESIGN = {"H100 PCIe": 12, "H100 NVL": 12, "H800 SXM": 8, "H800 PCIe": 8, "A800 SXM": 8, "A800": 8, "H800": 8}
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
        found, why = _fewer_links(matrix, fabric)
        findings += found
        causes += why
        notes += _described(matrix, fabric)
    if matrix.missing_rows:
        gpus = [row for row in matrix.missing_rows if row.startswith("GPU")]
        if gpus:
            notes.append(_("row for {rows} missing").format(rows=", ".join(gpus)))
        if len(gpus) < len(matrix.missing_rows):
            notes.append(_("rows of network cards missing: {n}").format(n=len(matrix.missing_rows) - len(gpus)))
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


def _fewer_links(matrix: TopoMatrix, fabric: Fabric) -> tuple[list[Finding], list[Cause]]:
    """Compare GPUs behind a switch, and pairs of a mesh, with each other: the few with fewer links are a fault."""
    per, findings = fabric.links_per_gpu, []
    if fabric.shape == "switch":
        most = max(per)
        low = [k for k, n in enumerate(per) if n < most]
        if low and len(low) <= len(per) / 2:
            text = _(
                "{gpu} has {n} NVLinks to the switch, the others {most}: expected loss {lost}/{most} of its bandwidth"
            )
            for k in low:
                words = text.format(gpu=matrix.gpus[k], n=per[k], most=most, lost=most - per[k])
                findings.append(Finding("fewer-links", words))
    else:
        links = matrix.nvlinks
        for a, b in short_pairs(links):
            text = _("{a} and {b} are joined by {n} NVLinks, the other pairs by {most}")
            words = text.format(a=matrix.gpus[a], b=matrix.gpus[b], n=int(links[a, b]), most=int(links.max()))
            findings.append(Finding("fewer-links", words))
    if not findings:
        return [], []
    cause = _("consistent with links that failed to train or were taken down after errors.")
    test = _("nvidia-smi nvlink -s and -e on that GPU; dmesg | grep -i xid; reset the GPU; reseat or replace.")
    return findings, [Cause("link-down", cause, _("GPUs and pairs of one board have equal numbers of links"), test)]


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
        "mesh": _("{g} GPUs joined pair by pair, {k} × NVLink a pair, no switch"),
        "every pair": _("{g} GPUs joined pair by pair, up to {k} × NVLink a pair, no switch"),
        "some": _("two of {g} GPUs joined by {k} NVLinks; the others meet over PCIe and the CPU"),
        "partial mesh": _("{g} GPUs in a partial mesh of up to {k} × NVLink a pair: not all-to-all"),
        "islands": _("{g} GPUs in separate NVLink islands of up to {k} × NVLink a pair"),
        "pair": _("two GPUs joined by {k} NVLinks"),
        "pcie": _("{g} GPUs without NVLink: they meet over PCIe and the CPU"),
        "single": _("one GPU: no links to other GPUs"),
    }
    shape = fabric.shape
    if shape == "pair" and g > 2:
        shape = "some"
    elif shape == "partial mesh" and int((links > 0).sum()) == g * (g - 1):
        shape = "every pair"
    notes = [texts[shape].format(g=g, k=most)]
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
            findings.append(Finding("link-down", text.format(gpu=g.gpu, links=listed(down), lost=lost, total=total)))
    usual_Bps = statistics.median_high(rates)  # one that was printed, never a mean of two
    slow = [g.gpu for g in status.gpus for _k, rate in g.links if rate and rate < 0.9 * usual_Bps]
    if slow:
        text = _("links slower than the median of {median}: on GPU {gpus}")
        words = text.format(median=say_rate(usual_Bps), gpus=listed(sorted(set(slow))))
        findings.append(Finding("link-slow", words))
    if same_hole:
        text = _(
            "the same links ({links}) are inactive on every GPU: by design of the board (no bridge there), not a fault of one GPU"
        )
        notes.append(text.format(links=listed([k for k in status.gpus[0].inactive if k >= 0])))
    if len(status.gpus) == 1:
        notes.append(
            _("only one GPU was pasted: compare with the others of the host (nvidia-smi nvlink -s without -i)")
        )
    text = _("{n} of {total} links active, {rate} each as printed, one direction")
    notes.append(text.format(n=sum(up), total=sum(counts), rate=say_rate(usual_Bps)))
    if findings:
        cause = _(
            "consistent with a link that failed to train or was taken down after errors; a ring slows to that GPU's bandwidth."
        )
        test = _("nvidia-smi nvlink -e (error counters); dmesg | grep -i xid; reset the GPU; reseat or replace.")
        causes.append(Cause("link-down", cause, _("other links of the same kind are active"), test))
    return findings, causes, notes, len(status.gpus) > 1 or not status.gpus[0].inactive or bool(designed)


def listed(numbers) -> str:
    """Return numbers as words: `3 and 5`.

    >>> listed([1, 3, 5])
    '1, 3 and 5'
    """
    words = [str(n) for n in numbers]
    return words[0] if len(words) == 1 else _("{first} and {last}").format(first=", ".join(words[:-1]), last=words[-1])
