"""What files of one machine show together: an inventory, its GPU, its fabric, the rate between two GPUs."""

from dataclasses import replace

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.fabric.rates import pcie_Bps
from course_lib.machine.fabricof import Fabric, fabric
from course_lib.machine.gpunames import link_Bps as rate_of
from course_lib.machine.gpunames import pcie_generation
from course_lib.machine.recognise import Reading
from course_lib.machine.say import word
from course_lib.machine.systems import candidates
from course_lib.timing.system import load

MOST_SAID = 8


def inventory(readings: list[Reading]):
    """Return what was seen, what to paste instead, what was damaged and which words are unknown, as sentences."""
    saw, paste, damaged, unknown = [], [], [], []
    for reading in readings:
        head = f"{reading.name}: " if reading.name else ""
        if reading.refused is not None:
            saw.append(head + reading.refused.saw)
            paste.append(reading.refused.paste)
        if reading.kinds:
            saw.append(head + ", ".join(word(kind) for kind in reading.kinds))
        if reading.permission and reading.refused is None:
            saw.append(head + _("a table of peer permission: OK means permitted, not fast"))
        for record in (reading.topo, reading.nccl, reading.nvbandwidth, reading.p2p, reading.nvlink):
            if record is None:
                continue
            for damage in record.damaged[:MOST_SAID]:
                where = _("line {n}: ").format(n=damage.line) if damage.line else ""
                damaged.append(head + where + damage.reason)
            count = getattr(record, "n_damaged", len(record.damaged))
            if count > MOST_SAID:
                damaged.append(head + _("{n} damaged places in all").format(n=count))
            unknown += record.unknown
    return saw, paste, damaged, unknown


def one_gpu(readings: list[Reading]) -> str | None:
    """Return the GPU that the files name, None where they name none or several."""
    seen = []
    for reading in readings:
        if reading.nccl is not None:
            seen += [d.gpu for job in reading.nccl.jobs for d in job.devices]
        for record in (reading.p2p, reading.nvbandwidth):
            seen += list(record.gpus) if record is not None else []
        seen += [g.model for g in reading.nvlink.gpus] if reading.nvlink is not None else []
    known = {gpu for gpu in seen if gpu}
    return known.pop() if len(known) == 1 else None


def fabric_shown(topo, gpu: str | None, notes: list[str]) -> Fabric | None:
    """Return the fabric behind a matrix; a note says why there is none."""
    if topo is None or not topo.gpus:
        return None
    try:
        return fabric(topo, gpu)
    except CourseError as error:
        notes.append(str(error))
        return None


def gpus_named(readings: list[Reading]) -> int:
    """Return how many GPUs the tests between GPUs name."""
    made = [m for r in readings if r.p2p is not None for m in r.p2p.matrices]
    made += [m for r in readings if r.nvbandwidth is not None for m in r.nvbandwidth.matrices if m.row_role == "GPU"]
    return max((len(m.columns) for m in made), default=0)


def slot_Bps(gpu: str | None) -> float | None:
    """Return the line rate of the slot a GPU is made for, one direction, where it has one."""
    generation = pcie_generation(gpu)
    return None if generation is None else pcie_Bps(generation)


def pair_Bps(topo, made: Fabric | None, place, gpu: str | None, n_gpus: int) -> float | None:
    """Return the raw rate between two GPUs, one direction, where it is the same for all pairs and known."""
    if made is not None and made.link_Bps and made.shape in ("switch", "mesh", "pair"):
        links = topo.nvlinks
        return float(links.max()) * made.link_Bps
    if place is None and made is None and gpu is not None and rate_of(gpu) and n_gpus == 8:
        fits = {load(n).scale_up.bandwidth_Bps for n in candidates(gpu, 8, None) if load(n).scale_up.kind == "switch"}
        return fits.pop() if len(fits) == 1 else None
    if place is None or place.scale_up.kind not in ("switch", "mesh"):
        return None
    up = place.scale_up
    if up.kind == "mesh" and up.family == "nvlink-cube":
        return None
    return up.bandwidth_Bps if up.kind == "switch" else up.bandwidth_Bps / max(1, place.gpus_per_host - 1)


def one_log(logs):
    """Return several logs as one."""
    if not logs:
        return None
    first = logs[0]
    for other in logs[1:]:
        first = replace(
            first,
            jobs=first.jobs + other.jobs,
            facts=first.facts + other.facts,
            damaged=first.damaged + other.damaged,
            n_damaged=first.n_damaged + other.n_damaged,
            n_rows=first.n_rows + other.n_rows,
        )
    return first


def half_there(readings: list[Reading]) -> bool:
    """Whether something the verdict rests on is only half there."""
    return any(r.topo is not None and not r.topo.complete for r in readings)
