"""Panel: the HTML of an explorer and of a question on a page without a kernel; static/explorers.js moves it."""

import html
import json
from typing import Any

from course_lib.base import typed, unitwords
from course_lib.explorers import page

MOVE = "`make lab` opens the notebook, where every control moves freely."


def explorer(found: dict[str, Any], key: str) -> str:
    """Return an explorer at its start: question, guess, controls, figure, what is said, and the figure in words; `key` names its data.

    >>> "<input" in control({"kind": "range", "label": "GPUs", "help": "", "texts": ["1", "2"], "start": 0}, "x")
    True
    """
    now = found["base"]
    controls = "".join(control(one, f"{key}-{one['name']}") for one in found["controls"] if one["kind"] != "fixed")
    waits = " disabled" if found["guess"] else ""
    lines = page.equation(*now["equation"]) if now["equation"] else ""
    title, under = (html.escape(text, quote=False) for text in now["title"])
    height = int(now["layout"].get("height", 420))
    return (
        f'<section class="site-explorer" data-moves="{key}" aria-label="{_quoted(found["question"])}">'
        f'<p class="site-asked">{html.escape(found["question"], quote=False)}</p>'
        + (ask(found["guess"], f"{key}-guess", opens=True) if found["guess"] else "")
        + f'<fieldset class="site-controls"{waits}><legend class="site-aloud">controls of the figure</legend>{controls}'
        '<div class="site-buttons"><button type="button" data-do="reset">reset</button></div></fieldset>'
        f'<div class="site-head"><div class="site-title">{title}</div><div class="site-subtitle">{under}</div></div>'
        f'<div class="site-figure" role="img" aria-label="{_quoted(now["alt"])}" style="min-height:{height}px"></div>'
        f'<div class="site-equation">{lines}</div>'
        f'<p class="site-said" role="status">{html.escape(now["sentence"], quote=False)}</p>'
        '<div class="site-message" role="alert"></div>'
        '<details class="site-words"><summary>The figure in words and numbers</summary>'
        f"<p>{html.escape(now['alt'], quote=False)}</p>{table(now['columns'], now['rows'])}</details>"
        f"{limits(found['controls'])}</section>"
        f'<script defer src="../_static/moves/{key}.js"></script>'
    )


def script(found: dict[str, Any], key: str) -> str:
    """Return the data of an explorer as a script, which a page may load from a disk, too."""
    words = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return f'(window.siteMoves ??= {{}})["{key}"] = {words};\n'


def units() -> str:
    """Return how a number with a unit is read, as a script: the notebook's own pattern, and every unit it takes."""
    found = {kind: unitwords.spellings(kind) for kind in unitwords.KINDS}
    found |= {"directions": unitwords.directions(), "words": list(unitwords.WORDS)}
    found |= {"number": f"^({typed.NUMBER}){typed.AFTER}", "comma": f"^{typed.COMMA}"}
    return f"window.siteUnits = {json.dumps(found, ensure_ascii=False, separators=(',', ':'))};\n"


def control(one: dict[str, Any], name: str) -> str:
    """Return one control with its label; `name` is its id."""
    label = f'<label for="{name}">{html.escape(one["label"], quote=False)}</label>'
    hint = f' title="{_quoted(one["help"])}"' if one["help"] else ""
    start, texts = one["start"], one["texts"]
    if one["kind"] == "select":
        options = "".join(
            f'<option value="{i}"{" selected" if i == start else ""}>{html.escape(text, quote=False)}</option>'
            for i, text in enumerate(texts)
        )
        return f'<div class="site-control">{label}<select id="{name}"{hint}>{options}</select></div>'
    if one["kind"] == "check":
        box = f'<input type="checkbox" id="{name}"{hint}{" checked" if start else ""}>'
        return f'<div class="site-control site-check">{box}{label}</div>'
    ticks = "".join(f'<option value="{i}" label="{_quoted(text)}"></option>' for i, text in enumerate(texts))
    slider = (
        f'{label}<output for="{name}">{html.escape(texts[start], quote=False)}</output>'
        f'<input type="range" id="{name}"{hint} min="0" max="{len(texts) - 1}" step="1" value="{start}" '
        f'aria-valuetext="{_quoted(texts[start])}" list="{name}-ticks" autocomplete="off"><datalist id="{name}-ticks">{ticks}</datalist>'
    )
    if one["kind"] == "step":
        slider += (
            '<div class="site-buttons"><button type="button" data-do="back" aria-label="one step back">◀</button>'
            '<button type="button" data-do="on" aria-label="one step on">▶</button>'
            f'<button type="button" data-do="play" data-every="{one["interval_ms"]}">play</button></div>'
        )
    return f'<div class="site-control">{slider}</div>'


def ask(asked: dict[str, Any], name: str, *, opens: bool = False) -> str:
    """Return a box for a number; with `opens` the controls of an explorer wait for it."""
    waiting = "The controls open when you commit to a guess." if opens else ""
    return (
        f'<form class="site-ask" data-asked="{_quoted(json.dumps(asked, ensure_ascii=False))}">'
        f'<label for="{name}">{html.escape(asked["question"], quote=False)}</label>'
        f'<span class="site-number"><input id="{name}" type="text" size="9" autocomplete="off"> {html.escape(asked["unit"])}</span>'
        f'<button type="submit">commit</button><span class="site-kept" role="status">{waiting}</span></form>'
    )


def table(columns: list[str], rows: list[list[str]]) -> str:
    """Return the numbers of a figure as a table; empty text where it has none."""
    if not columns:
        return ""
    head = "".join(f'<th scope="col">{html.escape(str(text), quote=False)}</th>' for text in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text, quote=False)}</td>" for text in row) + "</tr>" for row in rows
    )
    return f'<table class="ic-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def limits(controls: list[dict[str, Any]]) -> str:
    """Return the line that says what is held still here, and what has fewer positions than in the notebook.

    >>> limits([{"kind": "fixed", "label": "GPUs", "texts": ["1,024"], "whole": False}])[23:41]
    'Held here: GPUs (1'
    >>> limits([{"kind": "select", "label": "box", "texts": ["a", "b"], "whole": True}])
    ''
    """
    held = [
        f"{one['label']} ({one['texts'][0]})" if one["texts"][0] else one["label"]
        for one in controls
        if one["kind"] == "fixed"
    ]
    fewer = [one["label"] for one in controls if one["kind"] != "fixed" and not one["whole"]]
    said = [f"Held here: {', '.join(held)}."] if held else []
    said += [f"Fewer positions than in the notebook: {', '.join(fewer)}."] if fewer else []
    if not said:
        return ""
    text = html.escape(" ".join([*said, MOVE]), quote=False).replace("`make lab`", "<code>make lab</code>")
    return f'<p class="site-limits">{text}</p>'


def _quoted(text: str) -> str:
    return html.escape(text, quote=True)
