"""Exercise 00, start here: read a data sheet without losing a factor of 1000, 8, 2 or 1.074."""

from course_lib.grading.bank.ex00.q1_payload import q1
from course_lib.grading.bank.ex00.q2_claims import q2
from course_lib.grading.bank.ex00.q3_directions import q3
from course_lib.grading.bank.ex00.q4_merged import q4

QUESTIONS = (q1, q2, q3, q4)
