"""What is wrong with a catalogue: missing keys, lost placeholders, fuzzy entries, characters of the other script."""

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping

# A Chinese character of the other script does not exist in these old character sets. Text is UTF-8 all the same.
SCRIPTS = {"zh_CN": "gb2312", "zh_TW": "big5"}
# Mainland words in characters that both scripts have, and Taiwan's word for each.
WORDS_TW = {
    "帶寬": "頻寬", "內存": "記憶體", "網絡": "網路", "隊列": "佇列", "服務器": "伺服器", "緩存": "快取", "字節": "位元組",
    "交換機": "交換器", "數據": "資料／封包", "並行": "平行", "信息": "資訊", "軟件": "軟體", "硬件": "硬體", "程序": "程式",
    "芯片": "晶片", "默認": "預設", "組播": "群播", "異步": "非同步", "算法": "演算法", "鏈接": "連結",
}  # fmt: skip
ALLOWED_TW = ("演算法", "處理程序")
TAG = re.compile(r"</?[a-z][^>]*>")


def placeholders(text: str) -> Counter | None:
    """Return the placeholders of a format text, counted once each, or None where the text is no format text.

    >>> sorted(placeholders("{a} of {b:.1f}, {a!r}"))
    ['{a!r}', '{a}', '{b:.1f}']
    >>> placeholders("a { alone") is None
    True
    """
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        return None
    shown = lambda name, spec, conv: "{" + name + (f"!{conv}" if conv else "") + (f":{spec}" if spec else "") + "}"  # noqa: E731
    return Counter({shown(name, spec, conv): 1 for _literal, name, spec, conv in parts if name is not None})


def script_faults(text: str, language: str) -> list[str]:
    """Return characters of the other script, and for zh_TW mainland words, that a Chinese text contains.

    >>> script_faults("带宽", "zh_TW"), script_faults("帶寬", "zh_TW"), script_faults("頻寬", "zh_TW")
    (['带', '宽'], ['帶寬'], [])
    >>> script_faults("頻寬", "zh_CN")
    ['頻', '寬']
    """
    if language not in SCRIPTS:
        return []
    faults = []
    for sign in text:
        if "\u3400" <= sign <= "\u9fff":
            try:
                sign.encode(SCRIPTS[language])
            except UnicodeEncodeError:
                faults.append(sign)
    if language == "zh_TW":
        for fine in ALLOWED_TW:
            text = text.replace(fine, "")
        faults += [word for word in WORDS_TW if word in text]
    return faults


def message_faults(text: str, translation: str, language: str = "") -> list[str]:
    """Return what is wrong with one translation, in words.

    >>> message_faults("{n} GPUs in <b>{box}</b>", "<b>{box}</b>: GPU")
    ['lost {n}']
    >>> message_faults("{n} GPUs", "{n} / {m} GPU")
    ['made up {m}']
    """
    if not translation.strip():
        return ["not translated"] if text.strip() else []
    faults = []
    want, have = placeholders(text), placeholders(translation)
    if want is not None:
        if have is None:
            return ["a brace is not closed"]
        faults += [f"lost {name}" for name in want - have] + [f"made up {name}" for name in have - want]
    tags, kept = Counter(TAG.findall(text)), Counter(TAG.findall(translation))
    faults += [f"lost {tag}" for tag in tags - kept] + [f"made up {tag}" for tag in kept - tags]
    if text.count("\n") != translation.count("\n"):
        faults.append("other line breaks")
    if text.count("`") != translation.count("`"):
        faults.append("other backticks")
    return faults + [f"{fault} does not belong to {language}" for fault in script_faults(translation, language)]


def catalogue_faults(catalogue: Iterable, expected: Mapping[str, object], language: str) -> list[str]:
    """Return all faults of a catalogue (Babel's messages) against the messages that the course says.

    A message with plural forms needs as many as its language has, each without a fault; fuzzy entries and messages
    that the course does not say any more are faults as well.
    """
    faults, seen = [], set()
    forms = getattr(catalogue, "num_plurals", 1)
    for entry in catalogue:
        ids = entry.id if isinstance(entry.id, (tuple, list)) else (entry.id,)
        if not ids[0]:
            continue  # the header
        seen.add(ids[0])
        plural = isinstance(entry.id, (tuple, list))
        given = entry.string if isinstance(entry.string, (tuple, list)) else (entry.string,)
        if plural and len(given) != forms:
            faults.append(f"{ids[0]!r}: {len(given)} plural forms; {language} has {forms}")
        if entry.fuzzy:
            faults.append(f"{ids[0]!r}: fuzzy")
        if ids[0] not in expected:
            faults.append(f"{ids[0]!r}: the course does not say it any more")
        for form in given:
            faults += [f"{ids[0]!r}: {fault}" for fault in message_faults(ids[-1], form or "", language)]
    return faults + [f"{text!r}: missing" for text in expected if text not in seen]
