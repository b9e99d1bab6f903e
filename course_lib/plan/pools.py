"""What fits where: the memory of one GPU, of a box, of a rack, and a host's memory over its link.

Capacities are data-sheet bytes (80 GB is 80e9). A pool adds up capacity; it does not place data: software does.
"""

import functools
import math
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from course_lib.base import hardware, tables
from course_lib.base.errors import CourseError, finite, one_of
from course_lib.base.language import _
from course_lib.base.units import say_bytes
from course_lib.plan.footprint import Plan, footprint, variants
from course_lib.plan.transformer import Shape, model


@dataclass(frozen=True, slots=True)
class Pool:
    """Memory by name: bytes in all, over how many GPUs, and the rate (one direction) at which one GPU reads it."""

    name: str
    title: str
    capacity_B: float
    n_gpus: int
    bandwidth_Bps: float
    source: str

    @property
    def each_B(self) -> float:
        """Bytes for each GPU."""
        return self.capacity_B / self.n_gpus


@functools.cache
def _hosts() -> dict[str, Pool]:
    pools = {}
    for row in tables.rows(Path(__file__).parent / "data" / "pools.csv"):
        rate = hardware.value(row["link"], row["bandwidth_field"])
        source = row["source"] or _("assumed: {note}").format(note=row["note"])
        pools[row["name"]] = Pool(
            row["name"],
            row["title"],
            hardware.in_unit(row["capacity_GB"], "GB") * 1e9,
            int(row["n_gpus"]),
            rate,
            source,
        )
    return pools


def pools() -> list[str]:
    """Return the names of all pools: GPUs, systems, hosts' memory.

    >>> {"h100", "gb200-nvl72", "gh200-host"} <= set(pools())
    True
    """
    return [*hardware.items("gpu"), *hardware.items("system"), *_hosts()]


def pool(name: "str | Pool") -> Pool:
    """Return a pool: a GPU's HBM, all HBM of a system (another GPU's part is read over the scale-up link), a host's memory.

    >>> pool("dgx-h100").capacity_B / 1e9, pool("dgx-h100").bandwidth_Bps / 1e9
    (640.0, 450.0)
    >>> round(pool("gh200-host").bandwidth_Bps / 1e9)
    372
    """
    if isinstance(name, Pool):
        return name
    if name in _hosts():
        return _hosts()[name]
    gpus, systems = hardware.items("gpu"), hardware.items("system")
    try:
        found = hardware.find(name)
    except CourseError:
        found = None
    if found in gpus:
        gpu = hardware.gpu(found)
        return Pool(found, gpu.title, gpu.hbm_B, 1, gpu.hbm_Bps, hardware.source_of(found, "hbm_B").title)
    if found in systems:
        system = hardware.system(found)
        each = hardware.gpu(system.gpu).hbm_B
        rate = hardware.link(system.scale_up).line_Bps
        source = hardware.source_of(system.gpu, "hbm_B").title
        return Pool(found, system.title, each * system.gpus, system.gpus, rate, source)
    return pool(one_of(_("pool of memory"), name, pools()))


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether something fits, and the sentence that says by how much; `fixes` is what would make it fit."""

    fits: bool
    needed_B: float
    capacity_B: float
    fixes: tuple[str, ...]
    sentence: str

    @property
    def missing_B(self) -> float:
        """Bytes too many, 0 where it fits."""
        return max(0.0, self.needed_B - self.capacity_B)


def holds(needed_B: float, where: "str | Pool") -> Fit:
    """Say whether `needed_B` bytes fit in a pool that is filled evenly, and how many of the pool would hold them.

    >>> holds(405.9e9 * 2, "dgx-h100").sentence
    'It needs 811.8 GB and DGX H100 has 640 GB: 171.8 GB too many. 2 of them would hold it.'
    >>> holds(405.9e9 * 2, "gb200-nvl72").fits
    True
    """
    where = pool(where)
    needed_B = finite("needed_B", needed_B, at_least=0, unit="bytes")
    if needed_B <= where.capacity_B:
        left = where.capacity_B - needed_B
        text = _("It needs {needed} and {pool} has {capacity}: {left} are left.").format(
            needed=gb(needed_B), pool=where.title, capacity=gb(where.capacity_B), left=gb(left)
        )
        return Fit(True, needed_B, where.capacity_B, (), text)
    n = math.ceil(needed_B / where.capacity_B)
    fix = _("{n} of them would hold it").format(n=n)
    text = _("It needs {needed} and {pool} has {capacity}: {missing} too many. {fix}.").format(
        needed=gb(needed_B),
        pool=where.title,
        capacity=gb(where.capacity_B),
        missing=gb(needed_B - where.capacity_B),
        fix=fix,
    )
    return Fit(False, needed_B, where.capacity_B, (fix,), text)


def gb(size_B: float) -> str:
    """Return bytes in decimal units with up to four digits, as data sheets of memory write them.

    >>> gb(8.118e11), gb(1.3392e13), gb(5e5)
    ('811.8 GB', '13.39 TB', '0.5 MB')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size_B >= scale or unit == "MB":
            return f"{size_B / scale:.4g} {unit}"
    return say_bytes(size_B)


def fit(
    shape: "Shape | str", plan: Plan, where: "str | Pool", *, reserve_B: float = 0.0, host: "str | Pool | None" = None
) -> Fit:
    """Say whether every rank of a training plan fits in its GPU, and if not by how much and what would fix it.

    `where` is a GPU or a system (its GPUs are used); `reserve_B` stays free for context, buffers and gaps. `host` names a
    pool to which the optimizer state could go. Fixes are tried one by one, then together; each names what it would leave.

    >>> verdict = fit("llama3-8b", Plan(recompute="selective"), "h100")
    >>> verdict.fits, verdict.sentence.split(".")[0]
    (False, 'Stage 0 needs 173')
    """
    shape, where = model(shape), pool(where)
    reserve_B = finite("reserve_B", reserve_B, at_least=0, unit="bytes")
    capacity = where.each_B - reserve_B
    if capacity <= 0:
        raise CourseError(
            _("{reserve} are to stay free, and the GPU has {all}: nothing is left for the plan.").format(
                reserve=gb(reserve_B), all=gb(where.each_B)
            )
        )
    here = footprint(shape, plan)
    stage, needed = here.worst_stage, float(here.total_B.max())
    if needed <= capacity:
        text = _("Stage {s} needs the most, {needed} of {capacity}: {left} are left.").format(
            s=stage, needed=gb(needed), capacity=gb(capacity), left=gb(capacity - needed)
        )
        return Fit(True, needed, capacity, (), text)
    fixes, families = [], set()
    for name, other in variants(plan):
        total = _total(shape, other)
        changed = _changed(plan, other)
        if total is not None and total <= capacity and changed not in families:
            families.add(changed)
            fixes.append(_("{name} ({total})").format(name=name, total=gb(total)))
    if host is not None:
        host = pool(host)
        total = float((here.total_B - here.optimizer_B).max())
        state = float(here.optimizer_B.max())
        if total <= capacity and state <= host.each_B:
            seconds = 2 * state / host.bandwidth_Bps
            fixes.append(
                _("optimizer state in {host} ({total}; {state} there and back each step: {s:.2g} s)").format(
                    host=host.title, total=gb(total), state=gb(state), s=seconds
                )
            )
    if not fixes:
        fixes, least = _together(shape, plan, capacity)
    text = _("Stage {s} needs {needed} and the GPU has {capacity}: {missing} too many.").format(
        s=stage, needed=gb(needed), capacity=gb(capacity), missing=gb(needed - capacity)
    )
    if fixes:
        text += _(" What would fix it: {fixes}.").format(fixes=_("; ").join(fixes))
    else:
        text += _(" Even {names} together need {least}, {missing} too many: take a GPU with more memory.").format(
            names=_(" and ").join(least[0]), least=gb(least[1]), missing=gb(least[1] - capacity)
        )
    return Fit(False, needed, capacity, tuple(fixes), text)


def _total(shape: Shape, plan: Plan) -> float | None:
    """The fullest rank of a plan, None where the plan does not divide."""
    try:
        return float(np.max(footprint(shape, plan).total_B))
    except CourseError:
        return None


def _together(shape: Shape, plan: Plan, capacity: float) -> tuple[list[str], tuple[list[str], float]]:
    """Add the change that saves most, again and again, until it fits; else what was tried and the least it came to."""
    steps: list[tuple[frozenset, str]] = []
    best = float("inf")
    for _round in range(12):
        tried = [
            (total, place, name, other)
            for place, (name, other) in enumerate(variants(plan, shape))
            if (total := _total(shape, other)) is not None and total < best
        ]
        if not tried:
            break
        best, _place, name, other = min(tried)
        changed = _changed(plan, other)
        # a later number of the same kind takes the place of an earlier one
        steps = [step for step in steps if not step[0] <= changed] + [(changed, name)]
        plan = other
        if best <= capacity:
            form = _("{names} together ({total})") if len(steps) > 1 else _("{names} ({total})")
            fix = form.format(names=_(" and ").join(name for _fields, name in steps), total=gb(best))
            return [fix], ([name for _fields, name in steps], best)
    return [], ([name for _fields, name in steps], best)


def _changed(plan: Plan, other: Plan) -> frozenset[str]:
    return frozenset(f.name for f in fields(Plan) if getattr(plan, f.name) != getattr(other, f.name))
