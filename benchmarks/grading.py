"""`interconnect grade` beside one `nbgrader autograde` run over the same class of honest hand-ins, in one go.

A class is made from the exercise's solutions, every third with a wrong answer. Both commands run from a cold start and write their
own gradebook; the marks have to be the same. nbgrader may get a part of the class only: what is compared is seconds for each
hand-in, its start included.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT


def make_class(course: Path, name: str, n: int) -> None:
    """Write n hand-ins of exercise `name` under course/grading/submitted; every third has its first answer wrong."""
    solved = json.loads((ROOT / "solutions" / name / f"{name}.ipynb").read_text(encoding="utf-8"))
    for place in range(n):
        made = json.loads(json.dumps(solved))
        first = place % 3 == 2
        for cell in made["cells"]:
            source = "".join(cell["source"]).replace("### BEGIN SOLUTION\n", "").replace("### END SOLUTION", "")
            if first and cell["metadata"].get("nbgrader", {}).get("solution"):
                source, first = source.replace("return ", "return 2 * "), False
            cell["source"] = source
        target = course / "grading" / "submitted" / f"s{place:03d}" / name / f"{name}.ipynb"
        target.parent.mkdir(parents=True)
        target.write_text(json.dumps(made), encoding="utf-8")


def timed(command: list[str], cwd: Path) -> float:
    """Run a command to its end and return its seconds."""
    begun = time.perf_counter()
    env = os.environ | {"PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:4])} failed:\n{done.stderr[-2000:]}")
    return time.perf_counter() - begun


def marks(gradebook: Path, name: str) -> dict[str, float]:
    """Return the class's scores from a gradebook."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{gradebook}") as book:
        return {one.student.id: one.score for one in book.assignment_submissions(name)}


def measure(hand_ins: int = 60, to_nbgrader: int = 20, jobs: int = 2, exercise: str = "00") -> dict:
    """Return both times, how many hand-ins each got, and whether all marks agree."""
    name = next(path.name for path in sorted((ROOT / "solutions").iterdir()) if path.name.startswith(exercise))
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        (course / "notebooks").mkdir()
        shutil.copy(ROOT / "nbgrader_config.py", course)
        shutil.copytree(ROOT / "solutions" / name, course / "solutions" / name)
        timed([sys.executable, "-m", "nbgrader", "generate_assignment", name, "--force"], course)
        make_class(course, name, hand_ins)
        ours = course / "ours"
        command = [sys.executable, "-m", "course_lib.cli.main", "grade", "grading/submitted", "--to", str(ours)]
        runner_s = timed([*command, "--jobs", str(jobs)], course)
        for place in range(to_nbgrader, hand_ins):
            shutil.rmtree(course / "grading" / "submitted" / f"s{place:03d}")
        nbgrader_s = timed([sys.executable, "-m", "nbgrader", "autograde", name], course)
        theirs, mine = marks(course / "grading" / "gradebook.db", name), marks(ours / "gradebook.db", name)
        agree = sum(mine[who] == score for who, score in theirs.items())
    return {
        "exercise": name,
        "jobs": jobs,
        "nbgrader": {"hand_ins": len(theirs), "wall_s": nbgrader_s},
        "ours": {"hand_ins": len(mine), "wall_s": runner_s},
        "same_marks": agree,
    }
