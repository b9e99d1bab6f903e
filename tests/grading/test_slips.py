"""A factor with a name is named, and no other wrong number gets a hint."""

import pytest

from course_lib.grading import bank
from course_lib.grading.answers import Number
from course_lib.grading.notebook import ask
from course_lib.grading.question import seeded

RATE = Number("GB/s")


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        (0.4375, "1000 times too small"),
        (437500.0, "1000 times too large"),
        (437.5 * 8, "bits and bytes"),
        (437.5 / 8, "bits and bytes"),
        (875.0, "direction"),
        (437.5 / 1.024, "2.4 %"),
        (437.5 / 2**30 * 1e9, "7.4 %"),
        (437.5 * 2**30 / 1e9, "7.4 %"),
        (437.5 / 1.048576, "4.9 %"),
    ],
)
def test_slips_of_unit_are_named(given_, words):
    assert not RATE.same(given_, 437.5)
    assert words in RATE.hint(given_, 437.5)


@pytest.mark.parametrize("given_", [123.0, -437.5, 0.0, 440.1 + 5])
def test_other_wrong_numbers_get_no_made_up_hint(given_):
    assert RATE.hint(given_, 437.5) == ""


def numbers(form):
    """Return every Number in the form of an answer."""
    if isinstance(form, Number):
        return [form]
    inner = getattr(form, "of", ())
    inner = inner.values() if isinstance(inner, dict) else inner if isinstance(inner, tuple) else [inner]
    return [number for one in inner for number in numbers(one)]


ASKED = sorted({number for q in bank.all_questions() for number in numbers(q.expects)}, key=str)


def test_numbers_of_the_bank_are_found_at_any_depth():
    assert {"", "B", "GB/s", "µs", "micro-batches"} <= {number.unit for number in ASKED}


@pytest.mark.parametrize("number", ASKED, ids=str)
def test_a_hint_asks_only_what_the_unit_can_have(number):
    """A direction belongs to a rate, bits to data, percent to a share, and none of them to a count."""
    said = {factor: number.hint(factor * 96.0, 96.0) for factor in (2.0, 8.0, 100.0, 1000.0)}
    unit = "" if number.whole else number.unit
    data = unit.removesuffix("/s").endswith("B")
    assert ("direction" in said[2.0]) == (data and unit.endswith("/s"))
    assert bool(said[2.0]) == ("bits" in said[8.0]) == data
    assert bool(said[100.0]) == (not number.whole and unit in ("", "%"))
    assert bool(said[1000.0]) == (not number.whole)


def counting(question):
    """Return the place of the number of ranks among the inputs of a function that returns one number; None if it has none."""
    if (
        question.kind != "function"
        or question.driver
        or not isinstance(question.expects, Number)
        or question.expects.whole
    ):
        return None
    names = list(question.cases(question.parameters_for(), seeded(question.id))[0].inputs)
    return next((names.index(name) for name in ("n_ranks", "n_hosts") if name in names), None)


COUNTING = [q for q in bank.all_questions() if counting(q) is not None]


@pytest.mark.parametrize("question", COUNTING, ids=lambda q: q.id)
def test_a_factor_that_fits_one_input_by_chance_is_not_named(question):
    """For two ranks, n times too much is twice too much: that is no direction."""
    assert len(COUNTING) >= 3
    place = counting(question)
    names = list(question.cases(question.parameters_for(), seeded(question.id))[0].inputs)

    def times(factor):
        return lambda *row: factor(row[place]) * question.reference(**dict(zip(names, row, strict=True)))

    (said,) = ask(question, {question.answer: times(lambda n: n)}).sentences[-1:]
    assert "times too" not in said
    (said,) = ask(question, {question.answer: times(lambda n: 1000)}).sentences[-1:]
    assert "1000 times too large" in said
