"""The models of the course: links, fabrics, collectives, clusters; figures and checks on top."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  one line, before any import can fail with something less clear
    raise SystemExit("This course needs Python 3.11 or newer; this is Python %d.%d." % sys.version_info[:2])  # noqa: UP031

__version__ = "0.1.0"
