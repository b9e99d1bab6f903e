"""Machines are drawn whole, stay in the picture, collapse what repeats, and name the fullest link; matrices and cuts say their numbers."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from course_lib.base.errors import CourseError
from course_lib.fabric.patterns import incast, permutation
from course_lib.fabric.registry import build, names
from course_lib.fabric.routes import routes
from course_lib.fabric.scaleout import cluster
from course_lib.fabric.sharing import loads, max_min_rates
from course_lib.figures.layout import layout
from course_lib.figures.layoutparts import WIDTH
from course_lib.figures.pairs import bisections, pair_matrix
from course_lib.figures.theme import themed
from course_lib.figures.topology import topology_loads

SMALL = [name for name in names() if name not in ("tpu-v4-pod", "superpod-h100")]


def drawn(topology, src, dst, **more):
    paths = routes(topology, src, dst)
    flow = loads(topology, paths, max_min_rates(topology, paths))
    return topology_loads(topology, flow, **more), flow


@pytest.mark.parametrize("name", names())
def test_every_part_and_link_of_a_machine_is_drawn_once_and_stays_in_the_picture(name):
    topology = build(name)
    plan = layout(topology)
    members = [v for part in plan.parts for v in part.members]
    assert len(members) == len(set(members))
    assert set(range(topology.n_gpus)) <= set(members)
    links = np.concatenate([b.links for b in plan.bundles])
    assert len(links) == len(np.unique(links))
    assert (plan.ends[:, :, 0] >= -1).all()
    assert (plan.ends[:, :, 0] <= WIDTH + 1).all()
    assert (plan.ends[:, :, 1] >= 0).all()
    assert (plan.ends[:, :, 1] <= plan.height).all()
    assert len(plan.parts) <= 270
    places = {(round(p.x), round(p.y)) for p in plan.parts}
    assert len(places) == len(plan.parts), "two parts in one place"


@pytest.mark.parametrize("name", SMALL)
def test_figures_are_valid_in_both_themes_and_hold_a_number_for_what_flows(name):
    topology = build(name)
    for theme in ("light", "dark"):
        with themed(theme):
            fig, _flow = drawn(topology, *incast(topology.n_gpus, topology.n_gpus - 1))
        assert len(fig.data) == 3
        go.Figure(json.loads(fig.to_json()))
        assert "→" in fig.layout.title.text
        assert fig.layout.meta["table"]["rows"]
        assert fig.layout.title.text.replace("<br>", " ") in fig.layout.meta["alt"]


def test_the_fullest_link_is_named_and_full_differs_in_more_than_colour():
    box = build("hgx-h100")
    fig, _flow = drawn(box, *incast(8, 7))
    assert fig.layout.title.text == "4 NVSwitches → GPU 7 is full: 450 GB/s"
    styles = {(s["line"]["dash"], s["line"]["color"]) for s in fig.layout.shapes if s["type"] == "path"}
    assert {dash for dash, _colour in styles} == {"dot", "solid"}
    widths = sorted(s["line"]["width"] for s in fig.layout.shapes if s["type"] == "path")
    assert widths[-1] > 9  # the dark edge under the full line
    idle = topology_loads(box)
    assert idle.layout.title.text == "Nothing flows"
    assert {s["line"]["dash"] for s in idle.layout.shapes if s["type"] == "path"} == {"dot"}


def test_flows_in_the_table_add_up_to_the_links():
    box = build("hgx-h100")
    fig, flow = drawn(box, *permutation(8, 2), chips=True)
    assert len(fig.layout.meta["table"]["rows"]) == box.n_links
    assert len(topology_loads(box, flow).layout.meta["table"]["rows"]) == 16


def test_moving_traffic_moves_no_part():
    box = build("dgx1-v100")
    one, two = (drawn(box, *permutation(8, seed))[0] for seed in (1, 2))
    assert list(one.data[2].x) == list(two.data[2].x)
    assert one.layout.height == two.layout.height
    assert len(one.data) == len(two.data)


def test_clusters_collapse_to_what_repeats():
    small = cluster(build("hgx-h100", merged=True), 4, levels=2)
    assert sum(p.kind == "host" for p in layout(small).parts) == 4
    pod = layout(build("superpod-h100"))
    assert next(p.name for p in pod.parts if p.kind == "host") == "hosts 0–31"
    assert sum(len(p.members) for p in pod.parts) == build("superpod-h100").n_vertices
    assert len(layout(build("tpu-v4-pod")).parts) == 256


def test_a_bundle_that_is_not_full_as_a_whole_is_not_called_full():
    pod = build("superpod-h100")
    src, dst = permutation(pod.n_gpus, 1)
    paths = routes(pod, src, dst, choice="hashed")
    fig = topology_loads(pod, loads(pod, paths, max_min_rates(pod, paths)))
    assert "the fullest of the links drawn there" in fig.layout.title.text.replace("<br>", " ")


def test_no_line_is_called_full_that_could_carry_more():
    pod = cluster(build("hgx-h100", merged=True), 4, levels=2)
    fig = topology_loads(pod, np.where(np.arange(pod.n_links) % 4, 0.5, 1.0) * pod.bandwidth_Bps)
    words = [text for text in fig.data[0].text if text]
    part = [text for text in words if "its fullest link 100 % full" in text]
    assert part
    for text in words:
        flow, width = text.split(": ")[1].split(", ")[0].split(" of ")
        assert (flow == width) == ("100 % full" in text and text not in part)


def test_bad_flows_are_refused_in_words():
    box = build("hgx-h100")
    with pytest.raises(CourseError, match="64 links"):
        topology_loads(box, [1.0, 2.0])
    with pytest.raises(CourseError, match="flow_Bps"):
        topology_loads(box, np.full(64, -1.0))
    with pytest.raises(CourseError, match="flow_Bps"):
        topology_loads(box, np.full(64, np.nan))


def test_a_matrix_says_fastest_and_slowest_and_leaves_the_diagonal_out():
    fig = pair_matrix(np.array([[7e12, 5e10], [2.5e10, 7e12]]))
    assert fig.layout.title.text == "The fastest pair has 50 GB/s, the slowest 25: 2 × apart"
    assert [a.text for a in fig.layout.annotations] == ["50", "25"]
    assert pair_matrix(np.full((3, 3), 4e9)).layout.title.text == "Every pair has 4 GB/s"
    go.Figure(json.loads(fig.to_json()))
    masked = np.ma.MaskedArray(np.full((2, 2), 1e9), mask=[[True, False], [True, True]])
    assert len(pair_matrix(masked, measured=True).layout.annotations) == 1
    for bad in (np.ones((2, 3)), np.ones(4), np.full((2, 2), np.nan), np.full((2, 2), -1.0)):
        with pytest.raises(CourseError):
            pair_matrix(bad)


def test_bisections_are_parts_of_what_half_can_send():
    fig = bisections(["a", "b"], [150e9, 1.8e12], [600e9, 1.8e12])
    assert fig.layout.title.text == "a: 150 GB/s pass the worst cut, 25 % of what half can send"
    assert list(fig.data[1].x) == [25.0, 100.0]
    go.Figure(json.loads(fig.to_json()))
    with pytest.raises(CourseError):
        bisections(["a"], [1, 2], [3, 4])
