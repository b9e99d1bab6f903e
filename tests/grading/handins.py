"""Builds what students hand in: a filled exercise, and the ways in which it gets damaged."""

import copy
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]

RIGHT = {
    "00-q1": "def payload_GBps(transfers_GTps, lanes, payload_bits, coded_bits):\n"
    "    return transfers_GTps * lanes * payload_bits / coded_bits / 8",
    "00-q2": 'repaired = {"A": 1.8, "B": 450, "C": 64, "D": 50.0, "E": 142.2}',
    "00-q3": 'direction = {1: "one", 2: "both", 3: "one", 4: "one", 5: "both", 6: "both", 7: "both", 8: "one"}',
    "00-q4": 'ben_GBps = ben["moved_GiB"] * 1.0737418 / ben["time_s"]',
}
# Three misconceptions, one each in q1, q2 (one of five entries) and q4; and a right q3.
MISTAKEN = RIGHT | {
    "00-q1": RIGHT["00-q1"].removesuffix(" / 8"),
    "00-q2": RIGHT["00-q2"].replace("1.8", "1800"),
    "00-q4": 'ben_GBps = ben["moved_GiB"] / ben["time_s"]',
}


def release(exercise="00_start_here"):
    return json.loads((ROOT / "exercises" / exercise / f"{exercise}.ipynb").read_text(encoding="utf-8"))


def cell(notebook, grade_id):
    return next(c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)


def filled(answers, learner=""):
    notebook = release()
    for name, source in answers.items():
        cell(notebook, f"{name}-answer")["source"] = source
    for one in notebook["cells"]:
        if one["cell_type"] == "code" and "LEARNER" in "".join(one["source"]):
            one["source"] = "".join(one["source"]).replace('LEARNER = ""', f"LEARNER = {learner!r}")
    return notebook


def without(notebook, *grade_ids):
    notebook = copy.deepcopy(notebook)
    for name in grade_ids:
        notebook["cells"].remove(cell(notebook, name))
    return notebook


def copied(notebook, grade_id, source=None):
    """Return the notebook with a second cell of the same id right after the first, as copy and paste makes it."""
    notebook = copy.deepcopy(notebook)
    twin = copy.deepcopy(cell(notebook, grade_id))
    twin["id"] += "-twin"
    if source is not None:
        twin["source"] = source
    notebook["cells"].insert(notebook["cells"].index(cell(notebook, grade_id)) + 1, twin)
    return notebook


def write(path, notebook):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = notebook if isinstance(notebook, str) else json.dumps(notebook, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    return path
