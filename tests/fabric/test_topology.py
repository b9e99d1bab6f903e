import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.fabric.cuts import direct_links, path_Bps
from course_lib.fabric.registry import build, describe, names
from course_lib.fabric.routes import routes
from course_lib.fabric.scaleup import nvswitch_box, simple_host
from course_lib.fabric.topology import LINK_KINDS, assemble, link_name, links_of, vertex_name, vertices_of

SMALL = [name for name in names() if name not in ("superpod-h100", "tpu-v4-pod")]


@pytest.mark.parametrize("name", names())
def test_every_machine_is_two_way_and_whole(name):
    t = build(name)
    assert (t.kind[: t.n_gpus] == 0).all()
    assert (t.kind[t.n_gpus :] != 0).all()
    assert (t.bandwidth_Bps > 0).all()
    assert (t.latency_s > 0).all()
    assert (t.parallel > 0).all()
    assert (t.src != t.dst).all()
    # As much into every vertex as out of it; with ACS the two ways of a switch are two vertices.
    out, into = (np.bincount(end, t.bandwidth_Bps, t.n_vertices) for end in (t.src, t.dst))
    plain = t.kind != 2 if "acs" in name else np.ones(t.n_vertices, bool)
    np.testing.assert_allclose(out[plain], into[plain])
    assert ((t.position >= 0) & (t.position <= 1)).all()
    assert np.isfinite(t.level).all()
    assert describe(name)


@pytest.mark.parametrize("name", SMALL)
def test_names_of_vertices_are_distinct_but_for_the_two_sides_of_acs(name):
    t = build(name)
    assert len(set(t.names)) >= t.n_vertices - (4 if "acs" in name else 0)


def test_a_drawing_has_gpus_below_their_switches():
    t = build("hgx-h100")
    assert t.level[t.kind == 0].max() < t.level[vertices_of(t, "nvswitch")].min()
    pod = build("superpod-h100")
    order = [pod.level[vertices_of(pod, k)].mean() for k in ("nic", "gpu", "nvswitch", "leaf", "spine")]
    assert order == sorted(order)


def test_other_names_build_the_same_machine():
    assert build("dgx-h100").n_links == build("HGX_H100").n_links == build("hgx-h100").n_links
    with pytest.raises(CourseError, match=r"nearest: .*nvl72"):
        build("nvl73")
    with pytest.raises(CourseError, match="no machine None"):
        build(None)


def test_one_gpu_is_a_machine():
    for t in (
        nvswitch_box("one", 1, [18], 25e9),
        *(simple_host(k, 1, 1e9, 0) for k in ("switch", "mesh", "ring", "pcie")),
    ):
        assert t.n_gpus == 1
        assert t.n_hosts == 1
        paths = routes(t, [0], [0])
        assert len(paths.first) == 0
        assert paths.latency_s.tolist() == [0.0]


def test_a_simple_host_keeps_the_numbers_it_was_given():
    for kind, pair_Bps in (("switch", 70e9), ("mesh", 10e9), ("ring", 35e9), ("pcie", 70e9)):
        t = simple_host(kind, 8, 70e9, 3e-6)
        paths = routes(t, 0, 1)
        assert path_Bps(t, paths)[0] == pytest.approx(pair_Bps)
        assert paths.latency_s[0] == pytest.approx(3e-6)
    assert path_Bps(*(lambda t: (t, routes(t, 0, 1)))(simple_host("ring", 2, 70e9, 0)))[0] == 70e9
    assert direct_links(simple_host("ring", 5, 1e9, 0)).sum(0).tolist() == [2] * 5


def test_bad_machines_are_refused_in_words():
    with pytest.raises(CourseError, match="GPUs have to be the first"):
        assemble("x", [("nic", 0), ("gpu", 0)], [])
    with pytest.raises(CourseError, match="GPUs have to be the first"):
        assemble("x", [], [])
    with pytest.raises(CourseError, match="kind of vertex"):
        assemble("x", [("gpus", 0)], [])
    with pytest.raises(CourseError, match="bandwidth_Bps is 0"):
        assemble("x", [("gpu", 0), ("gpu", 0)], [(0, 1, "nvlink", 0, 0, 1)])
    with pytest.raises(CourseError, match="kind of link"):
        assemble("x", [("gpu", 0), ("gpu", 0)], [(0, 1, "nvlnk", 1e9, 0, 1)])
    with pytest.raises(CourseError, match=r"is 2\.5"):
        nvswitch_box("x", 2.5, [1], 1e9)
    with pytest.raises(CourseError, match="at least one switch"):
        nvswitch_box("x", 2, [], 1e9)
    with pytest.raises(CourseError, match="kind of scale-up"):
        simple_host("torus", 2, 1e9, 0)


def test_links_have_names_and_kinds():
    t = build("gb200-tray")
    assert link_name(t, 0) == "gpu 0 → cpu 0"
    assert vertex_name(t, 4) == "nvswitch 0"
    assert links_of(t, ["c2c"]).sum() == 8
    assert {LINK_KINDS[k] for k in np.unique(t.link_kind)} == {"c2c", "nvlink"}
    assert vertex_name(build("superpod-h100"), 9) == "host 1 gpu 1"


def test_merging_switches_changes_no_speed():
    apart, merged = build("hgx-h100"), build("hgx-h100", merged=True)
    src, dst = np.divmod(np.arange(64), 8)
    assert merged.n_links == 16
    a, b = (path_Bps(t, routes(t, src, dst)) for t in (apart, merged))
    np.testing.assert_allclose(a, b)
    np.testing.assert_allclose(routes(apart, src, dst).latency_s, routes(merged, src, dst).latency_s)
