"""The explorer of lesson 12, and the sentences of the lesson that lean on its numbers."""

import itertools

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.cluster import scaling
from course_lib.explorers import lesson12 as lesson
from course_lib.explorers.lesson12 import planpicker
from course_lib.figures import growing, planning
from course_lib.figures.searched import all_plans
from course_lib.figures.show import meta_of
from course_lib.figures.theme import themed
from course_lib.plan import stepcompared, utilisation
from course_lib.plan.picked import grouped
from course_lib.timing import tuning

KEYS = ("name", "system", "gpus", "tensor", "pipeline", "expert", "recompute", "order")
START = dict(zip(KEYS, lesson.START, strict=True))


@pytest.fixture(scope="module")
def explorer():
    return lesson.plan_picker()


def read(**change):
    return lesson.read_plan(**(START | change))


def test_every_combination_draws_or_names_the_nearest_plan(explorer):
    choices = itertools.product(
        ("mixtral-8x22b", "qwen3-235b", "llama3-405b"),
        ("dgx-a100", "gb200-nvl72"),
        (128, 16384),
        (1, 8, 32),
        (1, 16),
        (1, 64),
        ("tensor", "stages"),
    )
    drawn = 0
    for name, system, gpus, tensor, pipeline, expert, order in choices:
        explorer.set(name=name, system=system, gpus=gpus, tensor=tensor, pipeline=pipeline, expert=expert, order=order)
        if explorer.message:
            assert any(word in explorer.message for word in ("nearest", "use ", "Use ", "cannot")), explorer.message
            continue
        drawn += 1
        _alt, columns, table = meta_of(explorer.figure)
        assert len(explorer.figure.data) == 6
        assert len(table) == 6
        assert all(len(row) == len(columns) for row in table)
    assert drawn > 40


@pytest.mark.parametrize(
    "change",
    [
        {"name": "qwen3-235b"},
        {"system": "gb200-nvl72"},
        {"gpus": 2048},
        {"tensor": 8},
        {"pipeline": 4},
        {"expert": 4},
        {"recompute": "full"},
        {"order": "replicas"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_each_control_changes_title_and_equation(explorer, change):
    explorer.reset()
    before = explorer.figure.layout.title.text, explorer.view.formula.value
    explorer.set(**change)
    assert explorer.message == ""
    assert explorer.figure.layout.title.text != before[0]
    assert explorer.view.formula.value != before[1]


def test_a_plan_that_does_not_fit_says_how_much_it_needs(explorer):
    explorer.set(**(START | {"expert": 1}))
    assert "does not fit" in explorer.figure.layout.title.text
    assert explorer.guess.truth() == pytest.approx(float(read(expert=1).found.memory_B[read().at]))


def test_the_answers_to_the_explorers_questions_hold():
    low, high = read(tensor=4), read(tensor=16)
    change = {name: float(v[high.at] - v[low.at]) for name, v in low.found.groups.items()}
    assert change["computing"] > 0.5
    assert change["exposed communication"] > 0.5
    assert change["bubble"] < -0.3
    swapped = read(order="replicas")
    assert 1.33 < swapped.found.step_s[swapped.at] / low.found.step_s[low.at] < 1.5  # "more than a third longer"
    assert "over NVLink only: nothing" in planpicker._sentence(swapped)
    for system, grows in (("dgx-h100", True), ("gb200-nvl72", False)):
        few, many = (read(name="qwen3-235b", tensor=2, expert=e, system=system) for e in (8, 64))
        i = few.at
        assert (many.found.step_s[i] > 1.2 * few.found.step_s[i]) == grows
        assert (many.found.step_s[i] < 0.85 * few.found.step_s[i]) != grows
        assert many.found.groups["computing"][i] < few.found.groups["computing"][i]


def test_the_numbers_of_the_scaling_sections():
    fixed, growing_ = lesson.scaled(), lesson.scaled(True)
    assert fixed.n_gpus[-1] / fixed.n_gpus[0] == 48
    assert growing_.efficiency[-1] > 0.9
    i = lesson.COUNTS.index(lesson.bend())
    lost = 1 - (fixed.efficiency[-1] * 24576 - fixed.efficiency[i] * lesson.bend()) / (24576 - lesson.bend())
    assert lost > 0.6  # "most of what you add is lost"
    last = {k: float(np.asarray(v)[-1]) for k, v in grouped(fixed.terms).items()}
    first = {k: float(np.asarray(v)[0]) for k, v in grouped(fixed.terms).items()}
    assert last["bubble"] > 2 * last["exposed communication"]
    assert last["computing"] < first["computing"] / 10
    shrunk = {k: first[k] / last[k] for k in ("computing", "exposed communication", "bubble")}
    assert 1 < shrunk["bubble"] < shrunk["exposed communication"] < shrunk["computing"] / 3  # "much more slowly"
    serial = scaling.serial_share(fixed.time_s, fixed.n_gpus)
    assert 0.8e-4 < serial < 1.25e-4  # "a ten-thousandth"
    law = scaling.amdahl(serial, 24576) / scaling.amdahl(serial, 512)
    assert law == pytest.approx(lesson.times_as_fast(), rel=0.03)  # "lies on the solid line"
    hidden, bare = lesson.replicas_only(0.5), lesson.replicas_only(0.0)
    assert hidden.efficiency[2] > 0.85 > 0.7 > bare.efficiency[2]
    assert hidden.time_s[-1] > 0.9 * hidden.time_s[-2]  # another thousand change nothing
    flat = utilisation.published("llama3-70b", "dgx-h100")
    assert flat.n_gpus[-1] / flat.n_gpus[0] == 32
    assert np.ptp(flat.mfu) < 0.01 * flat.mfu[0]


def test_the_numbers_of_the_step():
    plan, swapped = lesson.plan_step(), lesson.plan_step(order=lesson.ORDERS["replicas"])
    rate = {s.axis: s.bandwidth_Bps for s in plan.spans}
    assert rate["tensor"] / rate["data"] == pytest.approx(12)
    assert {s.axis: s.crosses for s in swapped.spans} == dict.fromkeys(("tensor", "data", "pipeline"), "network")
    assert swapped.step_s > 1.4 * plan.step_s
    assert plan.terms["matrix products"] / plan.step_s == pytest.approx(2 / 3, abs=0.03)
    talk = {n: v for n, v in plan.terms.items() if lesson.GROUP_OF[n] == "exposed communication"}
    assert max(talk, key=talk.get) == "tensor-parallel communication"
    order = sorted(plan.terms, key=plan.terms.get, reverse=True)
    assert order.index("gradient synchronization") > sum(v > 0 for v in plan.terms.values()) / 2
    assert len(plan.terms) == 17  # "seventeen terms"
    nothing = {name for name, value in plan.terms.items() if value == 0}  # "two … are zero above"
    assert nothing == {"expert-parallel communication", "context-parallel communication"}
    chunked = lesson.plan_step(interleave=3)
    assert chunked.terms["pipeline bubble"] == pytest.approx(plan.terms["pipeline bubble"] / 3, rel=0.02)
    deep = lesson.plan_step(pipeline=16, recompute="selective")
    assert deep.memory["activations"] == pytest.approx(plan.memory["activations"], rel=0.1)


def test_the_numbers_of_the_evidence():
    errors = np.array([row.error for row in stepcompared.korthikanti()])
    assert (errors > 0).all()  # all crosses on one side
    assert errors.max() < 0.2
    assert max(e for e, r in zip(errors, stepcompared.korthikanti(), strict=True) if "22b" in r.name) < errors.max()
    first, second, third = (row.error for row in stepcompared.llama3())
    assert max(abs(first), abs(second)) < 0.06
    assert third < -0.08
    shares = [utilisation.published(*p).mfu for p in (("mpt-7b", "dgx-a100"), ("deepseek-v3", "gb200-nvl72"))]
    assert min(s.min() for s in shares) > 0.33
    assert max(s.max() for s in shares) < 0.67
    assert utilisation.published("nanotron-3b", "dgx-h100").mfu.min() < 0.1
    for found in lesson.box_and_rack():
        talk = found.groups["exposed communication"]
        assert talk[found.at(16)] > 2 * talk[found.at(8)]


def test_the_search_is_what_the_text_says():
    found = lesson.plans()
    steps = found.table["step_s"][: found.n_fit]
    assert 2000 < found.n_plans < 10_000  # "a few thousand"
    assert steps.max() > 5 * steps[0]
    first, last = found.row(int(found.frontier[0])), found.row(int(found.frontier[-1]))
    assert first["recompute"] == "none"
    assert (last["recompute"], last["zero"]) == ("full", 3)


def test_the_numbers_of_serving():
    step = {n: float(lesson.token_step(n, 1).step_s) for n in (1, 2, 4, 8, 16)}
    assert list(step) == sorted(step, key=step.get, reverse=True)[:4] + [16] or step[8] < step[4] < step[2] < step[1]
    assert 5.5e-3 < step[8] < 6.6e-3 < step[16]  # "a token every 6 ms or so", then slower
    talk = {n: lesson.token_step(n, 1) for n in (8, 16)}
    share = {n: float(s.communicate_s / s.step_s) for n, s in talk.items()}
    assert 0.4 < share[8] < 0.6 < 0.7 < share[16]
    rack = [float(lesson.token_step(n, 1, "gb200-nvl72").step_s) for n in (8, 16)]
    assert rack[1] < rack[0]
    for n in (8, 16):
        one, many = (float(tuning.predict("all_reduce", r * 16384.0, "dgx-h100", n).time_s) for r in (1, 64))
        assert many < 2 * one  # "not even twice as long"
        assert 160 * one == pytest.approx(float(talk[n].communicate_s), rel=0.01)
    names, reader, gpu, _asked = lesson.reader_curves()
    eight, sixteen = names.index("8 GPUs"), names.index("16 GPUs")
    inside = np.interp(reader[sixteen], reader[eight][::-1], gpu[eight][::-1])
    assert (gpu[sixteen] < inside).all()  # the line of 16 lies inside that of 8


def test_past_the_box_each_gpu_loses_almost_half_and_then_most():
    box, two, four = (float(line.split(": ")[1].split()[0].replace(",", "")) for line in lesson.past_the_box())
    assert 0.4 < 1 - two / box < 0.5  # "almost half"
    assert 1 - four / box > 0.75  # "most of it"


PICTURES = (
    lesson.scaling_picture,
    lesson.terms_picture,
    lesson.table_picture,
    lesson.readers_picture,
    lambda: lesson.plans_picture(lesson.plans()),
)


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("ground", ["light", "dark"])
def test_pictures_are_drawn_on_both_grounds(picture, ground):
    with themed(ground):
        figure = picture()
    alt, columns, table = meta_of(figure)
    assert any(c.isdigit() for c in alt)
    assert all(len(row) == len(columns) for row in table)
    type(figure)(figure.to_dict())  # Plotly's own validation


PARTS = {part: [1.0] for part in planning.PARTS}


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: planning.by_degree([1], PARTS, [1e9], 8e10, chosen=2, title=""), "not among"),
        (lambda: planning.by_degree([1, 2], PARTS, [1e9, 1e9], 8e10, chosen=2, title=""), "2 are expected"),
        (
            lambda: planning.by_degree([1], {p: [np.nan] for p in planning.PARTS}, [np.nan], 8e10, chosen=1, title=""),
            "divides",
        ),
        (lambda: planning.terms({"optimizer": 0.0}, groups={"optimizer": "optimizer"}), "No term"),
        (lambda: all_plans([1.0], [1e9], [], [], 8e10, n_plans=1), "no plan"),
        (lambda: growing.efficiency([8], [1.0], [1.0], least=0.8, bend=9), "not among"),
        (lambda: growing.readers([], [], [], []), "layouts"),
    ],
)
def test_figures_refuse_what_does_not_fit(call, word):
    with pytest.raises(CourseError, match=word):
        call()
