"""Published footprints beside the model: what logs, checkpoints and papers print, and what `plan` computes."""

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from course_lib.base import tables
from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.base.units import GiB, MiB, TiB
from course_lib.plan.footprint import Plan, footprint, serving
from course_lib.plan.memory import kv_token_B
from course_lib.plan.transformer import model, params

_UNITS = {"MiB": MiB, "GiB": GiB, "TiB": TiB}
HOW = ("measured", "published")


@dataclass(frozen=True, slots=True)
class Compared:
    """One footprint: what was printed and what the model says, both in bytes, and where it was printed.

    `how` is "measured" for what a log or a file shows, "published" for what a paper computed by its own formula.
    """

    what: str
    how: str
    printed_B: float
    model_B: float
    source: str
    address: str
    note: str

    @property
    def error(self) -> float:
        """Relative error of the model."""
        return self.model_B / self.printed_B - 1


def _model_B(kind: str, name: str, arguments: dict) -> float:
    if kind == "weights":
        return serving(name, 0, 0, **arguments).weights_B
    if kind == "cache":
        tokens = arguments.pop("tokens")
        return tokens * kv_token_B(name, **arguments)
    if kind == "checkpoint":
        return params(model(name)).total * arguments["bytes_each"]
    stage = arguments.pop("stage", 0)
    found = footprint(name, Plan(**arguments))
    return float((found.states_B if kind == "states" else found.activations_B)[stage])


@functools.cache
def _rows() -> tuple[Compared, ...]:
    compared = []
    for row in tables.rows(Path(__file__).parent / "data" / "footprints.csv"):
        printed_B = float(row["published"]) * _UNITS[row["unit"]]
        model_B = _model_B(row["kind"], row["model"], json.loads(row["arguments"]))
        compared.append(
            Compared(row["what"], row["how"], printed_B, model_B, row["source"], row["address"], row["note"])
        )
    return tuple(compared)


def footprints(how: str | None = None) -> list[Compared]:
    """Return every footprint with the model's value beside it, or only those of one kind of evidence.

    >>> rows = footprints("measured")
    >>> len(rows) >= 6, max(abs(row.error) for row in rows) < 0.05
    (True, True)
    """
    if how is not None:
        how = one_of(_("kind of evidence"), how, HOW)
    return [row for row in _rows() if how in (None, row.how)]
