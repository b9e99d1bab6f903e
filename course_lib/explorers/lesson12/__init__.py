"""Lesson 12: scaling, one step term by term, rank orders, the search, serving, and the explorer that picks a plan."""

from course_lib.explorers.lesson12.answering import prompt_line, reader_curves, readers_picture, token_line, token_step
from course_lib.explorers.lesson12.elsewhere import other_ways, wiring
from course_lib.explorers.lesson12.growth import (
    COUNTS,
    bend,
    replica_lines,
    replicas_only,
    scaled,
    scaling_picture,
    shares_at,
    times_as_fast,
)
from course_lib.explorers.lesson12.measured import (
    judged_line,
    llama_lines,
    measured_weak,
    past_the_box,
    table_picture,
    utilisations,
    where_it_came_from,
)
from course_lib.explorers.lesson12.onestep import (
    GROUP_OF,
    box_and_rack,
    box_and_rack_lines,
    crossings,
    exposed_s,
    memory_lines,
    plan_step,
    terms_picture,
)
from course_lib.explorers.lesson12.planpicker import ORDERS, START, plan_picker, read_plan
from course_lib.explorers.lesson12.searched import plan_name, plans, plans_picture
