"""In a notebook an error of the course is one sentence with its line, not a page of frames."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from course_lib.base.errors import CourseError, finite


def shown(code, capsys):
    InteractiveShell.clear_instance()
    try:
        InteractiveShell.instance().run_cell(code)
    finally:
        InteractiveShell.clear_instance()
    return capsys.readouterr().out


def test_a_course_error_is_shown_as_its_sentence_and_line(capsys):
    out = shown("from course_lib.base.errors import finite\n\nfinite('message_B', -1, at_least=0)", capsys)
    assert "message_B is -1; it has to be at least 0." in out
    assert "line 3 of this cell" in out
    assert "course_lib/base" not in out
    assert len(out.strip().splitlines()) == 1


def test_other_errors_keep_their_frames(capsys):
    assert "ZeroDivisionError" in shown("1 / 0", capsys)


def test_outside_a_notebook_no_line_is_named():
    with pytest.raises(CourseError) as caught:
        finite("n", "x")
    assert caught.value._render_traceback_() == ["CourseError: n is 'x'; a number is expected."]
