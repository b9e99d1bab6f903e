"""The page that a learner gets back: verdict and sentence per question; its head is written anew when people have marked."""

import html
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from course_lib.base.language import _
from course_lib.grading import bank
from course_lib.grading.notebook import MARKS, lines
from course_lib.grading.people import name_of
from course_lib.grading.verdict import Verdict

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222;background:#fff}
section{border-left:3px solid #999;padding:.1em 1em;margin:1em 0}section.correct{border-color:#3a7d44}
section.not-yet{border-color:#b5541c}h2{font-size:1.05em;margin:.4em 0}p{margin:.3em 0}
pre{background:#f4f4f4;padding:.6em;white-space:pre-wrap;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#262626}}"""
# Everything that a learner wrote is escaped, so these stand once, and only where we wrote them.
TITLE, HEAD = re.compile(r"<title>.*?</title>", re.S), re.compile(r"<header>.*?</header>", re.S)


def page(
    repaired: Any, rows: Sequence[Mapping[str, Any]], notes: Sequence[str], manual: Sequence[Mapping[str, Any]]
) -> str:
    """Return the learner's page: verdict and sentence per question beside the learner's own answer; no script, no address."""
    points, of = sum(row["points"] for row in rows), sum(row["of"] for row in rows)
    title = _title(repaired.exercise, points, of)
    says = [_("Written answers are marked by people and are not in this sum.")] if manual else []
    parts = [_head(title, says), *(f"<p>{code(note)}</p>" for note in notes)]
    answers = {
        str((cell.metadata.get("nbgrader") or {}).get("grade_id", "")): cell.source
        for cell in repaired.notebook.cells
        if cell.cell_type == "code"
    }
    for row in rows:
        verdict = as_verdict(row)
        head, sentences = lines(verdict, bank.question(verdict.question).title)
        kind = verdict.state.replace(" ", "-") if verdict.state in MARKS else ""
        parts.append(f'<section class="{kind}"><h2>{html.escape(head)}</h2>')
        parts += [f"<p>{code(sentence)}</p>" for sentence in sentences]
        if source := answers.get(verdict.question.replace(".", "-") + "-answer"):
            parts.append(f"<pre>{html.escape(source[:20_000])}</pre>")
        parts.append("</section>")
    return (
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style><body>{''.join(parts)}</body></html>\n"
    )


def up_to_date(text: str, result: Mapping[str, Any], taken: float, submitted: datetime | None) -> str:
    """Return a page with its head as things stand now: whose it is, what people gave and said, what lateness took.

    `result` is one of `people.over`. A page that is not ours, such as nbgrader's own, comes back as it was.
    """
    if HEAD.search(text) is None:
        return text
    who = result["student"]
    if submitted is not None:
        when = f"{submitted:%Y-%m-%d %H:%M} UTC"
        who = _("{who}, handed in {when}").format(who=who, when=when)
    waiting = [item for item in result["manual"] if item["points"] is None]
    by_people = [(row["question"], row["points"], row["of"]) for row in result["questions"] if row["by_person"]]
    by_people += [
        (name_of(item["cell"]), item["points"], item["of"]) for item in result["manual"] if item["points"] is not None
    ]
    says = [who]
    for name, points, of in by_people:
        said = _("{name}, marked by a person: {points:g} of {of:g} points.")
        says.append(said.format(name=name, points=round(points, 2), of=of))
    says += [f"{name}: {comment}" for name, comment in result["comments"].items()]
    if waiting:
        says.append(_("Written answers are marked by people and are not in this sum."))
    if taken:
        says.append(_("Points taken off because it was handed in late: {points:g}.").format(points=round(taken, 2)))
    of = result["of"] - sum(item["of"] for item in waiting)
    title = _title(result["exercise"], max(result["points"] - taken, 0.0), of)
    text = TITLE.sub(lambda _found: f"<title>{html.escape(title)}</title>", text, count=1)
    return HEAD.sub(lambda _found: _head(title, says), text, count=1)


def _title(exercise: str, points: float, of: float) -> str:
    return _("Exercise {n}: {points:g} of {of:g} points").format(n=exercise, points=round(points, 2), of=of)


def _head(title: str, says: Sequence[str]) -> str:
    said = "".join(f"<p>{html.escape(text)}</p>" for text in says)
    return f"<header><h1>{html.escape(title)}</h1>{said}</header>"


def as_verdict(row: Mapping[str, Any]) -> Verdict:
    """Return the verdict that a result's row tells as plain data."""
    sentences, names = tuple(row["sentences"]), tuple(row["misconceptions"])
    return Verdict(row["question"], row["state"], row["points"], row["of"], sentences, names)


def code(text: str) -> str:
    """Return a sentence as HTML, with what stands between backquotes as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))
