"""Feedback through nbgrader's exchange, also where the runner wrote the page: `nbgrader release_feedback`."""

import os
import stat
from pathlib import Path

from nbgrader.exchange.default import ExchangeReleaseFeedback

# nbgrader reads both beside the page; it names the page in the exchange by the secret, which only this learner knows.
FILES = ("timestamp.txt", "submission_secret.txt")
MOST_B = 1000


class ReleaseFeedback(ExchangeReleaseFeedback):
    """nbgrader's own step; before it, time and secret of each hand-in are put beside its page."""

    def copy_files(self) -> None:
        """Complete the folders of the pages, then release them; a hand-in that came without a secret is named and left out."""
        left_out = set(filter(None, self.coursedir.student_id_exclude.split(",")))
        root = Path(self.coursedir.format_path(self.coursedir.feedback_directory, ".", ".")).resolve()
        exercise = self.coursedir.assignment_id
        for page in sorted(root.glob(f"*/{exercise}/*.html")):
            student = page.parent.parent.name
            handed_in = Path(self.coursedir.format_path(self.coursedir.submitted_directory, student, exercise))
            for name in FILES:
                text = plain_text(handed_in / name)
                if text is not None:
                    (page.parent / name).write_text(text, encoding="utf-8")
            if not all((page.parent / name).is_file() for name in FILES):
                self.log.warning("%s did not come through the exchange; hand the page out in another way.", student)
                left_out.add(student)
        self.coursedir.student_id_exclude = ",".join(sorted(left_out))
        super().copy_files()


def plain_text(path: Path) -> str | None:
    """Return what a small ordinary file says, or None: a learner made it, so no link is followed and no pipe is opened."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        content = file.read(MOST_B + 1)
    if len(content) > MOST_B:
        return None
    return content.decode("utf-8", "replace").strip()
