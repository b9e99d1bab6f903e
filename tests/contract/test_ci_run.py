"""CI's script for somebody who is not root: with everything there it asks for nothing, without sudo it says what is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "run"
TOOLS = ("make", "chromium", "bwrap")

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="There is no bash here.")


def ran(folder, there):
    """Run a copy of the script where only the tools `there` exist and `id` says 1000; make tells how it was called."""
    (folder / "course" / ".ci").mkdir(parents=True)
    copy = shutil.copy(SCRIPT, folder / "course" / ".ci" / "run")
    tools = folder / "tools"
    tools.mkdir()
    for name in ("bash", "dirname"):
        os.symlink(shutil.which(name), tools / name)
    os.symlink(sys.executable, tools / "python3")
    for name, does in {"id": "echo 1000", "apt-get": "echo apt", **dict.fromkeys(there, 'echo "make $CI $@"')}.items():
        (tools / name).write_text(f"#!{tools / 'bash'}\n{does}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    return subprocess.run([tools / "bash", copy], env={"PATH": str(tools)}, capture_output=True, text=True)


def test_with_everything_there_nothing_is_installed(tmp_path):
    done = ran(tmp_path, TOOLS)
    assert (done.returncode, done.stdout) == (0, "make true --jobs=2 test lint\n"), done.stderr


@pytest.mark.parametrize("missing", TOOLS)
def test_without_sudo_what_is_missing_is_named(tmp_path, missing):
    done = ran(tmp_path, [name for name in TOOLS if name != missing])
    package = {"bwrap": "bubblewrap"}.get(missing, missing)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"Missing, and there is no sudo to install them: {package}\n"
