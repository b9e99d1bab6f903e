"""JupyterHub for a trial on this computer: anybody logs in by name and one password, all servers run as you. No class.

Start it with `python instructor/hub/trial.py`, which installs the proxy and sets the password. README.md says what is safe.
"""

import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# All that the trial writes: homes, exchange, the hub's database. Git ignores grading/.
STATE = Path(os.environ.get("INTERCONNECT_HUB", ROOT / "grading" / "hub"))
EXCHANGE = Path(os.environ.get("INTERCONNECT_EXCHANGE", ROOT / "grading" / "exchange"))
PORT = int(os.environ.get("INTERCONNECT_HUB_PORT", "8870"))
STATE.mkdir(parents=True, exist_ok=True)
EXCHANGE.mkdir(parents=True, exist_ok=True)
EXCHANGE.chmod(0o777)  # nbgrader refuses an exchange that not everybody may write


def welcome(spawner):
    """Give a learner the lessons, at the first start; the links between lessons and exercises hold."""
    home = STATE / "homes" / spawner.user.name
    (home / "exercises").mkdir(parents=True, exist_ok=True)
    if not (home / "notebooks").exists():
        shutil.copytree(ROOT / "notebooks", home / "notebooks", ignore=shutil.ignore_patterns(".*"))
    if (ROOT / "exercises" / "AGENTS.md").is_file():
        shutil.copy(ROOT / "exercises" / "AGENTS.md", home / "exercises" / "AGENTS.md")


c = get_config()
c.JupyterHub.bind_url = f"http://127.0.0.1:{PORT}"  # this computer only
c.JupyterHub.hub_port = PORT + 1
c.JupyterHub.db_url = f"sqlite:///{STATE / 'hub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(STATE / "cookie_secret")
c.JupyterHub.template_vars = {"announcement": "A trial: one password for all, and no walls between learners."}

c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{PORT + 2}"
c.ConfigurableHTTPProxy.pid_file = str(STATE / "proxy.pid")
c.ConfigurableHTTPProxy.command = [
    os.environ.get("INTERCONNECT_NODE", "node"),
    str(STATE / "proxy" / "node_modules" / "configurable-http-proxy" / "bin" / "configurable-http-proxy"),
]

c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = os.environ["INTERCONNECT_HUB_PASSWORD"]
c.Authenticator.allow_all = True

c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = str(STATE / "homes" / "{username}")
c.Spawner.pre_spawn_hook = welcome
c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
c.Spawner.args = ["--allow-root"] if os.geteuid() == 0 else []
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 120
c.Spawner.environment = {
    "JUPYTER_CONFIG_PATH": os.pathsep.join(
        (str(HERE / "learner"), str(ROOT / "course_lib" / "cli" / "jupyter_config"))
    ),
    "INTERCONNECT_EXCHANGE": str(EXCHANGE),
    # Progress and predictions of each learner lie in the learner's home, not beside the course.
    "INTERCONNECT_HOME": lambda spawner: str(STATE / "homes" / spawner.user.name / ".interconnect"),
}
