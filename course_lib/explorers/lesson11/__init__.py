"""Lesson 11: flows through leaves and spines, by hash or spread, and what the lesson prints and draws."""

from course_lib.explorers.lesson11.flows import PATTERNS, RATIOS, WAYS, fabric, neighbours, over_seeds, send
from course_lib.explorers.lesson11.losses import collisions, losses, one_and_four, rdma_or_host
from course_lib.explorers.lesson11.networks import bills, reference_designs, sources_of_runs
from course_lib.explorers.lesson11.uplinks import hash_or_spread, placed, placement_picture
