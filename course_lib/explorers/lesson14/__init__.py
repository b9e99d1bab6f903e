"""Lesson 14: the brief and its gates, the catalogue compared, a log of decisions, and the explorer that picks a design."""

from course_lib.explorers.lesson14.brief import DAY, check, design, gate_text, refused, stopping, targets
from course_lib.explorers.lesson14.designpicker import INTERVALS, PER_GPU, RANKS, START, UNITS, pick, picker
from course_lib.explorers.lesson14.gatespicture import gates_picture
from course_lib.explorers.lesson14.parts import (
    DEMANDS,
    by_demand,
    catalogue_lines,
    crossing,
    demand_picture,
    origins,
    shelf,
    shelf_picture,
)
from course_lib.explorers.lesson14.quarters import Quarter, tracked
