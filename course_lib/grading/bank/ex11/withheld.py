"""What exercise 11 keeps from the learner's session."""

WITHHELD = (
    "course_lib.fabric.bill",
    "course_lib.fabric.clos",
    "course_lib.fabric.collisions",
    "course_lib.fabric.sharing.fullest_of_hashed",
    "course_lib.links.recovery",
    "course_lib.timing.acrossboxes",
)
