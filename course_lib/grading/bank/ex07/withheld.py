"""What exercise 07 keeps from the learner's session."""

WITHHELD = tuple(f"course_lib.plan.{name}" for name in ("orders", "pipeline", "review", "crossing", "pipelineruns"))
