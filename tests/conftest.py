"""Suites that need a browser, nbgrader or a kernel run under CI=true, or when asked for by name with -m."""

import os

import pytest

HEAVY = ("browser", "nbgrader", "hostile", "kernel")


def pytest_collection_modifyitems(config, items):
    for item in items:  # a heavy file shares one server or one class, so it stays in one worker; browsers work in two
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group(f"browser-{len(item.nodeid) % 2}"))
        elif item.get_closest_marker("nbgrader") or item.get_closest_marker("hostile"):
            item.add_marker(pytest.mark.xdist_group(item.path.name))
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
