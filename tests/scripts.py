"""Scripts of a folder that is no package (`site/`, `benchmarks/`), as the modules that they are when one of them is run."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]


def scripts(folder: str, *names: str) -> tuple[ModuleType, ...]:
    """Return scripts that lie side by side in `folder`."""
    sys.path.insert(0, str(ROOT / folder))
    try:
        return tuple(importlib.import_module(name) for name in names)
    finally:
        sys.path.remove(str(ROOT / folder))
