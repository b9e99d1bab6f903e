"""A class on the trial hub: two learners fetch, work, check and hand in; the instructor collects, marks and hands back."""

import contextlib
import csv
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from course_lib.base.errors import CourseError
from course_lib.grading import sandbox
from tests.grading.handins import MISTAKEN, RIGHT, cell

pytestmark = pytest.mark.nbgrader
ROOT = Path(__file__).parents[2]
HUB = ROOT / "instructor" / "hub"
EXERCISE = "00_start_here"
TOKEN = "a-token-of-this-test-only-0123456789"

# The shipped configuration, and a service that may act for learners: the test's hand on their browsers.
CONFIG = f"""
load_subconfig({str(HUB / "jupyterhub_config.py")!r})
c.JupyterHub.services = [{{"name": "test", "api_token": {TOKEN!r}}}]
c.JupyterHub.load_roles = [{{"name": "test", "services": ["test"],
    "scopes": ["admin:users", "admin:servers", "access:servers"]}}]
c.JupyterHub.tornado_settings = {{"slow_spawn_timeout": 0}}  # both servers start at the same time
c.LocalProcessSpawner.interrupt_timeout = 1
"""


def free_port():
    """Return a port that is free together with the two after it."""
    for port in range(18870, 19870, 10):
        with contextlib.ExitStack() as stack:
            try:
                for one in range(port, port + 3):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", one))
            except OSError:
                continue
            return port
    return pytest.skip("no three free ports in a row")


class Browser:
    """Requests to the hub and to learners' servers."""

    def __init__(self, port):
        self.address = f"http://127.0.0.1:{port}"

    def ask(self, method, path, body=None, form=None):
        headers = {"Authorization": f"token {TOKEN}"}
        data = None
        if form is not None:
            data = urllib.parse.urlencode(form).encode()
        elif body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.address + path, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read().decode("utf-8")
        return json.loads(text) if text.strip() else None

    def step(self, learner, name, **form):
        form = form or {"course_id": "interconnect", "assignment_id": EXERCISE}
        answer = self.ask("POST", f"/user/{learner}/assignments/{name}", form=form)
        assert answer["success"], answer
        return answer.get("value")


def wait(what, true, process, log, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            if true():
                return
        time.sleep(0.2)
    pytest.fail(f"{what}: {log.read_text(encoding='utf-8')[-3000:]}")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    """Return the hub's folder with the proxy in it."""
    pytest.importorskip("jupyterhub", reason="The hub is the extra `hub`: pip install -e '.[hub]'.")
    from course_lib.cli import node

    state = tmp_path_factory.mktemp("hub")
    try:
        node.install(HUB, state / "proxy")
    except CourseError as error:
        pytest.skip(f"The proxy cannot be installed here. {error}")
    return state


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Return an instructor's course with one exercise."""
    course = tmp_path_factory.mktemp("course")
    (course / "notebooks").mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", course)
    for kind in ("solutions", "exercises"):
        shutil.copytree(ROOT / kind / EXERCISE, course / kind / EXERCISE)
    return course


@pytest.fixture(scope="module")
def hub(proxy, course):
    """Run the hub as README.md says, and end it with what it started."""
    port, log, config = free_port(), proxy / "log", proxy / "config.py"
    config.write_text(CONFIG, encoding="utf-8")
    env = os.environ | {
        "INTERCONNECT_HUB": str(proxy),
        "INTERCONNECT_EXCHANGE": str(course / "grading" / "exchange"),
        "INTERCONNECT_HUB_PORT": str(port),
    }
    words = [sys.executable, str(HUB / "trial.py"), "--config", str(config)]
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(words, env=env, stdout=file, stderr=file, start_new_session=True)
    browser = Browser(port)
    try:
        wait("the hub does not come up", lambda: browser.ask("GET", "/hub/api/"), process, log)
        yield browser, process, log
    finally:
        process.terminate()  # the hub ends the proxy and the learners' servers
        process.wait(30)


def instructor(course, *words):
    env = os.environ | {"PYTHONWARNINGS": "ignore", "INTERCONNECT_EXCHANGE": str(course / "grading" / "exchange")}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=course, env=env, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done


def test_two_learners_fetch_and_submit_and_get_their_own_feedback(hub, course, proxy):
    browser, process, log = hub
    homes = proxy / "homes"
    for learner in ("alice", "bob"):
        browser.ask("POST", f"/hub/api/users/{learner}", {})
        browser.ask("POST", f"/hub/api/users/{learner}/server")
    instructor(course, "nbgrader", "release_assignment", EXERCISE)  # while their servers start
    for learner, answers in (("alice", RIGHT), ("bob", MISTAKEN)):
        wait(
            f"{learner}'s server",
            lambda learner=learner: browser.ask("GET", f"/hub/api/users/{learner}")["server"],
            process,
            log,
        )
        assert (homes / learner / "notebooks" / "00_start_here.ipynb").is_file()
        browser.step(learner, "fetch")
        path = homes / learner / "exercises" / EXERCISE / f"{EXERCISE}.ipynb"
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for name, source in answers.items():
            cell(notebook, f"{name}-answer")["source"] = source
        first = next(c for c in notebook["cells"] if c["cell_type"] == "code" and "LEARNER" in "".join(c["source"]))
        first["source"] = "".join(first["source"]).replace('LEARNER = ""', f"LEARNER = {learner!r}")
        path.write_text(json.dumps(notebook), encoding="utf-8")
        if learner == "alice":
            said = browser.step(learner, "validate", path=f"exercises/{EXERCISE}/{EXERCISE}.ipynb")
            assert not said.get("failed"), said
        browser.step(learner, "submit")

    instructor(course, "nbgrader", "collect", EXERCISE)
    assert sorted(p.name for p in (course / "grading" / "submitted").iterdir()) == ["alice", "bob"]
    walls = [] if not sandbox.available() else ["--no-sandbox"]
    instructor(course, "course_lib.cli.main", "grade", "grading/submitted", "--exercise", "00", "--jobs", "2", *walls)
    with (course / "grading" / "report.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert {name: (row["state"], float(row["points"])) for name, row in rows.items()} == {
        "alice": ("marked", 10.0),
        "bob": ("marked", 6.0),
    }

    instructor(course, "nbgrader", "release_feedback", EXERCISE)
    for learner, wanted in (("alice", "10 of 10"), ("bob", "eight bits make a byte")):
        browser.step(learner, "fetch_feedback")
        (page,) = (homes / learner / "exercises" / EXERCISE / "feedback").rglob("*.html")
        assert wanted in page.read_text(encoding="utf-8")
    # What belongs to learners lies in their homes, and nothing beside the course.
    assert "bob" not in str(list((homes / "alice").rglob("*")))
