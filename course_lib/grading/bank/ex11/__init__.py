"""Exercise 11, leaving the rack: a network's bill, hops of a ring, colliding flows, goodput, models, digits, four faults."""

from course_lib.grading.bank.ex11.q1_bill import q1
from course_lib.grading.bank.ex11.q2_hops import q2
from course_lib.grading.bank.ex11.q3_collisions import q3
from course_lib.grading.bank.ex11.q4_goodput import q4
from course_lib.grading.bank.ex11.q5_models import q5
from course_lib.grading.bank.ex11.q6_digits import q6
from course_lib.grading.bank.ex11.q7_four_logs import q7

QUESTIONS = (q1, q2, q3, q4, q5, q6, q7)
