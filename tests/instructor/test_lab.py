"""`make lab` ends as it says: one Ctrl+C, and the server takes its kernels and its files with it."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

import pytest

from tests.browser.lab import ROOT, free_port


@pytest.mark.kernel
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl+C reaches a group of processes elsewhere only.")
def test_one_ctrl_c_ends_the_lab_and_its_kernels(tmp_path):
    run, log, port = tmp_path / "run", tmp_path / "log", free_port()
    env = os.environ | {"JUPYTER_RUNTIME_DIR": str(run), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", "from course_lib.cli.main import main; raise SystemExit(main())"]
    words += ["lab", "--no-browser", "--port", str(port)]
    _screen, keyboard = os.openpty()  # without a terminal JupyterLab leaves Ctrl+C to Python
    with open(log, "w", encoding="utf-8") as out:
        lab = subprocess.Popen(words, cwd=ROOT, env=env, stdin=keyboard, stdout=out, stderr=out, start_new_session=True)
    try:
        _until(lambda: "token=" in log.read_text(encoding="utf-8"))
        (about,) = run.glob("jpserver-*.json")
        token = json.loads(about.read_text(encoding="utf-8"))["token"]
        asked = f"http://127.0.0.1:{port}/api/kernels?token={token}"
        kernel = json.load(urllib.request.urlopen(urllib.request.Request(asked, data=b"{}"), timeout=120))
        assert list(run.glob(f"kernel-{kernel['id']}.json"))
        os.killpg(lab.pid, signal.SIGINT)  # as a terminal does: to everybody
        assert lab.wait(120) == 0
    finally:
        if lab.poll() is None:
            os.killpg(lab.pid, signal.SIGKILL)
    assert "Shut down this Jupyter server" not in log.read_text(encoding="utf-8")
    assert not list(run.glob("jpserver-*"))  # what was killed leaves them
    assert not list(run.glob("kernel-*"))


def _until(there, seconds=240):
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end
        time.sleep(0.1)
