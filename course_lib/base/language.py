"""Translated text: `_("… {value}").format(value=…)` is how every sentence that learners meet is written."""

import gettext
import locale
import os
import re
from functools import cache
from pathlib import Path

LOCALES = Path(__file__).parent.parent / "locales"
HAN = "\u3400-\u9fff"
_FULL = dict(zip(",;:.!?", "，；：。！？"))
_AFTER_HAN = re.compile(rf"(?<=[{HAN}）」”])[,;:.!?](?: |$|(?=[{HAN}（「“]))", re.MULTILINE)
_BEFORE_HAN = re.compile(rf"(?:(?<=\S)[,;:]|(?<=\S)(?<!\s\d)(?<!^\d)\.) (?=[{HAN}（「“])", re.MULTILINE)
_BETWEEN = re.compile(r"(?<=[\w%）)])[;:] (?=\S)")
_LAST_STOP = re.compile(r"(?<=[\w%）])\.$", re.MULTILINE)
_GAP = re.compile(r"(?<=[，；：。！？、]) (?=[^ \n←])")
_NO_BLANK, _BLANK = (
    re.compile(rf"(?<=[{HAN}）」”]) (?=[{HAN}（「“])"),
    re.compile(rf"(?<=[{HAN}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[{HAN}])"),
)


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation("interconnect", LOCALES, languages=[language], fallback=True)


@cache
def code_of(name: str) -> str:
    """Return the code of the catalogue that a system's name for a language means; every Chinese is one of two.

    >>> code_of("zh-HK"), code_of("zh_TW.UTF-8"), code_of("Chinese (Simplified)_China"), code_of("zh"), code_of("de_AT@euro")
    ('zh_TW', 'zh_TW', 'zh_CN', 'zh_CN', 'de_AT')
    """
    code = re.split(r"[.@]", name)[0].replace("-", "_")
    words = set(re.findall("[a-z]+", code.lower()))
    if words & {"zh", "chinese"}:
        return "zh_TW" if words & {"tw", "hk", "mo", "hant", "traditional", "taiwan"} else "zh_CN"
    return code


@cache
def _system() -> str:
    return locale.getlocale()[0] or "en"  # Windows sets none of the variables


def chosen_language() -> str:
    """Return the language code in force: INTERCONNECT_LANG, else the system's, else English.

    The system's is, as for gettext, the first that the course speaks in LANGUAGE (`zh_TW:en`), where the locale is not C,
    else that of the locale: the first of LC_ALL, LC_MESSAGES and LANG that is set.

    >>> isinstance(chosen_language(), str)
    True
    """
    if own := os.environ.get("INTERCONNECT_LANG", "").strip():
        return code_of(own)
    locales = (os.environ.get(variable, "").strip() for variable in ("LC_ALL", "LC_MESSAGES", "LANG"))
    set_to = next((value for value in locales if value), "")
    if re.split(r"[.@]", set_to)[0] in ("C", "POSIX"):
        return "en"
    for value in filter(None, os.environ.get("LANGUAGE", "").split(":")):
        if (code := code_of(value)).startswith("en") or (LOCALES / code).is_dir():
            return code
    return code_of(set_to or _system())


def punctuated(text: str) -> str:
    """Return a text put together from parts: in a Chinese one with Chinese punctuation, and blanks only around Latin words.

    >>> punctuated("最慢的流, 450 GB/s. 没有一条比独占时慢。 其余相同; 450 GB/s.")
    '最慢的流，450 GB/s。没有一条比独占时慢。其余相同；450 GB/s。'
    >>> punctuated("the slowest flow, 450 GB/s. ")
    'the slowest flow, 450 GB/s. '
    >>> punctuated("环 用 32 µs; NVLS: 通信库会选ring")
    '环用 32 µs；NVLS：通信库会选 ring'
    """
    if not re.search(f"[{HAN}]", text):
        return text
    for place in (_AFTER_HAN, _BEFORE_HAN, _BETWEEN, _LAST_STOP):
        text = place.sub(lambda found: _FULL[found[0][0]], text)
    return _BLANK.sub(" ", _NO_BLANK.sub("", _GAP.sub("", text)))


def _(text: str) -> str:
    """Return `text` in the chosen language, or as it is where no translation exists.

    >>> _("{size} is not a size").format(size="-1")
    '-1 is not a size'
    """
    return _catalogue(chosen_language()).gettext(text)
