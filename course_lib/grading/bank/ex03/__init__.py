"""Exercise 03: what pairs, halves and ports get, what a pool of memory holds, and three rates for one link."""

from course_lib.grading.bank.ex03.q1_pairs import q1
from course_lib.grading.bank.ex03.q2_bisection import q2
from course_lib.grading.bank.ex03.q3_pool import q3
from course_lib.grading.bank.ex03.q4_switch import q4
from course_lib.grading.bank.ex03.q5_three_rates import q5

QUESTIONS = (q1, q2, q3, q4, q5)
