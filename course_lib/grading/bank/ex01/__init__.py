"""Exercise 01, PCIe or NVLink: payload of a link, flows that share a tree, staged or direct, and what ACS takes away."""

from course_lib.grading.bank.ex01.q1_payload import q1
from course_lib.grading.bank.ex01.q2_bottleneck import q2
from course_lib.grading.bank.ex01.q3_staged import q3
from course_lib.grading.bank.ex01.q4_acs import q4

QUESTIONS = (q1, q2, q3, q4)
