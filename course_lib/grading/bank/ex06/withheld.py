"""What exercise 06 keeps from the learner's session."""

WITHHELD = ("course_lib.plan.slicing", "course_lib.plan.slices")
