"""mlsysim in an environment of its own: a process that answers questions, and a model's shape as it wants it."""

import json
import subprocess
from pathlib import Path

from course_lib.plan.transformer import params


class Theirs:
    """mlsysim in its own environment, imported once; `.ask(kind, question)` returns its answer."""

    def __init__(self, python: str):
        command = [python, str(Path(__file__).with_name("theirs.py"))]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, text=True, encoding="utf-8", **pipes)

    def ask(self, kind: str, question) -> dict:
        """Put a question."""
        self._process.stdin.write(json.dumps({"kind": kind, "ask": question}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("mlsysim's process ended; its error stands above.")
        return json.loads(line)

    def end(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait(120)


def shape_of(shape) -> dict:
    """Return the parameters and sizes of a model."""
    found = {"parameters": float(params(shape).total), "layers": shape.n_layers, "hidden": shape.hidden}
    return found | {"heads": shape.n_heads, "kv_heads": shape.n_kv_heads, "vocab": shape.vocab}
