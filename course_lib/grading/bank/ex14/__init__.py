"""Exercise 14, the design review: a design that the models check, and the review of an incident report with five errors."""

from course_lib.grading.bank.ex14.q1_design import q1
from course_lib.grading.bank.ex14.q2_report import q2

QUESTIONS = (q1, q2)
