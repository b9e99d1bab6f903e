"""Exercise 10, seventy-two: seats, residuals and a range, copies that leave a box, the largest degree, a lost tray."""

from course_lib.grading.bank.ex10.q1_seats import q1
from course_lib.grading.bank.ex10.q2_residuals import q2
from course_lib.grading.bank.ex10.q3_range import q3
from course_lib.grading.bank.ex10.q4_copies import q4
from course_lib.grading.bank.ex10.q5_degree import q5
from course_lib.grading.bank.ex10.q6_lost_tray import q6

QUESTIONS = (q1, q2, q3, q4, q5, q6)
