"""How close an answer of exercise 09 must be where nothing is rounded."""

from course_lib.grading.answers import Number

EXACT = Number(tolerance=1e-9)
