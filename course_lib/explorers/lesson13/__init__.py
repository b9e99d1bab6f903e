"""Lesson 13: fleets, useful time, bills, alarms, tenants and gates, and the explorer of cluster size."""

from course_lib.explorers.lesson13.alarms import alarm_picture, fleet_origins, fleet_picture, origins
from course_lib.explorers.lesson13.costs import bill, bill_picture, energy_J, purchase_only, usd_per_million
from course_lib.explorers.lesson13.gated import TARGETS, refused
from course_lib.explorers.lesson13.sharing import OWNERS, ranking, ranking_picture, reach_picture, slowed, two_tenants
from course_lib.explorers.lesson13.sizes import GPUS, RATES, STALLS, cluster, read_cluster
from course_lib.explorers.lesson13.usefultime import interval_picture, jobs, shares_picture, write_s
