"""What exercise 13 keeps from the learner's session."""

WITHHELD = tuple(
    f"course_lib.cluster.{name}"
    for name in ("checkpoints", "goodput", "cost", "telemetry", "chances", "tenants", "loadmix")
)
