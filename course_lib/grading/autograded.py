"""What is left of a hand-in after marking: the notebook that Formgrader opens."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.grading import bank
from course_lib.grading.learnerpage import as_verdict, code
from course_lib.grading.notebook import MIMETYPE, lines

# Pages with a learner's HTML or script would run in the marker's browser, with the marker's rights.
SHOWN = ("text/plain", "image/png", "image/jpeg")
MOST_OUTPUT = 400_000
TAG = re.compile(r"<(?=[A-Za-z/!?])")


def notebook(repaired: Any, rows: Sequence[Mapping[str, Any]], outputs: Mapping[int, Mapping[str, Any]]) -> str:
    """Return the marked notebook as text: the cells, what they showed, and each verdict under its graded cell."""
    made = json.loads(json.dumps(repaired.notebook))
    by_name = {row["question"]: row for row in rows}
    trusted = {cell.source for cell in _release_cells(repaired)}
    for place, cell in enumerate(made["cells"]):
        meta = cell["metadata"].get("nbgrader") or {}
        if cell["cell_type"] != "code":
            if cell["source"] not in trusted:
                cell["source"] = TAG.sub("&lt;", cell["source"])
            cell.pop("attachments", None)
            continue
        row = by_name.get(str(meta.get("grade_id", "")).replace("-", "."))
        if row is not None and meta.get("grade"):
            cell["outputs"], cell["execution_count"] = _verdict_outputs(row), None
        elif place in outputs:
            cell["outputs"] = _outputs(outputs[place])
            cell["execution_count"] = outputs[place].get("count")
    return json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def refused(release: Any, reason: str) -> str:
    """Return the release with the reason why nothing could be marked, so that Formgrader has a page to show."""
    made = json.loads(json.dumps(release))
    note = {"cell_type": "markdown", "id": "not-marked", "metadata": {}, "source": TAG.sub("&lt;", reason)}
    made["cells"].insert(0, note)
    return json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _release_cells(repaired: Any) -> Sequence[Any]:
    from course_lib.grading import repair

    return repair.release(repaired.exercise).cells


def _verdict_outputs(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    verdict = as_verdict(row)
    head, sentences = lines(verdict, bank.question(verdict.question).title)
    body = "".join(f"<div>{code(sentence)}</div>" for sentence in sentences)
    data = {
        "text/plain": "\n".join([head, *("  " + sentence for sentence in sentences)]),
        "text/html": f"<div><strong>{html.escape(head)}</strong>{body}</div>",
        MIMETYPE: {key: row[key] for key in ("question", "state", "points", "of", "sentences", "misconceptions")},
    }
    score = {"text/plain": repr(float(verdict.points))}
    return [
        {"output_type": "display_data", "data": data, "metadata": {}},
        {"output_type": "execute_result", "data": score, "metadata": {}, "execution_count": None},
    ]


def _outputs(shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a kernel's outputs as the notebook format wants them; anything that does not fit is dropped."""
    made, room = [], MOST_OUTPUT
    for item in shown["outputs"][:500]:
        kind = item.get("output_type")
        if kind == "stream":
            name = "stderr" if item.get("name") == "stderr" else "stdout"
            one: dict[str, Any] = {"output_type": "stream", "name": name, "text": str(item.get("text", ""))}
        elif kind in ("display_data", "execute_result") and isinstance(item.get("data"), dict):
            data = {key: item["data"][key] for key in SHOWN if isinstance(item["data"].get(key), str)}
            one = {"output_type": kind, "data": data, "metadata": {}}
            if kind == "execute_result":
                one["execution_count"] = shown.get("count")
        else:
            continue
        room -= len(json.dumps(one))
        if room < 0:
            break
        made.append(one)
    if error := shown.get("error"):
        lines_ = error.get("traceback")
        trace = [str(line)[:2000] for line in lines_[:60]] if isinstance(lines_, list) else []
        name, value = str(error.get("ename"))[:200], str(error.get("evalue"))[:2000]
        made.append({"output_type": "error", "ename": name, "evalue": value, "traceback": trace})
    return json.loads(json.dumps(made).encode("utf-8", "replace"))
