"""Lesson 04: the stepper takes any schedule there is, right or wrong; the lesson's sentences about numbers hold."""

import re

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.comm import direct, halving, innetwork, ring, tree
from course_lib.comm.meaning import busbw_Bps, least_sent_B
from course_lib.comm.schedule import Schedule
from course_lib.explorers.lesson04 import SYSTEMS, beside, side_by_side, stepper, sweep_figure, time_of

N = 8


def owned(owner):
    collect = [(r, owner[c], c, "add") for c in range(N) for r in range(N) if r != owner[c]]
    spread = [(owner[c], r, c, "copy") for c in range(N) for r in range(N) if r != owner[c]]
    return Schedule.from_transfers("all_reduce", N, N, [collect, spread], name="owned")


STAR, SHARED, AROUND = owned([0] * N), owned(list(range(N))), ring.all_reduce(N)


@pytest.mark.parametrize("system", [name for _label, name in SYSTEMS])
@pytest.mark.parametrize("schedule", [STAR, SHARED, AROUND], ids=("star", "shared", "ring"))
def test_every_step_size_and_system_gives_a_picture(schedule, system):
    shown = stepper(schedule)
    for step in range(schedule.repeats + 1):
        shown.set(step=step, message_B=2 ** (3 + 2 * step), system=system)
        assert shown.message == ""
    assert "all 64 slots" in shown.figure.layout.title.text.replace("<br>", " ")
    assert len(shown.figure.data) == 8


def test_the_time_under_the_figure_is_the_stepped_time():
    shown = stepper(AROUND)
    shown.set(message_B=2**20, system="dgx1-v100")
    now = shown._model.compute(**shown.values)
    assert now.timed.time_s == pytest.approx(time_of(AROUND, "dgx1-v100").time_s(2**20), rel=1e-12)


@pytest.mark.parametrize(
    "schedule",
    [
        ring.all_gather(1),
        ring.all_gather(3),
        direct.all_to_all(4),
        halving.all_reduce(6),
        tree.all_reduce(7),
        tree.broadcast(5),
        innetwork.nvls_all_reduce(4),
        ring.all_reduce(16),
        Schedule.from_transfers("send_recv", 2, 2, []),
    ],
    ids=lambda s: f"{s.op}-{s.n_ranks}-{s.name}",
)
def test_other_schedules_work_or_are_refused_in_words(schedule):
    shown = stepper(schedule)
    last = shown.view.inputs["step"].slider.max
    shown.set(step=last)
    assert shown.message == ""
    assert shown.figure is not None


def test_a_faulty_schedule_is_shown_up_to_its_fault_with_the_proof_beside_it():
    race = Schedule.from_transfers(
        "all_reduce", 3, 3, [[(0, 1, 0, "add")], [(0, 1, 0, "copy"), (2, 1, 0, "copy")], [(0, 2, 1, "add")]]
    )
    shown = stepper(race)
    shown.set(step=1)
    assert "It stops after 1 of 3 steps" in shown.figure.layout.title.text.replace("<br>", " ")
    assert "both write chunk 0" in shown.view.said.value
    with pytest.raises(CourseError, match="frame"):
        shown._model.draw(shown._model.compute(step=3, message_B=8, system="dgx-h100"))


def test_a_part_that_is_counted_twice_is_named_in_the_title():
    twice = Schedule.from_transfers("reduce", 2, 1, [[(1, 0, 0, "add")], [(1, 0, 0, "add")]])
    shown = stepper(twice)
    shown.set(step=2)
    assert "1 slot holds a part more than once" in shown.figure.layout.title.text
    assert "counts nothing until it is proved" in shown.view.said.value


@pytest.mark.parametrize("nothing", [None, [[(0, 1, 0, "add")]], "ring"])
def test_what_is_no_schedule_is_refused_with_the_way_to_build_one(nothing):
    with pytest.raises(CourseError, match="from_transfers"):
        stepper(nothing)


def test_the_guess_is_held_against_the_time_of_this_schedule():
    shown = stepper(SHARED, ask=True)
    assert shown.guess.truth() == pytest.approx(time_of(SHARED).time_s(2**30))


def test_sweeps_that_do_not_fit_are_refused():
    with pytest.raises(CourseError, match="no published sweep"):
        beside("m9999", AROUND)
    with pytest.raises(CourseError, match="on 8 ranks, the schedule all_gather"):
        beside("m072", ring.all_gather(8))


# What the lesson says in words


def test_the_shared_schedule_and_the_ring_send_the_least_and_the_star_seven_vectors():
    least = least_sent_B("all_reduce", 1e9, N)
    for schedule in (SHARED, AROUND):
        assert schedule.sent_B(1e9).max() == schedule.received_B(1e9).max() == pytest.approx(least)
    assert STAR.received_B(1e9).max() == 7e9


def test_the_ring_is_as_quick_as_the_shared_schedule_at_1_GiB_and_slowest_at_8_KiB():
    big = [time_of(s).time_s(2**30) for s in (STAR, SHARED, AROUND)]
    small = [time_of(s).time_s(8192) for s in (STAR, SHARED, AROUND)]
    assert big[2] == pytest.approx(big[1], rel=0.01)
    assert small[0] < 1.2 * small[1] < small[2] / 5
    rate = busbw_Bps("all_reduce", 2**30, big[0], N) / busbw_Bps("all_reduce", 2**30, big[2], N)
    assert rate == pytest.approx(1 / 8, rel=0.01)


@pytest.mark.parametrize("system", [name for _label, name in SYSTEMS])
def test_the_fullest_link_has_the_names_of_the_figures(system):
    shown = stepper(AROUND)
    shown.set(system=system, message_B=2**30)
    said = shown._model.sentence(shown._model.compute(**shown.values))
    link = said.rsplit("link is ", 1)[1]
    assert re.fullmatch(r"(GPU|NVSwitch|PCIe switch|CPU) \d+ → (GPU|NVSwitch|PCIe switch|CPU) \d+\.", link)


@pytest.mark.parametrize("owner", [[0] * 8, [0, 0, 0, 0, 1, 1, 1, 1], list(range(8))], ids=str)
def test_on_the_cube_mesh_a_link_of_the_host_is_the_fullest_and_links_do_not_explain_the_time(owner):
    mesh = time_of(owned(owner), "dgx1-v100")
    assert "cpu" in mesh.slowest_link or "pcie" in mesh.slowest_link
    assert mesh.time_s(2**30) > 2 * 450 / 150 * time_of(owned(owner)).time_s(2**30)


def test_the_measurement_is_a_fifth_below_the_wires_at_the_top_and_twice_the_predictor_when_small():
    found = beside("m072", AROUND)
    sizes, measured_s = found.sweep.message_B, found.sweep.time_s
    assert found.unseen
    assert found.sweep.system.scale_up.in_network_reduction is False
    assert 0.75 < found.ideal_s[-1] / measured_s[-1] < 0.82
    small = sizes <= 2**20
    assert (measured_s[small] / found.ideal_s[small] > 3).all()
    assert 1.7 < np.median(measured_s[small] / found.predicted.time_s[small]) < 2.2
    terms = {name: t[0] for name, t in found.predicted.terms.items()}
    assert 0.7 < terms["scale-up steps"] / found.ideal_s[0] < 1.3
    assert found.predicted.terms["scale-up transfer"][-1] > found.ideal_s[-1]
    assert "235 GB/s on links of 300 GB/s" in sweep_figure(found).layout.title.text.replace("<br>", " ")


def test_eight_h100_measure_more_than_their_wires_carry():
    found = beside("m118", AROUND)
    assert found.busbw_Bps(found.sweep.time_s)[-1] > found.sweep.system.scale_up.bandwidth_Bps


def test_bars_of_one_schedule_have_a_title_of_their_own():
    assert "14 steps" in side_by_side([AROUND], 2**20).layout.title.text
