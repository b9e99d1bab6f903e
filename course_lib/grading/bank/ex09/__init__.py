"""Exercise 09, fewer bits: round, scale a loss, add in narrow types, send the top k, and say when it pays."""

from course_lib.grading.bank.ex09.q1_rounding import q1
from course_lib.grading.bank.ex09.q2_loss_scale import q2
from course_lib.grading.bank.ex09.q3_sums import q3
from course_lib.grading.bank.ex09.q4_top_k import q4
from course_lib.grading.bank.ex09.q5_fewer_bytes import q5
from course_lib.grading.bank.ex09.q6_two_runs import q6
from course_lib.grading.bank.ex09.q7_break_even import q7

QUESTIONS = (q1, q2, q3, q4, q5, q6, q7)
