"""Exercise 08, many replicas: a scheduler of overlap, bytes of a step, the best bucket, memory of ZeRO, steps and hours."""

from course_lib.grading.bank.ex08.q1_overlap import q1
from course_lib.grading.bank.ex08.q2_bytes import q2
from course_lib.grading.bank.ex08.q3_bucket import q3
from course_lib.grading.bank.ex08.q4_memory import q4
from course_lib.grading.bank.ex08.q5_hours import q5

QUESTIONS = (q1, q2, q3, q4, q5)
