"""Exercise A: four logs to diagnose: a slow box, copies between pairs, a run that never was, a cluster."""

from course_lib.grading.bank.exa.q1_slow_box import q1
from course_lib.grading.bank.exa.q2_pairs import q2
from course_lib.grading.bank.exa.q3_never_joined import q3
from course_lib.grading.bank.exa.q4_cluster import q4

QUESTIONS = (q1, q2, q3, q4)
