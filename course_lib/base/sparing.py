"""An import that would cost every kernel two seconds, spared."""

import sys
from importlib import import_module


def spare_the_grammar() -> None:
    """Import `jsonschema` without its check of international web addresses, where it is not imported yet.

    Plotly's renderers import nbformat, which imports jsonschema, which compiles a whole grammar of such addresses
    (`rfc3987_syntax`) if that package is there, as it is beside JupyterLab. No notebook's format has such an address.
    Afterwards the package can be imported as ever; that it is hidden meanwhile is jsonschema's own way to do without.

    >>> spare_the_grammar()
    >>> "jsonschema" in sys.modules
    True
    """
    name = "rfc3987_syntax"
    if "jsonschema" in sys.modules or name in sys.modules:
        return
    sys.modules[name] = None  # what Python takes for "not installed"
    try:
        import_module("jsonschema")
    except ImportError:
        pass
    finally:
        del sys.modules[name]
