"""What exercise 10 keeps from the learner's session, and the rack's counts."""

WITHHELD = tuple(f"course_lib.plan.{n}" for n in ("rack", "racks", "experts", "expertlayer", "expertruns"))
GPUS_PER_HOST, HOSTS, RACK = 4, 18, 72
