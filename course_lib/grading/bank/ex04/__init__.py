"""Exercise 04, eight GPUs add a vector: write rings that are proved, repair a schedule, count bytes, read bus bandwidths."""

from course_lib.grading.bank.ex04.q1_q2_rings import q1, q2
from course_lib.grading.bank.ex04.q3_repair import q3
from course_lib.grading.bank.ex04.q4_bytes import q4
from course_lib.grading.bank.ex04.q5_busbw import q5
from course_lib.grading.bank.ex04.q6_ranks import q6

QUESTIONS = (q1, q2, q3, q4, q5, q6)
