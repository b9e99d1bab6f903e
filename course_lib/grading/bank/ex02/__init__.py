"""Exercise 02, how fast is this link: fit a line, find a hidden link, send many or one, sort messages by regime."""

from course_lib.grading.bank.ex02.q1_fit import q1
from course_lib.grading.bank.ex02.q2_mystery import q2
from course_lib.grading.bank.ex02.q3_packing import q3
from course_lib.grading.bank.ex02.q4_regimes import q4

QUESTIONS = (q1, q2, q3, q4)
