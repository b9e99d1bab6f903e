"""Exercise 13, when parts fail: interval, goodput, cost of tokens, an alarm, tenants, a benchmark that misleads, spares, and gates."""

from course_lib.grading.bank.ex13.q1_interval import q1
from course_lib.grading.bank.ex13.q2_goodput import q2
from course_lib.grading.bank.ex13.q3_million_tokens import q3
from course_lib.grading.bank.ex13.q4_alarm import q4
from course_lib.grading.bank.ex13.q5_tenants import q5
from course_lib.grading.bank.ex13.q6_mix import q6
from course_lib.grading.bank.ex13.q7_spares import q7
from course_lib.grading.bank.ex13.q8_gates import q8

QUESTIONS = (q1, q2, q3, q4, q5, q6, q7, q8)
