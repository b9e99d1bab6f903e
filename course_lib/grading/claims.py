"""What articles claim and what is true: the ledger that docs/claims.md is written from.

`python -m course_lib.grading.claims` writes docs/claims.md; every number in it comes from the hardware table.
"""

import tomllib
from functools import cache
from pathlib import Path

from course_lib.base.errors import one_of
from course_lib.base.hardware import value
from course_lib.base.sources import source
from course_lib.base.units import say_bytes, say_rate, say_time

FILE = Path(__file__).with_name("claims.toml")
REPOSITORY = Path(__file__).parents[2]

SAY = {
    "rate": say_rate,
    "bytes": say_bytes,
    "time": say_time,
    "count": lambda number: f"{number:,.0f}",
    "times": lambda number: f"{number:.1f} times",
    "days": lambda number: f"{number / 86400:.0f}",
}


@cache
def ledger() -> dict:
    """Return the claims, systems and habits as the file has them.

    >>> sorted(ledger())
    ['claims', 'practice', 'systems']
    """
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def _quantity(text: str) -> float:
    item, _dot, field = text.strip().partition(".")
    return float(text) if text.strip().replace(".", "", 1).isdigit() else float(value(item, field))


def number(formula: str) -> str:
    """Return what a formula of the ledger says in words.

    `formula` is "item.field", a quotient or a product of two such, then ":" and one of the names in SAY.
    Raises CourseError for unknown items, fields and ways to say it.

    >>> number("nvlink5.line_Bps * 2:rate")
    '1.8 TB/s'
    >>> number("h100.hbm_Bps / nvlink4.line_Bps:times")
    '7.4 times'
    """
    quantity, _colon, how = formula.rpartition(":")
    how = one_of("way to say a number", how, SAY)
    if "/" in quantity:
        above, below = quantity.split("/")
        return SAY[how](_quantity(above) / _quantity(below))
    if "*" in quantity:
        left, right = quantity.split("*")
        return SAY[how](_quantity(left) * _quantity(right))
    return SAY[how](_quantity(quantity))


def truth(row: dict) -> str:
    """Return the corrected statement of a row with its numbers filled in.

    >>> truth({"truth": "{rate} each way.", "numbers": {"rate": "nvlink4.line_Bps:rate"}})
    '450 GB/s each way.'
    """
    return row["truth"].format(**{name: number(formula) for name, formula in row.get("numbers", {}).items()})


def _notebook(lesson: str) -> str:
    files = sorted((REPOSITORY / "notebooks").glob(f"{lesson}_*.ipynb"))
    return f"[{lesson}](../notebooks/{files[0].name})" if files else lesson


def _where(row: dict) -> str:
    return ", ".join(map(_notebook, row["lessons"]))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page() -> str:
    """Return docs/claims.md.

    >>> page().startswith("# Claims")
    True
    """
    from course_lib.grading import bank

    titles = {q.id: q.title for q in bank.all_questions()}
    asked = lambda row: ", ".join(f"{key} ({titles[key]})" if key in titles else key for key in row["questions"])  # noqa: E731
    cited = lambda row: ", ".join(f"[{key}](#{key})" for key in row.get("sources", ()))  # noqa: E731
    lines = [
        "# Claims, and what is true",
        "",
        "Popular articles about NVLink name these systems and make these claims. Each is taught in a lesson, corrected with a source,",
        "and asked for in an exercise. `python -m course_lib.grading.claims` writes this page; its numbers come from the hardware table.",
        "",
        "## Claims",
        "",
        "| claim | verdict | what is true | source | lesson | question |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {_cell(r['claim'])} | {r['verdict']} | {_cell(truth(r))} | {cited(r)} | {_where(r)} | {asked(r)} |"
        for r in ledger()["claims"]
    ]
    lines += ["", "## Systems", "", "| system | what a learner does with it | one fact | source | lesson | question |"]
    lines += ["|---|---|---|---|---|---|"]
    lines += [
        f"| {_cell(r['name'])} | {_cell(r['does'])} | {_cell(truth(r))} | {cited(r)} | {_where(r)} | {asked(r)} |"
        for r in ledger()["systems"]
    ]
    lines += [
        "",
        "## How a team works",
        "",
        "| advice | how the course makes it concrete | lesson | question |",
        "|---|---|---|---|",
    ]
    lines += [f"| {_cell(r['claim'])} | {_cell(truth(r))} | {_where(r)} | {asked(r)} |" for r in ledger()["practice"]]
    used = dict.fromkeys(key for part in ("claims", "systems") for r in ledger()[part] for key in r["sources"])
    lines += ["", "## Sources", ""]
    for key in sorted(used):
        one = source(key)
        lines.append(f'- <a id="{key}"></a>{key}: {one}, <{one.address}>')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (REPOSITORY / "docs" / "claims.md").write_text(page(), encoding="utf-8")
