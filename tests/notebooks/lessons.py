"""The lessons as data for the tests: where they are, their cells, and the one rule for their minutes."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTIONS = sorted((ROOT / "solutions").glob("*/*.ipynb"))
EXERCISES = sorted((ROOT / "exercises").glob("*/*.ipynb"))


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def source(cell: dict) -> str:
    return "".join(cell["source"])


def tags(cell: dict) -> list[str]:
    return cell.get("metadata", {}).get("tags", [])


def minutes(cells: list[dict]) -> float:
    """Words / 180, 20 s a code cell, 3 min an explorer: the rule of the course outline."""
    words = sum(len(re.findall(r"[\w'’.-]+", source(c))) for c in cells if c["cell_type"] == "markdown")
    code = [c for c in cells if c["cell_type"] == "code"]
    explorers = sum("explorer" in tags(c) for c in code)
    return words / 180 + len(code) * 20 / 60 + explorers * 3
