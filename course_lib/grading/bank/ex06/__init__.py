"""Exercise 06, slicing a matrix: write sliced layers, count sums and bytes, judge two GPUs over three links."""

from course_lib.grading.bank.ex06.q1_mlp import q1
from course_lib.grading.bank.ex06.q2_counted import q2
from course_lib.grading.bank.ex06.q3_attention import q3
from course_lib.grading.bank.ex06.q4_sequence import q4
from course_lib.grading.bank.ex06.q5_two_gpus import q5
from course_lib.grading.bank.ex06.q6_three_links import q6

QUESTIONS = (q1, q2, q3, q4, q5, q6)
