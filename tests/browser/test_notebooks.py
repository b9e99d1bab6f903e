"""Every lesson in a browser: runs offline, and every control of every explorer moves its picture without an error."""

import pytest

from .lab import ROOT, drive_every_control

pytestmark = pytest.mark.browser
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_every_control_of_a_lesson_moves_its_picture(watch, path):
    page = watch(f"notebooks/{path.name}", height=1400)
    assert page.outputs_with_errors() == []
    assert drive_every_control(page) == []
    assert page.blocked == []
    assert page.errors == []
