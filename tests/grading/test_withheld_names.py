"""A question may withhold one name of a module that others need: the notebook refuses the import, a marked hand-in cannot use it."""

import subprocess
import sys

import pytest

from course_lib.grading import bank, library, probe

TRY = """
from course_lib.comm import meaning, ring
from course_lib.comm.meaning import {name}, buffers_B
from course_lib.comm.proof import prove
assert prove(ring.all_reduce(4)).ok and buffers_B("all_to_all", 1.0, 2) == 2.0
for use in ({name}, meaning.{name}):
    try:
        use("all_reduce", 1e9, 8)
    except Exception as error:
        assert "you write it yourself" in str(error), error
    else:
        raise SystemExit("it could be used")
from course_lib.grading.inside.withheld import touched
assert touched == {{"course_lib.comm.meaning.{name}"}}
"""


@pytest.mark.parametrize("name", ["least_sent_B", "bus_factor"])
def test_a_marked_hand_in_cannot_use_a_withheld_name_and_can_use_the_rest_of_its_module(tmp_path, name):
    library.build(tmp_path, [f"course_lib.comm.meaning.{name}"])
    run = [sys.executable, "-P", "-c", TRY.format(name=name)]
    done = subprocess.run(run, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.mark.parametrize("question", ["04.q4", "04.q5"])
@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("from course_lib.comm.meaning import least_sent_B", True),
        ("from course_lib.comm.meaning import bus_factor as f", True),
        ("from course_lib.comm import meaning", True),
        ("import course_lib.comm.meaning as m", True),
        ("from course_lib.comm.meaning import buffers_B", False),
        ("from course_lib.comm import schedule", False),
        ("import course_lib.comm", False),
    ],
)
def test_the_notebook_refuses_the_import_of_a_withheld_name_or_of_all_its_module(question, line, refused):
    q = bank.question(question)
    said = probe.objections([f"def {q.answer}():\n    {line}"], q.answer, q.withholds)
    assert bool(said) == refused
    assert not refused or "Line 2 imports" in said
