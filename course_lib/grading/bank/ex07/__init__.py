"""Exercise 07, a pipeline of blocks: the bubble twice, a 1F1B order, activations in flight, sliced or staged across hosts."""

from course_lib.grading.bank.ex07.q1_bubble import q1
from course_lib.grading.bank.ex07.q2_order import q2
from course_lib.grading.bank.ex07.q3_in_flight import q3
from course_lib.grading.bank.ex07.q4_q5_across_hosts import q4, q5

QUESTIONS = (q1, q2, q3, q4, q5)
