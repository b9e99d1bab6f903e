"""In another language every explorer works and shows no English and no half-width joints: each word is replaced, as a catalogue would."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.locales.extract import messages
from course_lib.locales.messages import update

WORD = "中"
KEPT = re.compile(r"(\{\{|\}\}|\{[^{}]*\}|<[^>]*>|&[a-z]+;)")


def replaced(text):
    parts = KEPT.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(
            r"([,;:])(?: |$)|\.(?= |$)",
            lambda m: "，；：。"[",;:.".index(m[0][0])],
            re.sub(r"[A-Za-z]{2,}", WORD, parts[i]),
        )
    return "".join(parts)


def test_replacing_keeps_placeholders_and_tags():
    assert replaced("{n} GPUs in <b>one box</b>") == f"{{n}} {WORD} {WORD} <b>{WORD} {WORD}</b>"
    assert replaced("All, one: {n}.") == f"{WORD}，{WORD}：{{n}}。"


# What a learner sees of each explorer, printed as JSON: the figure, its table, labels and options of controls, equation, sentence.
LOOK = """
import importlib, inspect, json, pathlib, sys
from course_lib.base import language
language.LOCALES = pathlib.Path(sys.argv[1])
import ipywidgets
from course_lib.comm import ring
from course_lib.explorers.explorer import Explorer

def below(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from below(child)

seen = {}
for lesson in sys.argv[2:]:
    module = importlib.import_module("course_lib.explorers.lesson" + lesson)
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if "Explorer" not in str(function.__annotations__.get("return", "")) or name.startswith("_"):
            continue
        first = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        shown = function(*[ring.all_reduce(8) for _parameter in first])  # the stepper wants a schedule
        texts = [shown.message]
        layout = shown.figure.to_plotly_json()["layout"]
        texts += [layout["title"]["text"], layout["meta"]["alt"], *layout["meta"]["table"]["columns"]]
        texts += [a["text"] for a in layout.get("annotations", ())]
        texts += [layout[axis]["title"]["text"] for axis in layout if axis[1:5] == "axis" and layout[axis].get("title")]
        texts += [trace.get("name") or "" for trace in shown.figure.to_plotly_json()["data"]]
        for widget in below(shown.widget):
            texts += [str(getattr(widget, key, None) or "") for key in ("description", "tooltip", "placeholder")]
            texts += [widget.value] if isinstance(widget, (ipywidgets.HTML, ipywidgets.Label)) else []
        seen[name] = texts
print(json.dumps(seen))
"""


@pytest.mark.kernel
def test_explorers_show_no_english(tmp_path):
    update("zh_CN", messages(), {text: replaced(text) or text for text in messages()}, tmp_path)
    lessons = [p.stem[6:] for p in sorted((Path(__file__).parents[2] / "course_lib/explorers").glob("lesson*"))]
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(tmp_path), *lessons],
        capture_output=True,
        text=True,
        env=os.environ | {"INTERCONNECT_LANG": "zh_CN", "INTERCONNECT_HOME": str(tmp_path / "home")},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert len(seen) >= 18
    english, narrow = {}, {}
    for name, texts in seen.items():
        for text in texts:
            plain = re.sub(r"<style.*?</style>|<[^>]*>|`[^`]*`|https?:\S+", " ", text, flags=re.DOTALL)
            for words in re.findall(r"\b[a-z]{3,} [a-z]{3,}\b", plain):
                english.setdefault(name, set()).add(words)
            for joint in re.findall(rf".{{,12}}{WORD}[,;:.](?: |$).{{,12}}|[,;:] {WORD}", plain):
                if WORD in plain:
                    narrow.setdefault(name, set()).add(joint)
    assert english == {}
    assert narrow == {}, "Chinese texts are joined by half-width signs: pass them through `punctuated`"
