"""Question 12.q5: the claims of an article."""

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries
from course_lib.grading.question import Misconception, Question

WRONG, CONDITION, TRUE = "wrong", "condition", "true"

VERDICTS = {
    "A": WRONG,  # TPU pods use NVLink
    "B": WRONG,  # every large chatbot
    "C": WRONG,  # the backbone of the Research SuperCluster
    "D": WRONG,  # NVLink 5 is upcoming
    "E": WRONG,  # a DGX H100 is a full mesh
    "F": WRONG,  # PCIe cannot share memory
    "G": WRONG,  # nobody splits by hand
    "H": TRUE,  # 256 GPUs, tapered
    "I": CONDITION,  # twice the GPUs, half the time
    "J": CONDITION,  # tensor parallelism over more GPUs shortens a token
    "K": TRUE,  # between NVL72 racks InfiniBand or Ethernet
    "L": TRUE,  # a growing batch
}

q5 = Question(
    id="12.q5",
    title=_("Fact check of an article"),
    points=2,
    answer="verdicts",
    expects=Entries(Choice((WRONG, CONDITION, TRUE))),
    reference=VERDICTS,
    misconceptions=(
        Misconception(
            "NVLink everywhere",
            {"A": TRUE, "B": TRUE},
            _(
                "You take NVLink for the only fast link. TPUs have links of Google's own in a torus, and "
                "Gemini is trained and served on them."
            ),
        ),
        Misconception(
            "NVLink between servers",
            {"C": TRUE},
            _(
                "You let NVLink leave the server. In the Research SuperCluster it joins eight GPUs of a "
                "server; InfiniBand joins the servers."
            ),
        ),
        Misconception(
            "a data sheet of 2023",
            {"D": TRUE},
            _("You go by an old article. NVLink 5 came with Blackwell and is in use; NVLink 6 is the announced one."),
        ),
        Misconception(
            "a switch read as a mesh",
            {"E": TRUE, "F": TRUE},
            _(
                "You mix up what is reachable with how it is wired. In a DGX H100 all links lead to four "
                "switch chips, and peer access works over PCIe as well, only slower."
            ),
        ),
        Misconception(
            "the switch splits the model",
            {"G": TRUE},
            _(
                "You let the switch do the software's work. Somebody still chooses tensor, pipeline, data and "
                "expert ranks; the domain makes some choices cheap."
            ),
        ),
        Misconception(
            "what did not stay did not exist",
            {"H": WRONG, "K": WRONG},
            _(
                "You reject what was built or is in use. The 256-GPU switch system existed, and beyond a rack "
                "there are InfiniBand and Ethernet."
            ),
        ),
        Misconception(
            "more is always faster",
            {"I": TRUE, "J": TRUE},
            _(
                "You take more GPUs for faster. With a fixed batch the bubble and the collectives stay, and a "
                "token over two boxes can take longer than over one."
            ),
        ),
        Misconception(
            "a condition for what is wrong",
            dict.fromkeys("ABCDEFG", CONDITION),
            _("You look for a condition under which it holds. No condition makes it true."),
        ),
        Misconception(
            "a condition for what was seen",
            dict.fromkeys("HKL", CONDITION),
            _("You miss a condition where none is needed. The sentence says what was built or measured, and no more."),
        ),
        Misconception(
            "no scaling at all",
            {"I": WRONG, "J": WRONG, "L": WRONG},
            _("You reject what holds within bounds. Say what has to hold: which batch, how many GPUs, which links."),
        ),
    ),
)
