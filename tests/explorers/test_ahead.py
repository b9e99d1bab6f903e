"""What is made in the background: no explorer waits for it, and none fails where there are no threads."""

import subprocess
import sys

import pytest

from course_lib.explorers import ahead, lesson09
from course_lib.explorers.lesson05 import contests


@pytest.mark.parametrize("prepare", [contests.price_ahead, lesson09.train_ahead])
def test_a_page_without_threads_makes_what_is_chosen_when_it_is_chosen(monkeypatch, prepare):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ahead.Thread, "start", refuse)
    assert prepare.__wrapped__() is None


def test_an_explorer_is_there_before_the_background_is_done(monkeypatch):
    waits = ahead.Thread(target=print)
    monkeypatch.setattr(contests, "price_ahead", lambda: waits)  # never started: nothing may join it
    contests.contest_once.cache_clear()
    shown = contests.ring_tree_or_switch()
    assert contests.contest_once.cache_info().misses == 1
    shown.set(system="mi300x")
    assert shown.message == ""


def test_python_ends_between_two_steps_and_not_inside_one():
    code = """
import time
from course_lib.explorers.ahead import in_background

def steps():
    for number in range(1000):
        print("begun", number, flush=True)
        time.sleep(0.2)
        print("ended", number, flush=True)
        yield

in_background(steps())
time.sleep(0.3)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")
    said = run.stdout.split("\n")[:-1]
    assert said[-1].startswith("ended")
    assert len(said) < 200
