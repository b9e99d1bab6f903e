"""Exercise 05, ring, tree, or the switch: crossings, two levels and a fix to them, 480 on a link of 450, bytes."""

from course_lib.grading.bank.ex05.q1_crossover import q1
from course_lib.grading.bank.ex05.q2_two_levels import q2
from course_lib.grading.bank.ex05.q3_review import q3
from course_lib.grading.bank.ex05.q4_above_the_link import q4
from course_lib.grading.bank.ex05.q5_switch_bytes import q5

QUESTIONS = (q1, q2, q3, q4, q5)
