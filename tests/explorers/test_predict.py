"""Predictions are read with their unit, kept once, survive a restart, and are compared in a sentence."""

import json

import pytest

from course_lib.base.errors import CourseError
from course_lib.base.places import notes_folder
from course_lib.explorers import answers
from course_lib.explorers.predict import compare, predict


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("40", "µs", 40e-6),
        ("40 us", "ms", 40e-6),
        ("0.04 ms", "µs", 40e-6),
        ("400 Gb/s", "GB/s", 50e9),
        ("50", "GB/s", 50e9),
        ("900 GB/s both directions", "GB/s", 450e9),
        ("64 MiB", "MB", 2**26),
        ("3.3 ×", "×", 3.3),
        ("3.3x", "×", 3.3),
        ("4 times", "×", 4),
        ("20 percent", "%", 20),
        ("8 gpus", "GPUs", 8),
        ("1 GPU", "GPUs", 1),
        ("1,024", "GPUs", 1024),
    ],
)
def test_a_guess_is_read_in_its_unit(text, unit, value):
    assert answers.read(text, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "unit"),
    [("", "µs"), ("fast", "µs"), ("40 GB", "µs"), ("nan", ""), ("40 apples", "GPUs"), ("-3", "µs"), ("1e999", "")],
)
def test_what_is_no_quantity_of_that_kind_is_refused_in_words(text, unit):
    with pytest.raises(CourseError):
        answers.read(text, unit)


def test_the_first_answer_is_kept_and_meets_the_model_after_a_restart():
    box = predict("01.p1", "How long?", unit="µs")
    box.commit("nonsense")
    assert box.value is None
    assert box.message
    box.commit("40")
    box.commit("12")
    assert box.value == pytest.approx(40e-6)
    assert compare("01.p1", 12e-6) == "You said 40 µs; the model says 12 µs: 3.3 × too much."
    again = predict("01.p1", "How long?", unit="µs")
    assert again.value == pytest.approx(40e-6)
    assert again._box.disabled
    lines = (notes_folder() / answers.FILE).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["01.p1"]


def test_nothing_typed_is_no_error():
    assert compare("01.p9", 12e-6, "µs") == "There is no prediction of yours yet; the model says 12 µs."


def test_nothing_is_kept_while_grading(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    box = predict("01.p1", "How long?", unit="µs")
    box.commit("40")
    assert not (notes_folder() / answers.FILE).exists()
    assert "no prediction" in compare("01.p1", 1e-6, "µs")


def test_spoiled_notes_are_passed_over():
    (notes_folder() / answers.FILE).write_text(
        'garbage\n{"id": "01.p1"}\n[1]\n{"id": "01.p1", "value": 2.0, "unit": "×"}\n', encoding="utf-8"
    )
    assert compare("01.p1", 2.0) == "You said 2 ×; the model says 2 ×, too."
    assert "no prediction" in compare("01.p2", 2.0)


@pytest.mark.parametrize(
    ("guess", "truth", "words"),
    [(1.0, 1.05, "within 10 %"), (1.0, 4.0, "4 × too little"), (0.0, 4.0, "says 4"), (-1.0, 4.0, "says 4")],
)
def test_the_verdict_names_the_factor_where_there_is_one(guess, truth, words):
    assert words in answers.verdict(guess, truth)


def test_a_guess_is_compared_at_once_where_the_truth_is_given():
    box = predict("02.p1", "How many?", truth=lambda: 8)
    box.commit("4")
    assert box.message == "You said 4; the model says 8: 2 × too little."


def test_a_measured_answer_is_not_put_into_the_mouth_of_the_model():
    predict("01.p1", "How many times?", unit="×").commit("2")
    for who, words in (
        ("measured", "it was measured as 1.29 ×"),
        ("counted", "count is"),
        ("sheet", "data sheets say"),
    ):
        said = compare("01.p1", 1.29, "×", who)
        assert words in said
        assert "model" not in said
        assert words in compare("01.p9", 1.29, "×", who)
    with pytest.raises(CourseError, match="nearest"):
        compare("01.p1", 1.29, "×", "measure")
