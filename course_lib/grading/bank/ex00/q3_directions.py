"""Question 00.q3: whether a figure counts one direction or both."""

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries
from course_lib.grading.question import Misconception, Question

_DIRECTION = {1: "one", 2: "both", 3: "one", 4: "one", 5: "both", 6: "both", 7: "both", 8: "one"}

q3 = Question(
    id="00.q3",
    title=_("One direction or both"),
    points=2,
    answer="direction",
    expects=Entries(Choice(("one", "both"))),
    reference=_DIRECTION,
    misconceptions=(
        Misconception(
            "headline read as one direction",
            {2: "one", 6: "one"},
            _("An NVLink headline adds both directions: 900 GB/s on the data sheet of an H100 is 450 each way."),
        ),
        Misconception(
            "network port read as both",
            {3: "both"},
            _("A network port is named after one direction: 400 Gb/s in and, at the same time, 400 Gb/s out."),
        ),
        Misconception(
            "sum of two copies read as one direction",
            {5: "one", 7: "one"},
            _("Where two copies run against each other and their rates are added, the number counts both directions."),
        ),
        Misconception(
            "a measured copy read as both",
            {1: "both", 4: "both", 8: "both"},
            _("A single copy goes one way, and so does what a GPU sends in a ring. Nothing is added here."),
        ),
    ),
)
