"""Starts the trial hub: installs its proxy at the first start, chooses a password, and runs JupyterHub until Ctrl+C.

python instructor/hub/trial.py            # needs the extra: pip install -e ".[hub]"
python instructor/hub/trial.py --install  # the proxy only
"""

import argparse
import os
import secrets
import sys
from pathlib import Path

from course_lib.base.errors import CourseError
from course_lib.cli import node

HERE = Path(__file__).resolve().parent
STATE = Path(os.environ.get("INTERCONNECT_HUB", HERE.parents[1] / "grading" / "hub"))


def main() -> int:
    """Install, say where to log in, and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="install the proxy and stop")
    parser.add_argument("--config", type=Path, default=HERE / "jupyterhub_config.py", help="another configuration")
    args = parser.parse_args()
    try:
        node.install(HERE, STATE / "proxy")
    except CourseError as error:
        print(f"The hub needs its proxy. {error}", file=sys.stderr)
        return 2
    if args.install:
        return 0
    env = os.environ | {"INTERCONNECT_NODE": node.commands()[0][0]}
    env.setdefault("INTERCONNECT_HUB_PASSWORD", secrets.token_urlsafe(9))
    port = env.get("INTERCONNECT_HUB_PORT", "8870")
    where = f"http://127.0.0.1:{port}"
    print(f"{where}: log in under any name with the password {env['INTERCONNECT_HUB_PASSWORD']}", flush=True)
    words = [sys.executable, "-m", "jupyterhub", "--config", str(args.config.resolve()), "--log-level=WARN"]
    os.chdir(STATE)
    os.execve(words[0], words, env)  # Ctrl+C and a stop from outside reach the hub itself, which ends the servers


if __name__ == "__main__":
    raise SystemExit(main())
