"""Published serving runs beside the model, and a published comparison of a rack with boxes at equal speed for the reader."""

import functools
from dataclasses import dataclass

import numpy as np

from course_lib.base import tables
from course_lib.plan.expertruns import DATA
from course_lib.plan.served import Layout
from course_lib.plan.serving import decode, prefill


@dataclass(frozen=True, slots=True)
class Compared:
    """One run: tokens per second of a GPU measured, the model with nothing hidden and with all that can be hidden, and its source."""

    phase: str
    model: str
    system: str
    n_gpus: int
    per_gpu: int
    measured_per_s: float
    model_per_s: float
    overlapped_per_s: float
    source: str
    note: str

    @property
    def residual(self) -> float:
        """ln(predicted / measured) of the rate, nothing hidden."""
        return float(np.log(self.model_per_s / self.measured_per_s))


@functools.cache
def served() -> tuple[Compared, ...]:
    """Return the published runs; nothing is fitted to them.

    >>> found = served()
    >>> len(found) >= 5, max(abs(r.residual) for r in found if r.system == "dgx-h100") < 0.1
    (True, True)
    """
    found = []
    for r in tables.rows(DATA / "served.csv"):
        n, per, each = int(r["n_gpus"]), int(r["per_gpu"]), int(r["tokens_each"])
        layout = Layout(expert=n, weight_B=float(r["weight_B"]), cache_element_B=float(r["cache_element_B"]))
        if r["phase"] == "decode":
            step = decode(r["model"], r["system"], layout, n * per, each)
        else:
            step = prefill(r["model"], r["system"], layout, each, n * per / each)
        found.append(
            Compared(
                phase=r["phase"],
                model=r["model"],
                system=r["system"],
                n_gpus=n,
                per_gpu=per,
                measured_per_s=float(r["tokens_per_s_per_gpu"]),
                model_per_s=float(step.tokens_per_s_per_gpu),
                overlapped_per_s=float(step.tokens / step.overlapped_s / n),
                source=r["source"],
                note=r["note"],
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class EqualSpeed:
    """Tokens per second of a GPU at equal speed for the reader (tokens per second of one request), arrays (n,)."""

    reader_per_s: np.ndarray
    rack_per_s: np.ndarray
    boxes_per_s: np.ndarray
    source: str

    @property
    def ratio(self) -> np.ndarray:
        """Rack over boxes."""
        return self.rack_per_s / self.boxes_per_s


def equal_speed() -> EqualSpeed:
    """Return the published comparison of a GB200 rack with B200 boxes.

    >>> seen = equal_speed()
    >>> round(float(seen.ratio.max()), 1), bool((seen.ratio[-2:] < 1).all())
    (4.4, True)
    """
    rows = tables.rows(DATA / "equal_speed.csv")
    columns = ("reader_per_s", "rack_per_s_per_gpu", "boxes_per_s_per_gpu")
    return EqualSpeed(*(np.array([float(r[c]) for r in rows]) for c in columns), rows[0]["source"])
