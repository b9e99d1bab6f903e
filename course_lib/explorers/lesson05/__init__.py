"""Lesson 05: the race of algorithms over size and ranks, the ramp of a switch that adds, a library's log of its choices."""

from course_lib.explorers.lesson05.contests import ring_tree_or_switch
from course_lib.explorers.lesson05.inswitch import ramp, ramp_figure, sweep_figure
from course_lib.explorers.lesson05.onwires import in_a_row, on_wires, parts_of_hierarchy, plane
from course_lib.explorers.lesson05.printed import tests_table, tuning_log
