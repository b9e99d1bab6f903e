"""Published training results, cleaned: which rows count, what a setting is, and which (model, system) pairs judge.

Rule. A footnote mark in a cell is cut off; "n/a" and nothing mean 1, or no FSDP. A cell with two values, "1 (2)", belongs
to two settings: the row is taken apart where its precision has two as well, else it is dropped, as are cells wholly in
brackets and rows without a precision. Rows of models that are no transformers of `plan.transformer` (state-space hybrids,
linear attention) and of routers that drop tokens are dropped. One row remains for each distinct setting, with the
median of its step times, for the same plan recurs across releases. A plan that does not divide evenly is dropped.
"""

import functools
import re
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from course_lib.base import tables
from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.plan.grid import Layout, data_of
from course_lib.plan.plans import check
from course_lib.plan.trainingnames import PRECISIONS, SYSTEMS, ZERO, shape_of, system_of
from course_lib.plan.transformer import Shape
from course_lib.timing.system import System

FOLDER = Path(__file__).parent / "data"
SHOWN = ("korthikanti", "megatron-readme")  # read where somebody repeats them: shown beside the model, never fitted
BLIND = ("nemo-24.07", "nemo-24.12", "titan-a100", "automodel")  # read when every constant stood: they only judge
PLAIN = ("mosaic", "titan", "ibm", "playbook", "titan-a100", "automodel")  # PyTorch itself; the others are Megatron's
JUDGES = 3  # one pair in so many judges


@dataclass(frozen=True, slots=True)
class Run:
    """One setting with the seconds of its step; `pair` is (model, system), `part` training, judging, shown or blind."""

    model: str
    on: str
    shape: Shape
    system: System
    layout: Layout
    global_batch: int
    micro_batch: int
    interleave: int
    seq: int
    precision: str
    recompute: str
    zero: int
    sequence: bool
    attention: str | None
    software: str
    step_s: float
    sources: tuple[str, ...]
    note: str

    @property
    def pair(self) -> tuple[str, str]:
        """Model and system, which judge or train together; a model's shapes with other heads are one."""
        return self.model.split("/")[0], self.on

    @property
    def part(self) -> str:
        """Where the run belongs, by a checksum of its pair: nobody chose. What was read later is blind."""
        if set(self.sources) <= set(BLIND):
            return "blind"
        if set(self.sources) <= set(SHOWN):
            return "shown"
        return "judging" if zlib.crc32("|".join(self.pair).encode()) % JUDGES == 0 else "training"


def two(cell: str) -> tuple[str, str] | None:
    """Return the two values of a cell, the same one twice if it has one, None if all of it is in brackets.

    >>> two("1 (2)"), two("597[^gpt-oss-note]"), two("(8)"), two("{1}")
    (('1', '2'), ('597', '597'), None, None)
    """
    plain = re.sub(r"\[\^[^]]*\]", "", cell).strip()
    if plain.startswith(("(", "{")):
        return None
    both = re.fullmatch(r"(.*?)\s*\((.*)\)", plain)
    return (both[1].strip(), both[2].strip()) if both else (plain, plain)


_SIZES = (
    "gpus",
    "seq",
    "global_batch",
    "micro_batch",
    "tensor",
    "pipeline",
    "context",
    "interleave",
    "expert",
    "fsdp",
    "precision",
    "tokens_per_s_per_gpu",
    "step_s",
)


def taken_apart(row: dict[str, str]) -> list[dict[str, str]]:
    """Return the settings of a printed row: one, two, or none where the cells do not say.

    >>> base = {name: "1" for name in _SIZES} | {"model": "LLAMA3_8B"}
    >>> [r["precision"] for r in taken_apart(base | {"precision": "FP8-CS (FP8-MX)", "tokens_per_s_per_gpu": "20 (10)"})]
    ['FP8-CS', 'FP8-MX']
    >>> taken_apart(base | {"tensor": "1 (2)", "precision": "FP8"}), taken_apart(base | {"precision": ""})
    ([], [])
    """
    cells = {name: two(row[name]) for name in _SIZES if name != "expert" or " x " not in row[name]}
    name = row["model"].lower()
    if not row["precision"].strip() or "tokendrop" in name or any(cell is None for cell in cells.values()):
        return []
    rows = [row | {key: cell[i] for key, cell in cells.items()} for i in (0, 1)]
    if rows[0] == rows[1]:
        return rows[:1]
    return rows if rows[0]["precision"] != rows[1]["precision"] else []


def _count(text: str) -> int:
    return int(text) if text and text.lower() not in ("n/a", "na") else 1


def _run(row: dict[str, str]) -> Run | str:
    """One setting as a Run, or the reason why it is dropped."""
    shape = shape_of(row["model"])
    if shape is None:
        return _("no plain transformer")
    if row["system"].lower() not in SYSTEMS:
        return _("system not described")
    gpus, seq, batch, micro = (_count(row[n]) for n in ("gpus", "seq", "global_batch", "micro_batch"))
    t, p, c, v = (_count(row[n]) for n in ("tensor", "pipeline", "context", "interleave"))
    experts = row["expert"].split(" x ")
    e, cut = (_count(experts[0]) if shape.n_experts else 1), int(experts[1]) if len(experts) > 1 else 1
    fsdp = row["fsdp"].lower()
    zero = ZERO.get(fsdp, 1 if fsdp in ("", "0", "n/a") else 3)
    sequence = t > 1 and not (
        row["source"] in ("bigscience", "megatron-readme")
        or "no sequence slicing" in row["note"]
        or (row["source"] == "korthikanti" and row["recompute"] == "full")
    )
    try:
        layout = Layout(t, p, data_of(gpus, t, p, c), e, c, cut)
        check(shape, layout, micro_batch=micro, global_batch=batch, interleave=v, seq=seq, sequence=sequence)
    except CourseError:
        return _("does not divide evenly")
    tokens = batch * seq
    step_s = float(row["step_s"]) if row["step_s"] else tokens / (float(row["tokens_per_s_per_gpu"]) * gpus)
    recompute = row["recompute"] or "auto"  # not printed: as memory asks for
    attention = row["attention"] or None
    precision = PRECISIONS[row["precision"].lower()]
    name = row["model"] if row["model"].startswith("gpt ") else shape.name
    on = SYSTEMS[row["system"].lower()][0] if not SYSTEMS[row["system"].lower()][1] else row["system"].lower()
    return Run(
        name,
        on,
        shape,
        system_of(row["system"].lower()),
        layout,
        batch,
        micro,
        v,
        seq,
        precision,
        recompute,
        zero,
        sequence,
        attention,
        "pytorch" if row["source"] in PLAIN else "megatron",
        step_s,
        (row["source"],),
        row["note"],
    )


@functools.cache
def _table(name: str = "training.csv") -> tuple[tuple[Run, ...], dict[str, int]]:
    settings: dict[tuple, list[Run]] = {}
    dropped: Counter[str] = Counter()
    for row in tables.rows(FOLDER / name):
        apart = taken_apart(row)
        if not apart:
            dropped[_("two values, or no precision")] += 1
        for one in apart:
            run = _run(one)
            if isinstance(run, str):
                dropped[run] += 1
            else:
                key = (run.model, row["system"].lower().removeprefix("dgx-"), run.layout, run.global_batch)
                key += (
                    run.micro_batch,
                    run.interleave,
                    run.seq,
                    run.precision,
                    run.recompute,
                    run.zero,
                    run.sequence,
                )
                settings.setdefault(key, []).append(run)
    runs = [
        replace(
            same[0],
            step_s=median(r.step_s for r in same),
            sources=tuple(dict.fromkeys(s for r in same for s in r.sources)),
        )
        for same in settings.values()
    ]
    return tuple(runs), dict(dropped)


def runs(part: str | None = None) -> tuple[Run, ...]:
    """Return the cleaned runs, of one part ("training", "judging", "shown") or all three, or those read later ("blind").

    >>> len(runs()) > 200, {r.part for r in runs()} == {"training", "judging", "shown"}
    (True, True)
    """
    if part == "blind":
        return _table("blind.csv")[0]
    return tuple(r for r in _table()[0] if part is None or r.part == part)


def dropped() -> dict[str, int]:
    """Return how many printed settings were dropped, by reason.

    >>> dropped()["no plain transformer"] > 10
    True
    """
    return dict(_table()[1])


def pairs(chosen: Iterable[Run]) -> list[tuple[str, str]]:
    """Return the distinct (model, system) pairs of runs.

    >>> set(pairs(runs("judging"))) & set(pairs(runs("training")))
    set()
    """
    return sorted({r.pair for r in chosen})


@functools.cache
def sources() -> dict[str, tuple[str, str]]:
    """Return title and address of every source by its key.

    >>> sources()["bigscience"][1].startswith("https://")
    True
    """
    return {row["source"]: (row["title"], row["address"]) for row in tables.rows(FOLDER / "training_sources.csv")}
