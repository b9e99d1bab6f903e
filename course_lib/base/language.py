"""Translated text: `_("… {value}").format(value=…)` is how every sentence that learners meet is written."""

import gettext
import os
from functools import cache
from pathlib import Path

LOCALES = Path(__file__).parent.parent / "locales"


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation("interconnect", LOCALES, languages=[language], fallback=True)


def chosen_language() -> str:
    """Return the language code in force: INTERCONNECT_LANG, else the system's, else English.

    >>> isinstance(chosen_language(), str)
    True
    """
    for variable in ("INTERCONNECT_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(variable, "").split(".")[0]
        if value and value not in ("C", "POSIX"):
            return value
    return "en"


def _(text: str) -> str:
    """Return `text` in the chosen language, or as it is where no translation exists.

    >>> _("{size} is not a size").format(size="-1")
    '-1 is not a size'
    """
    return _catalogue(chosen_language()).gettext(text)
