"""What learners read can be translated: every sentence passes through `_`, as a literal that a catalogue can hold."""

import ast
import re
from functools import cache

import pytest

from course_lib.locales.check import placeholders
from course_lib.locales.extract import (
    COLLECTIVE_TERMS,
    PACKAGE,
    literals,
    messages,
    modules,
    spoken,
    unreadable,
    untranslated_errors,
    untranslated_sentences,
    variables,
)
from course_lib.timing.tuning import predict

OPS = ("all_reduce", "all_gather", "all_to_all")


@cache
def sources():
    return {p.relative_to(PACKAGE).as_posix(): ast.parse(p.read_text(encoding="utf-8")) for p in modules()}


# Tools for authors, and what runs inside the sandbox, speak English.
AUTHORS = (
    "grading/claims.py",
    "grading/release.py",
    "grading/workshop.py",
    "grading/lessonminutes.py",
    "grading/question.py",
    "grading/inside/",
)
LEARNERS = ("explorers/", "figures/", "grading/", "cli/")
# A variable in `_()` needs a literal elsewhere: `extract.spoken` takes these from their tables.
VARIABLES = {
    "cli/gate.py": {"v.state"},
    "cli/main.py": {"text"},
    "cli/predict.py": {"word", "p.bottleneck", "s.gpu", "s.scale_up.kind"},
    "cli/train_step.py": {"s.axis"},
    "cluster/gates.py": {"claim.evidence", "target.measure.title", "target.needs or 'predicted'", "v.state"}
    | {"act", "report.targets.title", "target.owner", "target.escalate_to"},
    "explorers/lesson00.py": {"link.title"},
    "explorers/lesson05/contests.py": {"p.algorithm", "found.names[i]", "found.names[last]", "name"},
    "explorers/lesson10/exchanges.py": {"s.title"},
    "explorers/lesson10/readers.py": {"name"},
    "explorers/lesson11/losses.py": {"way"},
    "explorers/lesson12/growth.py": {"k"},
    "explorers/lesson12/onestep.py": {"k", "s.axis"},
    "explorers/lesson12/planpicker.py": {"s.axis"},
    "explorers/lesson13/alarms.py": {"found.counts"},
    "explorers/lesson13/sharing.py": {"mix"},
    "explorers/lesson14/designpicker.py": {"one.title", "v.target.measure.title"},
    "explorers/lesson14/gatespicture.py": {"v.target.measure.title"},
    "explorers/lesson14/parts.py": {"f.priced.item.title", "one.status", "one.title", "v.target.measure.title"},
    "fabric/registry.py": {"_BUILDERS[_known(name)][0]"},  # literals in the table itself
    "figures/algorithms.py": {"found.names[int(found.winner[i])]", "name", "runs[0][2]", "runs[-1][2]"},
    "links/linerate.py": {"link.title"},
    "figures/paying.py": {"n", "names[order[0]]", "names[second]"},
    "figures/planning.py": {"n", "names[0]"},
    "figures/reviewing.py": {"state"},
    "timing/words.py": {"name", "part"},
}


def test_messages_are_literals():
    assert {name: bad for name, source in sources().items() if (bad := unreadable(source))} == {}


def test_variables_in_messages_are_known():
    found = {name: set(names) for name, source in sources().items() if (names := variables(source))}
    assert set(VARIABLES) - set(found) == set(), "a module that has gone, or says no variable any more"
    assert {name: more for name, names in found.items() if (more := names - VARIABLES.get(name, set()))} == {}
    assert set(spoken()) <= set(messages())


def test_terms_of_the_models_are_known():
    places = [("dgx-h100", 8), ("dgx-h100", 64), ("dgx1-v100", 8), ("gb200-nvl72", 72)]
    named = {term for where, n in places for op in OPS for term in predict(op, 2.0**30, where, n).terms}
    assert named <= set(spoken())
    assert set(COLLECTIVE_TERMS) - named == set()


def test_errors_speak_through_the_catalogue():
    said = {name: untranslated_errors(source) for name, source in sources().items() if not name.startswith(AUTHORS)}
    assert {name: bad for name, bad in said.items() if bad} == {}


def test_sentences_for_learners_speak_through_the_catalogue():
    said = {
        name: untranslated_sentences(source)
        for name, source in sources().items()
        if name.startswith(LEARNERS) and not name.startswith((*AUTHORS, "grading/handback.py"))
    }
    assert {name: bad for name, bad in said.items() if bad} == {}


def test_placeholders_have_names():
    """`{}` and `{0}` would tie a translator to the order of English."""
    bad = [t for t in messages() if (p := placeholders(t)) and any(re.fullmatch(r"\{\d*([:!].*)?\}", x) for x in p)]
    assert bad == []


@pytest.mark.parametrize(
    "source",
    ['_(f"{n} GPUs")', '_("a" + b)', '_("{n}".format(n=1))', '_("a", "b")', '_("a" if b else "c")', '_("%d" % n)'],
)
def test_what_a_catalogue_cannot_hold_is_found(source):
    assert unreadable(source)


@pytest.mark.parametrize(
    "source",
    ['raise CourseError("No such link.")', 'CourseError("No {x}.".format(x=1))', 'CourseError(f"a {b} cd" + _("e"))'],
)
def test_a_bare_error_is_found(source):
    assert untranslated_errors(source)


def test_extraction_sees_inside_f_strings_and_joined_literals():
    assert [t for t, _line in literals("f\"{_('in here')}\"\n_('one ' 'text')")] == ["in here", "one text"]
    assert len(messages()) > 3000
