"""Cells of a schedule's state: a slot's shade says how many parts are summed in it, its number how many or whose."""

import numpy as np

from course_lib.base.language import _
from course_lib.comm.trace import Trace
from course_lib.figures.theme import color, contrast, faded, ink, theme

PARTIAL, EMPTY = 0.58, 0.06  # shades of a slot with all parts but one, and of one with nothing in it


def rows_of(seen: Trace) -> list[str]:
    """Return the name of every row: ranks by number, then switches."""
    n = seen.schedule.n_ranks
    return [str(i) if i < n else _("switch {n}").format(n=i) for i in range(seen.schedule.n_nodes)]


def _shades(full: int) -> list[str]:
    """Colours of 0, 1, … full parts, and last of a slot that holds a part twice."""
    deep = ink("nvlink")
    some = [faded(deep, 0.14 + (PARTIAL - 0.14) * k / max(full - 1, 1)) for k in range(full - 1)]
    return [faded(theme().muted, EMPTY), *some, deep, faded(color("attention"), 0.75)]


def _level(seen: Trace, frame: int) -> np.ndarray:
    """Index into the shades, (n_nodes, chunks)."""
    parts = np.minimum(seen.parts[frame], seen.full)
    return np.where(seen.wrong[frame], seen.full + 1, parts)


def words_of(seen: Trace, frame: int) -> np.ndarray:
    """Return what stands in each cell: the parts, or whose chunk it is where nothing is added."""
    parts = seen.parts[frame].astype(str)
    if seen.full == 1:
        whose = np.arange(seen.schedule.chunks) // max(seen.schedule.chunks // _blocks(seen), 1)
        parts = np.broadcast_to(whose.astype(str), parts.shape)
    marked = np.where(seen.wrong[frame], np.char.add("×", seen.parts[frame].astype(str)), parts)
    return np.where(seen.parts[frame] == 0, "", marked)


def _blocks(seen: Trace) -> int:
    op, n = seen.schedule.op, seen.schedule.n_ranks
    return n if op in ("all_gather", "gather", "all_to_all", "send_recv") else 1


def cells(seen: Trace, frame: int) -> dict:
    """Return the slots of one state as a heat map that says in words what each holds."""
    shades, level = _shades(seen.full), _level(seen, frame)
    k = len(shades)
    scale = [(edge / k, shade) for i, shade in enumerate(shades) for edge in (i, i + 1)]
    rows, words = rows_of(seen), words_of(seen, frame)
    text = [
        [_cell_text(seen, frame, r, c, rows[r], words[r, c]) for c in range(level.shape[1])]
        for r in range(level.shape[0])
    ]
    return {
        "type": "heatmap",
        "z": level,
        "x": np.arange(level.shape[1]),
        "y": np.arange(level.shape[0]),
        "zmin": -0.5,
        "zmax": k - 0.5,
        "colorscale": scale,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hovertext": text,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _cell_text(seen: Trace, frame: int, row: int, chunk: int, name: str, word: str) -> str:
    who = _("rank {n}").format(n=name) if row < seen.schedule.n_ranks else name
    if not word:
        return _("{who}, chunk {c}: nothing").format(who=who, c=chunk)
    if seen.full == 1:
        return _("{who}, chunk {c}: here").format(who=who, c=chunk)
    return _("{who}, chunk {c}: {k} of {full} parts").format(
        who=who, c=chunk, k=int(seen.parts[frame, row, chunk]), full=seen.full
    )


def numbers(seen: Trace, frame: int, row_px: int) -> list[dict]:
    """Return the numbers in the ink of the page and in the colour of its ground: each cell has the one that reads better."""
    shades, level, words = _shades(seen.full), _level(seen, frame), words_of(seen, frame)
    dark_text = np.array([contrast(shade, ink()) >= contrast(shade, theme().ground) for shade in shades])[level]
    readable = seen.schedule.chunks <= 20 and row_px >= 14
    both = []
    for mask, shade in ((dark_text, ink()), (~dark_text, theme().ground)):
        row, chunk = np.nonzero(mask & (words != "") & readable)
        font = {"size": 14 if seen.schedule.chunks <= 10 and row_px >= 24 else 11, "color": shade}
        both.append(
            {
                "type": "scatter",
                "mode": "text",
                "x": chunk,
                "y": row,
                "text": words[row, chunk].tolist(),
                "textfont": font,
                "hoverinfo": "skip",
            }
        )
    return both
