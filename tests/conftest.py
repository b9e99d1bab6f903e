"""Suites that need a browser, nbgrader or a kernel run under CI=true, or when asked for by name with -m."""

import os
import zlib
from collections import Counter

import pytest
from xdist.scheduler import LoadScopeScheduling

HEAVY = ("hostile", "browser", "nbgrader", "kernel")
# A worker takes a whole file, whose fixtures are then made once. These files are cut instead: into so many parts, or into single
# tests where nothing is shared. (The marks of `--dist=loadgroup` say nothing: xdist 3.8 loses them under pytest 9.2.)
PARTS = {"test_bank.py": 6, "test_docstrings.py": 6, "test_notebooks.py": 3}
SINGLE = ("test_run.py", "test_recipes.py", "test_environment_files.py", "test_rehearse.py")


class ByFile(LoadScopeScheduling):
    """Deals files, or parts of files, to the workers, in the order in which they were collected."""

    def _split_scope(self, nodeid):
        file = nodeid.split("::")[0]
        name = file.rsplit("/", 1)[-1]
        if name in SINGLE:
            return nodeid
        return f"{file} {zlib.crc32(nodeid.encode()) % PARTS.get(name, 1)}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Start two workers for each core with the heavy suites: a browser, a hub or a sandbox that loops mostly waits."""
    return 2 * (os.cpu_count() or 1) if os.environ.get("CI") == "true" else None


def turns(items):
    """Return {file: (turn, suite)}: files of heavy suites come first, so that no worker ends alone, and the suites take turns."""
    suites, seen = {}, Counter()
    for item in items:
        found = next((place for place, name in enumerate(HEAVY) if item.get_closest_marker(name)), len(HEAVY))
        suites[item.path] = min(suites.get(item.path, len(HEAVY)), found)
    turn = {}
    for path, suite in suites.items():
        turn[path] = (seen[suite], suite) if suite < len(HEAVY) else (len(items), suite)
        seen[suite] += 1
    return turn


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):  # one of xdist's workers
        turn = turns(items)
        items.sort(key=lambda item: turn[item.path])
    if os.environ.get("CI") == "true" or config.getoption("-m"):
        return
    for item in items:
        heavy = [name for name in HEAVY if item.get_closest_marker(name)]
        if heavy:
            item.add_marker(pytest.mark.skip(reason=f"{heavy[0]} suite: set CI=true or use -m {heavy[0]}"))


@pytest.fixture(autouse=True)
def _own_notes(tmp_path_factory, monkeypatch):
    """Keep tests out of the learner's progress, and the text of messages English."""
    monkeypatch.setenv("INTERCONNECT_HOME", str(tmp_path_factory.mktemp("notes") / ".interconnect"))
    monkeypatch.setenv("INTERCONNECT_LANG", "en")
