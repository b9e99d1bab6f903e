"""Pictures of slices and degrees show the numbers they were given, and refuse what they cannot draw in words."""

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.figures.degrees import time_and_memory
from course_lib.figures.show import meta_of
from course_lib.figures.slicing import cuts, memory_per_gpu, pair
from course_lib.figures.tensorscaling import bars_over_links, scaling
from course_lib.figures.theme import color


@pytest.mark.parametrize("n", range(2, 9))
def test_pieces_of_a_matrix_fill_it(n):
    pieces = [s for s in cuts(n).layout.shapes if s.type == "rect"]
    columns = [s for s in pieces if s.x0 >= 4 and s.x1 <= 7.001 and s.y1 == 6.1]  # W, cut by columns
    assert len(columns) == n
    assert sum(s.x1 - s.x0 for s in columns) == pytest.approx(3)
    rows = [s for s in pieces if s.x0 == 4 and s.x1 == 7 and s.y1 <= 2.2]
    assert sum(s.y1 - s.y0 for s in rows) == pytest.approx(2)
    assert str(n) in pair(n).layout.title.text


def test_amber_is_rank_0_once_in_each_cut_matrix():
    amber = [s for s in cuts(4).layout.shapes if s.fillcolor not in ("", None)]
    shades = {s.fillcolor for s in amber}
    assert len(shades) == 2
    assert sum(s.fillcolor == amber[1].fillcolor for s in amber) == 5  # W and y; x, W and the front part


def test_stacked_memory_adds_up_and_the_first_degree_that_fits_is_named():
    fig = memory_per_gpu([1, 2, 4], {"a": [100e9, 50e9, 25e9], "b": [20e9, 20e9, 20e9]}, 60e9, gpu="G", what="M")
    tops = np.array(fig.data[1].base) + np.array(fig.data[1].y)
    assert tops == pytest.approx([120, 70, 45])
    assert "from 4 GPUs on" in fig.layout.title.text.replace("<br>", " ")
    assert fig.layout.shapes[0].y0 == 60


def test_memory_that_never_fits_says_so():
    assert "does not fit" in memory_per_gpu([1], {"a": [100e9]}, 60e9, gpu="G", what="M").layout.title.text


def test_communication_stands_on_computing_in_the_colour_of_its_link():
    fig = time_and_memory([1, 16], [2, 1], [0, 3], [9e9, 5e9], 8e9, chosen=16, roles=["nvlink", "network"], title="t 1")
    assert list(fig.data[1].base) == [2, 1]
    assert fig.data[1].marker.color[1] == color("network")
    assert [row[-1] for row in meta_of(fig)[2]] == ["no", "yes"]


def test_slower_than_one_gpu_is_said():
    fig = bars_over_links(["A", "B"], [1, 1], [0.5, 3], ["nvlink", "pcie"], 2)
    assert "0.5 × over B" in fig.layout.title.text
    assert fig.layout.shapes[0].x0 == 2


def test_the_edge_of_a_host_lies_between_8_and_16():
    fig = scaling([8, 16], [[4, 1]], [[4, 2]], ["a"])
    assert 8 < fig.layout.shapes[0].x0 < 16
    assert "75 %" in fig.layout.title.text


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: cuts(1), "n_ranks"),
        (lambda: cuts(9), "n_ranks"),
        (lambda: memory_per_gpu([1, 2], {"a": [1.0]}, 2.0, gpu="G", what="M"), "2 values"),
        (lambda: time_and_memory([1], [1], [0], [1], 1, chosen=2, roles=["nvlink"], title="t"), "not among"),
        (lambda: time_and_memory([1], [1, 2], [0], [1], 1, chosen=1, roles=["nvlink"], title="t"), "compute_s"),
        (lambda: bars_over_links(["A"], [float("nan")], [0], ["nvlink"], 1), "compute_s"),
        (lambda: scaling([2, 4], [[1, 2]], [[1]], ["a"]), "styles"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(draw, words):
    with pytest.raises(CourseError, match=words):
        draw()
