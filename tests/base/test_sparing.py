"""A kernel that draws does not pay for a grammar nobody uses."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("first", ["course_lib.explorers.lesson00", "course_lib.figures.theme"])
def test_what_draws_or_checks_compiles_no_grammar_and_still_reads_notebooks(first):
    code = f"""
import sys, {first}, nbformat
nbformat.validate(nbformat.v4.new_notebook())
assert "rfc3987_syntax" not in sys.modules
try:
    nbformat.validate({{"cells": 1}})
except nbformat.ValidationError:
    print("refused")
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "refused\n"
