"""Published runs of expert exchanges beside the model: dispatch and combine times, rates, and which rows the fit saw."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from course_lib.base import tables
from course_lib.plan import experts
from course_lib.plan.transformer import Shape, model

DATA = Path(__file__).parent / "data"
FITTED_RANKS = (16, 64, 256)  # of the runs across hosts


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows were published."""

    name: str
    title: str
    address: str
    note: str


@dataclass(frozen=True, slots=True)
class Run:
    """One measured setting: seconds of dispatch and combine for `tokens` on each rank."""

    way: str
    system: str
    n_ranks: int
    n_hosts: int
    tokens: int
    n_experts: int
    n_active: int
    hidden: int
    sms: int
    dispatch_s: float
    combine_s: float
    source: str

    @property
    def part(self) -> str:
        """ "fitted" if the constants saw it, else "judging"."""
        if self.system == "dgx-b200":
            return "fitted" if self.n_experts == 256 else "judging"
        return "fitted" if self.system == "hgx-h800" and self.n_ranks in FITTED_RANKS else "judging"

    @property
    def shape(self) -> Shape:
        """The model's shape with this run's experts."""
        return shaped(self.n_experts, self.n_active, self.hidden)


@functools.cache
def shaped(n_experts: int, n_active: int, hidden: int) -> Shape:
    """Return a shape with these experts; what is not exchanged is DeepSeek-V3's.

    >>> shaped(384, 8, 7168).n_experts
    384
    """
    from dataclasses import replace

    return replace(model("deepseek-v3"), n_experts=n_experts, n_active=n_active, hidden=hidden)


@functools.cache
def sources() -> dict[str, Source]:
    """Return the sources of measured exchanges and of served models by their short names.

    >>> sources()["deepep-v1"].address.startswith("https://")
    True
    """
    return {
        r["source"]: Source(r["source"], r["title"], r["address"], r["note"])
        for r in tables.rows(DATA / "expert_sources.csv")
    }


@functools.cache
def runs() -> tuple[Run, ...]:
    """Return every measured exchange.

    >>> len(runs()) > 500, {r.way for r in runs()} == {"low-latency", "throughput"}
    (True, True)
    """
    numbers = ("n_ranks", "n_hosts", "tokens", "n_experts", "n_active", "hidden")
    return tuple(
        Run(
            way=r["way"],
            system=r["system"],
            sms=int(r["sms"] or 0),
            dispatch_s=float(r["dispatch_us"]) * 1e-6,
            combine_s=float(r["combine_us"]) * 1e-6,
            source=r["source"],
            **{name: int(r[name]) for name in numbers},
        )
        for r in tables.rows(DATA / "expert_runs.csv")
    )


@dataclass(frozen=True, slots=True)
class Compared:
    """Runs of one kind beside the model, arrays (n,): seconds measured and predicted of a phase, and the library's all-to-all."""

    title: str
    phase: str
    part: str
    way: str
    n_ranks: np.ndarray
    tokens: np.ndarray
    measured_s: np.ndarray
    model_s: np.ndarray
    library_s: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """ln(predicted / measured)."""
        return np.log(self.model_s / self.measured_s)


def compare(chosen: Sequence[Run], phase: str, title: str = "") -> Compared:
    """Return runs of one way and part beside the model.

    >>> some = [r for r in runs() if r.system == "dgx-b300" and r.way == "low-latency"]
    >>> bool(np.median(np.abs(compare(some, "dispatch").residual)) < 0.1)
    True
    """
    measured, modelled, library = [], [], []
    for r in chosen:
        way = "throughput-v1" if r.way == "throughput" else r.way
        more = {"shape": r.shape, "n_hosts": r.n_hosts}
        measured.append(getattr(r, f"{phase}_s"))
        modelled.append(
            experts.exchange(r.tokens, r.system, r.n_ranks, phase, way=way, sms=max(r.sms, 1), **more).time_s
        )
        library.append(experts.exchange(r.tokens, r.system, r.n_ranks, phase, way="library", **more).time_s)
    return Compared(
        title=title,
        phase=phase,
        part=chosen[0].part,
        way=chosen[0].way,
        n_ranks=np.array([r.n_ranks for r in chosen]),
        tokens=np.array([r.tokens for r in chosen]),
        measured_s=np.array(measured),
        model_s=np.array(modelled, float),
        library_s=np.array(library, float),
    )


@dataclass(frozen=True, slots=True)
class Rate:
    """A published logical rate (bytes/s, copies that stay at home counted) beside the model's."""

    system: str
    n_ranks: int
    sms: int
    link: str
    phase: str
    measured_Bps: float
    model_Bps: float
    source: str

    @property
    def residual(self) -> float:
        """ln(predicted time / measured time)."""
        return float(np.log(self.measured_Bps / self.model_Bps))


def rates() -> list[Rate]:
    """Return DeepEP's published rates beside the model's, one entry for each phase.

    >>> len(rates())
    12
    """
    found = []
    for r in tables.rows(DATA / "expert_rates.csv"):
        shape, n = shaped(int(r["n_experts"]), int(r["n_active"]), int(r["hidden"])), int(r["n_ranks"])
        groups = n if r["link"] == "scale-up" else int(r["n_hosts"])
        copies = float(experts.visits(shape.n_experts, shape.n_active, groups))
        for phase in experts.PHASES:
            moved_B = int(r["tokens"]) * copies * experts.token_B(shape.hidden, phase)
            time_s = experts.exchange(
                int(r["tokens"]), r["system"], n, phase, shape=shape, way="throughput", sms=int(r["sms"])
            ).time_s
            found.append(
                Rate(
                    r["system"],
                    n,
                    int(r["sms"]),
                    r["link"],
                    phase,
                    float(r[f"{phase}_GBps"]) * 1e9,
                    moved_B / time_s,
                    r["source"],
                )
            )
    return found
