"""What exercise 04 keeps from the learner's session, and the operations it asks about."""

OPS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all")
WITHHELD = ("course_lib.comm.ring", "course_lib.comm.registry", "course_lib.comm.collective")

# Schedules need the module itself: only what the last questions ask for is left out of it.
FACTORS = tuple(
    f"course_lib.comm.meaning.{name}" for name in ("bus_factor", "busbw_Bps", "busbw_from_algbw", "least_sent_B")
)
