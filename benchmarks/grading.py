"""Throughput of `interconnect grade` beside one `nbgrader autograde` run over the same class, on this machine, in one go.

    python benchmarks/grading.py [--hand-ins 200] [--nbgrader 60] [--jobs 2] [--exercise 00]

A class of honest hand-ins is made from the exercise's solutions, every third with a wrong answer. Both commands run from a
cold start and write their own gradebook; the marks have to be the same. nbgrader may get a part of the class only: what
is compared is seconds for each hand-in, its start included.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


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


def main() -> int:
    """Print both times, their ratio, and whether the marks agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hand-ins", type=int, default=200)
    parser.add_argument("--nbgrader", type=int, default=0, help="hand-ins that nbgrader gets (all)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--exercise", default="00")
    args = parser.parse_args()
    name = next(path.name for path in sorted((ROOT / "solutions").iterdir()) if path.name.startswith(args.exercise))
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        (course / "notebooks").mkdir()
        shutil.copy(ROOT / "nbgrader_config.py", course)
        shutil.copytree(ROOT / "solutions" / name, course / "solutions" / name)
        timed([sys.executable, "-m", "nbgrader", "generate_assignment", name, "--force"], course)
        make_class(course, name, args.hand_ins)
        ours = course / "ours"
        command = [sys.executable, "-m", "course_lib.cli.main", "grade", "grading/submitted", "--to", str(ours)]
        runner_s = timed([*command, "--jobs", str(args.jobs)], course)
        n = args.hand_ins
        m = min(args.nbgrader or n, n)
        for place in range(m, n):
            shutil.rmtree(course / "grading" / "submitted" / f"s{place:03d}")
        nbgrader_s = timed([sys.executable, "-m", "nbgrader", "autograde", name], course)
        theirs, mine = marks(course / "grading" / "gradebook.db", name), marks(ours / "gradebook.db", name)
        same = len(mine) == n and len(theirs) == m and all(mine[who] == score for who, score in theirs.items())
    print(f"{name}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"nbgrader autograde         {m:4} hand-ins {nbgrader_s:8.1f} s  {nbgrader_s / m:6.3f} s each")
    print(f"interconnect grade --jobs {args.jobs:<2}{n:3} hand-ins {runner_s:8.1f} s  {runner_s / n:6.3f} s each")
    print(f"throughput ratio {(nbgrader_s / m) / (runner_s / n):.2f}, same marks: {same}")
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
