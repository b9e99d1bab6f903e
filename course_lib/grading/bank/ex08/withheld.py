"""What exercise 08 keeps from the learner's session."""

WITHHELD = ("course_lib.plan.sharding", "course_lib.plan.zero", "course_lib.plan.replicas")
