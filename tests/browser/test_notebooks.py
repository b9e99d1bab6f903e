"""Every lesson in a browser: offline, every control moves its picture, no option is cut, axe-core is content, labels fit a phone."""

import pytest

from . import access
from .lab import ROOT, drive_every_control, visible_explorers

pytestmark = pytest.mark.browser
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_a_lesson_works_for_every_reader(browser, watch, path):
    page = watch(f"notebooks/{path.name}", height=1400)
    assert page.outputs_with_errors() == []
    assert len(visible_explorers(page)) == page.page.locator(".ic-explorer:has(.ic-figure)").count() > 0
    assert drive_every_control(page) == []
    assert access.cut_options(page.page) == []
    assert access.faults(page.page, ".ic-explorer", ".jp-RenderedPlotly") == []
    drawn = access.figures(page.page)
    assert drawn
    assert access.touching(browser, drawn) == []
    assert page.blocked == []
    assert page.errors == []
