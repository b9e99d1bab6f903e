"""One of a thing is no plural: a count that may be one stands behind its noun ("chunks: 1"), or one has words of its own."""

import contextlib
import io
import re
from dataclasses import replace

import pytest

from course_lib.base.errors import CourseError
from course_lib.base.places import notes_folder
from course_lib.cli.main import main
from course_lib.comm.proof import prove
from course_lib.comm.schedule import Schedule
from course_lib.explorers.lesson10 import layers
from course_lib.explorers.lesson14 import designpicker
from course_lib.grading import report
from course_lib.grading.bank.ex06 import programs
from course_lib.machine import gallery
from course_lib.plan.orders import make
from course_lib.plan.pipeline import in_flight_formula, run
from course_lib.plan.review import review
from course_lib.plan.steptime import step
from course_lib.timing import system, tuning

PLURAL = re.compile(
    r"(?<![\w.,-])(?<!of )(?<!GPU )(?<!rank )(?<!× )1 (?!is |was |has |as |µs |ms |needs )(?:other |legal )?[a-z-]{3,}s\b"
)


ALONE = replace(system.load("dgx-h100"), hosts=1)
MARKED = {"state": "marked", "needs_a_look": False, "waits": False}


def refused(call, *arguments, **named):
    with pytest.raises(CourseError) as found:
        call(*arguments, **named)
    return str(found.value)


def sent(op, *transfers):
    return Schedule.from_transfers(op, 2, 1, [list(transfers)])


def judged(counts):
    return programs.accept_sums(lambda: {"all_reduces": 1}, (), 1)(counts)


def printed(*arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        assert main([*arguments]) == 0
    return out.getvalue()


def systems_listed():
    return printed("predict", "--list-systems")


def lines_skipped():
    (notes_folder() / "progress.jsonl").write_text("[]\n", encoding="utf-8")
    return printed("progress", "00").splitlines()[-1]


ONES = {
    "lists and stages": lambda: review(make("1f1b", 1, 1), 2, 1).reason,
    "stages": lambda: review(make("1f1b", 2, 1), 1, 1).reason,
    "another number of chunks": lambda: review(make("zero-bubble", 2, 1), 2, 1).reason,
    "an accepted order": lambda: review(make("1f1b", 2, 1), 2, 1).reason,
    "micro-batches of an interleaved order": lambda: refused(make, "interleaved", 4, 1, 2),
    "chunks of a long order": lambda: refused(make, "1f1b", 8, 10**9),
    "an operation that is missing": lambda: refused(run, ["F0 B0", "F0"]),
    "a stage that is not there": lambda: refused(in_flight_formula, "1f1b", 1, 1, 1, stage=1),
    "replicas": lambda: refused(step, "llama3-8b", "dgx-h100", gpus=1, pipeline=1, global_batch=1, micro_batch=2),
    "a proof": lambda: prove(sent("broadcast", (0, 1, 0, "copy"))).sentence,
    "chunks that do not divide": lambda: refused(Schedule.from_transfers, "reduce_scatter", 2, 1, []),
    "hosts of a system": lambda: refused(tuning.placed, ALONE, 100, None),
    "a host too many": lambda: refused(tuning.placed, ALONE, 2, 2),
    "copies": lambda: " ".join(designpicker._equation(designpicker.pick(**designpicker.START | {"units": 2}))),
    "hosts and spares": lambda: designpicker.pick(**designpicker.START | {"units": 1}).why,
    "tokens": lambda: layers._sentence(layers.read_layer(8, 1, "train")),
    "all-reduces": lambda: judged({"all_reduces": 2, "others": 0}),
    "another communication": lambda: judged({"all_reduces": 1, "others": 1}),
    "cards of a system": systems_listed,
    "lines of a damaged file": lines_skipped,
    "what machines print": gallery.page,
    "inputs": lambda: "\n".join(report.summary([MARKED], 0)),
}


@pytest.mark.parametrize("say", ONES.values(), ids=ONES)
def test_one_of_a_thing_is_no_plural(say):
    text = say()
    assert "1" in text
    assert PLURAL.findall(text) == [], text
