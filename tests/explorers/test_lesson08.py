"""The explorer of lesson 08: every control, every value, and the sentences of the lesson that lean on it."""

import itertools

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib.base.errors import CourseError
from course_lib.base.units import MiB
from course_lib.explorers.lesson08 import (
    NETWORKS,
    SIZES,
    TOKENS,
    after_waiting,
    balanced,
    buckets,
    drawn,
    gather_s,
    gathered_ahead,
    network,
    pass_with,
    read_buckets,
    replica,
    searched,
    sent,
)
from course_lib.figures import overlap as timelines
from course_lib.figures import replicas as pictures
from course_lib.figures.show import meta_of, title_of
from course_lib.figures.theme import contrast, themed
from course_lib.plan import compression, memory, replicaruns
from course_lib.plan.codecs import Dense
from course_lib.plan.sharding import Event, bucket_search


@pytest.fixture(scope="module")
def explorer():
    return buckets()


def test_every_combination_draws_without_a_message(explorer):
    for where, tokens, size in itertools.product(NETWORKS, TOKENS[::3], SIZES[::2]):
        explorer.set(where=where, tokens=tokens, bucket_B=size)
        assert (explorer.message, explorer.stale) == ("", False)
        assert len(explorer.figure.data) == 5
        alt, columns, table = meta_of(explorer.figure)
        assert alt
        assert len(table) == len(SIZES)
        assert all(len(row) == len(columns) for row in table)


def test_each_control_changes_title_and_equation(explorer):
    start = {"where": "one-card", "tokens": 8192, "bucket_B": 32 * MiB}
    for change in ({"where": "cards"}, {"tokens": 2048}, {"bucket_B": 1024 * MiB}):
        explorer.set(**start)
        before = explorer.figure.layout.title.text, explorer.view.formula.value
        explorer.set(**change)
        assert explorer.figure.layout.title.text != before[0]
        assert explorer.view.formula.value != before[1]


def test_the_marked_point_lies_on_the_curve(explorer):
    explorer.set(where="tcp", tokens=4096, bucket_B=64 * MiB)
    curve, point = explorer.figure.data[3], explorer.figure.data[4]
    assert point.y[0] == pytest.approx(np.interp(point.x[0], curve.x, curve.y))


def test_buckets_that_queue_at_the_end_finish_without_a_pause():
    for where in NETWORKS:
        reading = read_buckets(32 * MiB, where, 8192)
        t, first = reading.timeline, reading.timeline.start_s.size - reading.in_line
        assert t.start_s[first] == t.ready_s[first]
        assert t.finish_s[first:-1] == pytest.approx(t.start_s[first + 1 :])
    assert read_buckets(4096 * MiB, "box", 8192).in_line == 1


# Figures


def test_waiting_is_what_is_not_computed():
    events = [Event("compute", "a", 1.0, 2.0), Event("compute", "b", 3.0, 4.0), Event("network", "n", 0.0, 5.0)]
    begin, end = timelines.waiting(events)
    assert list(zip(begin, end, strict=True)) == [(0.0, 1.0), (2.0, 3.0), (4.0, 5.0)]
    assert timelines.exposed(events) == 3.0


def test_the_figure_exposes_what_the_scheduler_exposes():
    for where in NETWORKS:
        for size in (1, 25 * MiB, 1e9):
            assert timelines.exposed(drawn(size, where)) == pytest.approx(pass_with(size, where).exposed_s)


def test_three_traces_whatever_is_drawn_and_wrong_input_in_words():
    one, two = drawn(25 * MiB), gathered_ahead(1)
    assert len(timelines.lanes([("one", one)]).data) == len(timelines.lanes([("one", one), ("two", two)]).data) == 3
    with pytest.raises(CourseError, match="compute"):
        timelines.lanes([])
    with pytest.raises(CourseError, match="entries"):
        pictures.volumes(["a", "b"], [1], [1, 2])
    with pytest.raises(CourseError, match="One to four series"):
        pictures.weak_scaling(["a"], [], [], [])
    with pytest.raises(CourseError, match="weights_B"):
        pictures.kept(["a"], [-1], [1], [1], 80e9, gpu="H100", what="A model")


# What the lesson says in words


def test_three_ways_to_send_are_in_the_order_of_the_picture():
    late = [timelines.exposed(e) for e in (after_waiting(where="tcp"), drawn(1, "tcp"), drawn(25 * MiB, "tcp"))]
    assert late[0] > 1.5 * late[1] > 3 * late[2]
    assert 280 < len(pass_with(1, "tcp").bucket_B) < 300
    assert float(network("tcp")(1e9)) > 0


def test_one_card_takes_longer_than_the_pass_and_the_networks_differ_tenfold():
    work = replica(8192)
    times = {name: float(network(name)(work.gradient_B.sum())) for name in NETWORKS}
    assert times["one-card"] > work.backward_s.sum() > times["tcp"]
    assert times["one-card"] > 10 * times["box"]


def test_answers_to_the_questions_of_the_explorer():
    found = searched("one-card", 8192)
    assert found.best_B == 256 * MiB
    at_default = pass_with(25 * MiB, "one-card").exposed_s
    assert at_default > 1.25 * found.best_exposed_s
    assert pass_with(25 * MiB, "tcp").exposed_s < 1.2 * searched("tcp", 8192).best_exposed_s
    for where, first in {"box": 1024, "cards": 4096, "tcp": 8192, "one-card": 16384}.items():
        busy = [t.communication_s < t.backward_s for t in (pass_with(32 * MiB, where, n) for n in TOKENS)]
        assert TOKENS[busy.index(True)] == first
        flat = [pass_with(32 * MiB, where, n).exposed_s for n in TOKENS if n >= first]
        assert max(flat) < 1.25 * min(flat)


def test_the_balance_does_not_depend_on_the_model_and_buckets_need_more():
    for where, tokens in balanced().items():
        work = replica(8192)
        exact = 8192 * float(network(where)(work.gradient_B.sum())) / work.backward_s.sum()
        assert tokens == pytest.approx(exact, rel=0.15)


def test_units_are_those_of_the_rule():
    k = 8
    assert sent(k, deferred=False).units == {"DDP": 2 * k, "ZeRO-1": k + 1, "ZeRO-2": k + 1, "ZeRO-3": 3 * k}
    assert sent(k).units == {"DDP": 2, "ZeRO-1": 2, "ZeRO-2": 2, "ZeRO-3": 2 * k + 1}


def test_one_layer_ahead_hides_nearly_all_gathers_and_two_hardly_more():
    none, one, two = (timelines.exposed(gathered_ahead(p)) for p in (0, 1, 2))
    assert none > 10 * one
    assert two > 0.7 * one


def test_where_shards_lie_matters_on_slow_cards_only():
    box, cards, tcp = (gather_s(name, 16e9) for name in ("box", "cards", "tcp"))
    assert cards < 1.3 * box
    assert tcp > 4 * box


def test_stage_one_makes_llama_fit():
    held = [float(memory.states(8.03e9, 128, s).total_B) for s in range(4)]
    assert held[0] > 80e9 > held[1]


def test_the_search_of_the_prediction_is_what_the_lesson_compares_with():
    work = replica(8192)
    best = bucket_search(work.backward_s, work.gradient_B, network("tcp")).best_exposed_s
    assert best <= searched("tcp", 8192).best_exposed_s


def test_the_small_model_learns_in_the_steps_of_the_lesson():
    assert (compression.train(Dense(), n_ranks=4, batch=16, steps=120).loss < 0.5).any()


def test_measured_statements_of_the_lesson():
    trio = [replicaruns.compare(name) for name in ("titan", "titan-compiled", "titan-fp8")]
    extra = np.array([c.measured_s[1] - c.measured_s[0] for c in trio])
    computing = np.array([c.measured_s[0] for c in trio])
    more = np.array([c.network_s[1] - c.network_s[0] for c in trio])
    assert (np.diff(extra) < 0).all()
    assert (np.diff(extra / computing) < 0).all()  # it shrinks faster than in proportion
    assert (extra < more).all()
    lost = [1 - c.measured_per_s[1] / c.measured_per_s[0] for c in trio]
    assert 0.015 < min(lost) < max(lost) < 0.03
    mpt = replicaruns.compare("mpt")
    assert np.abs(mpt.error).max() < 0.016
    assert (np.diff(mpt.measured_per_s) > 0).any()
    runs = [r.tokens_per_s_per_gpu for r in replicaruns.rows("playbook")]
    drops = 1 - np.array(runs[1:]) / np.array(runs[:-1])
    assert (drops[:-1] < 0.16).all()
    assert 0.38 < drops[-1] < 0.43
    assert runs[0] > 4 * trio[2].measured_per_s[0]


def every_figure():
    one, runs = sent(), replicaruns.compare("mpt")
    return [
        timelines.lanes([("on demand", gathered_ahead(0)), ("ahead", gathered_ahead(1))]),
        buckets().figure,
        pictures.volumes(one.names, one.reduced, one.gathered),
        pictures.kept(["DDP", "ZeRO-3"], [2e9, 1e9], [2e9, 1e9], [12e9, 1e9], 80e9, gpu="H100", what="A model"),
        pictures.weak_scaling(["MPT"], [runs.gpus], [runs.measured_per_s], [runs.model_per_s]),
    ]


@pytest.mark.parametrize("name", ["light", "dark"])
def test_figures_are_valid_readable_and_described(name):
    with themed(name):
        for figure in every_figure():
            go.Figure(figure.to_dict())
            ground = figure.layout.paper_bgcolor
            for note in figure.layout.annotations:
                assert contrast(note.font.color, ground) >= 4.5
            alt, columns, table = meta_of(figure)
            title, subtitle = title_of(figure)
            assert any(c.isdigit() for c in title)
            assert any(c.isdigit() for c in alt)
            assert len(subtitle) > 10
            assert table
            assert all(len(row) == len(columns) for row in table)
