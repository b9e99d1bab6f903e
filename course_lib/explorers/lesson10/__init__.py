"""Lesson 10: boxes of eight against a rack of seventy-two for a layer of experts, and the runs that the lesson shows."""

from course_lib.explorers.lesson10.exchanges import (
    across_boxes,
    bytes_of_a_copy,
    copies_in_words,
    domains,
    in_one_box,
    launches,
    where_it_came_from,
)
from course_lib.explorers.lesson10.layers import DEGREES, JOBS, TOKENS, boxes_or_rack, read_layer
from course_lib.explorers.lesson10.machines import MODEL
from course_lib.explorers.lesson10.readers import curve, equal_speed, offload, served_runs, shares, step_of
