"""Exercise 12, scaling: where efficiency bends, what crosses a card, a token's collectives, a plan, an article."""

from course_lib.grading.bank.ex12.q1_efficiency import q1
from course_lib.grading.bank.ex12.q2_rank_order import q2
from course_lib.grading.bank.ex12.q3_token import q3
from course_lib.grading.bank.ex12.q4_best_plan import q4
from course_lib.grading.bank.ex12.q5_article import q5

QUESTIONS = (q1, q2, q3, q4, q5)
