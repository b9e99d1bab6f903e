"""Slices: how a matrix is cut over ranks, what is left to add, and what one GPU then holds and waits for."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.base.scale import say_bytes
from course_lib.figures.base import base_figure, blank_axis, describe, limit_line, linear_axis, note, points
from course_lib.figures.degrees import stack_labels
from course_lib.figures.theme import color, faded, ink, theme

GB = 1e9
WIDE, TALL, GAP = 3.0, 2.0, 1.0  # of a drawn matrix, in units of the picture
NARROW_BAR = 0.62


def cuts(n_ranks: int = 4) -> go.Figure:
    """Return both ways to cut the matrix of a product over `n_ranks`: columns give parts of y side by side, rows give parts to add.

    What rank 0 holds is amber, the others' parts are grey and numbered. One trace (what each piece is, for the pointer).

    >>> cuts(4).layout.title.text.replace("<br>", " ")
    '4 ranks hold a quarter of W each: columns leave nothing to add, rows leave 4 parts of y to add'
    """
    n = whole("n_ranks", n_ranks, at_least=2, at_most=8)
    picture = _Picture(n)
    for top, by, words in (
        (6.1, "columns", _("<b>by columns</b>: all of x → columns of y")),
        (2.2, "rows", _("<b>by rows</b>: columns of x → a part of y")),
    ):
        picture.text(0, top + 0.55, words)
        x = picture.matrix(0, top, "x", "" if by == "columns" else "columns")
        w = picture.matrix(x + GAP, top, "W", by, before="×")
        if by == "columns":
            picture.matrix(w + GAP, top, "y", "columns", before="=")
        else:
            picture.stack(w + GAP, top, _("parts of y"), before="=")
    each = {2: _("half"), 4: _("a quarter"), 8: _("an eighth")}.get(n, f"1/{n}")
    return picture.figure(
        9.4,
        7.2,
        320,
        title=_(
            "{n} ranks hold {each} of W each: columns leave nothing to add, rows leave {n} parts of y to add"
        ).format(n=n, each=each),
        subtitle=_("amber: what rank 0 holds; the number is the rank; no number: every rank has all of it"),
        alt=_(
            "Two rows of matrices. By columns: x is whole, W and y are cut into {n} columns. By rows: x is cut into {n} columns, "
            "W into {n} rows, and there are {n} parts of y as large as y."
        ).format(n=n),
        rows=[
            (_("by columns"), _("all of x"), _("columns of y"), _("none")),
            (_("by rows"), _("columns of x"), _("a part of all of y"), _("a sum of {n} parts").format(n=n)),
        ],
        columns=[_("cut"), _("a rank needs"), _("a rank has"), _("left to do")],
    )


def pair(n_ranks: int = 4) -> go.Figure:
    """Return the MLP's two products cut so that nothing is sent between them: columns of W₁, then rows of W₂. One trace.

    >>> pair(4).layout.title.text.replace("<br>", " ")
    'Columns, then rows: 4 ranks compute two products and add once'
    """
    n = whole("n_ranks", n_ranks, at_least=2, at_most=8)
    picture = _Picture(n)
    x = picture.matrix(0, 2.2, "x", "")
    w1 = picture.matrix(x + GAP, 2.2, "W₁", "columns", before="×")
    inner = picture.matrix(w1 + GAP, 2.2, "f(x·W₁)", "columns", before="→")
    w2 = picture.matrix(inner + GAP, 2.2, "W₂", "rows", before="×")
    picture.stack(w2 + GAP, 2.2, _("parts of y"), before="=")
    return picture.figure(
        5 * WIDE + 4 * GAP - 0.4,
        3.2,
        215,
        title=_("Columns, then rows: {n} ranks compute two products and add once").format(n=n),
        subtitle=_("amber: what rank 0 holds; its columns of f(x·W₁) are what its rows of W₂ need"),
        alt=_(
            "Five matrices in a row: x whole, W₁ in {n} columns, f(x·W₁) in {n} columns, W₂ in {n} rows, and {n} parts of y. "
            "A rank goes from left to right with what it holds; the only communication is the sum of the parts."
        ).format(n=n),
        rows=[
            ("x", _("whole")),
            ("W₁", _("columns")),
            ("f(x·W₁)", _("columns")),
            ("W₂", _("rows")),
            (_("y"), _("a part of all of it; {n} parts are to be added").format(n=n)),
        ],
        columns=[_("matrix"), _("what a rank has")],
    )


class _Picture:
    """Shapes and texts of matrices that are cut over n ranks."""

    def __init__(self, n: int):
        self.n, self.shapes, self.notes, self.hover = n, [], [], ([], [], [])

    def text(self, x: float, y: float, words: str, role: str = "") -> None:
        self.notes.append(note(words, x=x, y=y, xref="x", yref="y", xanchor="left", role=role))

    def _rectangle(self, x: float, y: float, w: float, h: float, words: str, rank: int | None, size: int = 12) -> None:
        now, mine = theme(), rank == 0
        fill = faded(color("attention"), 0.55) if mine else faded(color("memory"), 0.22)
        self.shapes.append(
            {
                "type": "rect",
                "x0": x,
                "x1": x + w,
                "y0": y - h,
                "y1": y,
                "fillcolor": fill,
                "line": {"color": now.ground, "width": 2},
            }
        )
        for values, value in zip(self.hover, (x + w / 2, y - h / 2, words), strict=True):
            values.append(value)
        if rank is not None:
            self.notes.append(
                note(str(rank), x=x + w / 2, y=y - h / 2, xref="x", yref="y", color=now.ink)
                | {"bgcolor": "rgba(0,0,0,0)", "font": {"size": size, "color": now.ink}}
            )

    def matrix(self, x: float, top: float, name: str, by: str, before: str = "") -> float:
        if before:
            self.notes.append(
                note(before, x=x - GAP / 2, y=top - TALL / 2, xref="x", yref="y")
                | {"font": {"size": 17, "color": ink()}}
            )
        self.notes.append(note(f"<b>{name}</b>", x=x + WIDE / 2, y=top - TALL - 0.38, xref="x", yref="y"))
        if not by:
            self._rectangle(x, top, WIDE, TALL, _("{name}: every rank has all of it").format(name=name), None)
        for r in range(self.n if by else 0):
            words = _("{name}, {by} of rank {r}").format(
                name=name, by=_("columns") if by == "columns" else _("rows"), r=r
            )
            if by == "columns":
                self._rectangle(x + r * WIDE / self.n, top, WIDE / self.n, TALL, words, r)
            else:
                self._rectangle(x, top - r * TALL / self.n, WIDE, TALL / self.n, words, r)
        return x + WIDE

    def stack(self, x: float, top: float, name: str, before: str) -> None:
        self.notes.append(
            note(before, x=x - GAP / 2, y=top - TALL / 2, xref="x", yref="y") | {"font": {"size": 17, "color": ink()}}
        )
        step = 0.16
        size = WIDE - step * (self.n - 1), TALL - step * (self.n - 1)
        for r in reversed(range(self.n)):
            self._rectangle(
                x + step * r, top - step * (self.n - 1 - r), *size, _("rank {r}: a part of all of y").format(r=r), None
            )
        front = self.shapes[-1]
        front["fillcolor"] = faded(color("attention"), 0.55)
        centre = {"x": x + size[0] / 2, "y": top - step * (self.n - 1) - size[1] / 2}
        self.notes.append(
            note("Σ", xref="x", yref="y", **centre)
            | {"bgcolor": "rgba(0,0,0,0)", "font": {"size": 17, "color": theme().ink}}
        )
        self.notes.append(note(f"<b>{name}</b>", x=x + WIDE / 2, y=top - TALL - 0.38, xref="x", yref="y"))

    def figure(self, wide: float, tall: float, height: int, *, alt: str, rows, columns, **head) -> go.Figure:
        x, y, words = self.hover
        seen = points(x, y, role="memory", size=1, hover="%{text}", text=words, opacity=0)
        return base_figure(
            [seen],
            xaxis=blank_axis(-0.2, wide + 2.2),
            yaxis=blank_axis(-0.5, tall),
            height=height + 110,
            margin={"l": 14, "r": 14, "b": 14},
            annotations=self.notes,
            shapes=self.shapes,
            meta=describe(alt, columns, rows),
            **head,
        )


def memory_per_gpu(
    tensor: Sequence[int], parts_B: Mapping[str, np.ndarray], capacity_B: float, *, gpu: str, what: str, title: str = ""
) -> go.Figure:
    """Return what one GPU holds at each degree as stacked bars, with its capacity as a dashed line; one trace a part.

    `parts_B` maps a name to bytes (n,), at most four parts; `gpu` and `what` (the model and the job) go into the words.

    >>> memory_per_gpu([1, 2], {"weights": [160e9, 80e9]}, 90e9, gpu="H100", what="A model").layout.title.text
    'A model fits from 2 GPUs on: 80 GB of 90 GB each'
    """
    tensor = [whole("tensor", t, at_least=1) for t in tensor]
    values = {name: np.asarray(finite(name, v, at_least=0), float) for name, v in parts_B.items()}
    if not 1 <= len(values) <= 4 or any(v.shape != (len(tensor),) for v in values.values()):
        raise CourseError(_("One to four parts with {n} values each are expected.").format(n=len(tensor)))
    total = sum(values.values())
    fits = np.flatnonzero(total <= finite("capacity_B", capacity_B, above=0))
    shades = (("memory", 0.95, ""), ("memory", 0.55, ""), ("memory", 0.3, "/"), ("memory", 0.3, "."))
    x = np.arange(len(tensor), dtype=float)
    data, base, key = [], np.zeros(len(tensor)), []
    for (name, v), (role, strength, pattern) in zip(values.items(), shades, strict=False):
        texts = [
            _("degree {n}, {name}: {size}").format(n=t, name=name, size=say_bytes(float(b))) for t, b in zip(tensor, v)
        ]
        marker = {"color": faded(color(role), strength), "line": {"width": 1, "color": theme().ground}}
        if pattern:
            marker["pattern"] = {"shape": pattern, "fgcolor": theme().muted, "size": 6, "solidity": 0.3}
        data.append(
            {
                "type": "bar",
                "x": x,
                "y": v / GB,
                "base": base / GB,
                "width": NARROW_BAR,
                "marker": marker,
                "text": texts,
                "textposition": "none",
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
        key.append(name)
        base = base + v
    top = float(max(total.max(), capacity_B)) / GB * 1.16
    labels = stack_labels(
        total,
        capacity_B,
        _("{gpu}: {size}").format(gpu=gpu, size=say_bytes(capacity_B)),
        yshift=11 if fits.size == 0 or total[-1] < 0.8 * capacity_B else 30,
    )
    marks = (_("solid: {name}"), _("pale: {name}"), _("hatched: {name}"), _("dotted: {name}"))
    shown = "<br>".join(m.format(name=name) for m, name in reversed(list(zip(marks, key))))
    labels.append(note(shown, x=1, xref="paper", xanchor="right", y=1, yref="paper", yanchor="top", align="left"))
    if not title:
        title = (
            _("{what} fits from {n} GPUs on: {size} of {all} each").format(
                what=what, n=tensor[fits[0]], size=say_bytes(float(total[fits[0]])), all=say_bytes(capacity_B)
            )
            if fits.size
            else _("{what} does not fit on {n} GPUs: {size} each, and there are {all}").format(
                what=what, n=tensor[-1], size=say_bytes(float(total[-1])), all=say_bytes(capacity_B)
            )
        )
    rows = [
        (t, *(say_bytes(float(v[i])) for v in values.values()), say_bytes(float(total[i])))
        for i, t in enumerate(tensor)
    ]
    listed = "; ".join(_("degree {n}, {size}").format(n=t, size=say_bytes(float(b))) for t, b in zip(tensor, total))
    return base_figure(
        data,
        title=title,
        subtitle=_("bars: what one GPU holds; dashed: what it has"),
        xaxis=linear_axis(_("GPUs that share every layer"), -0.6, len(tensor) - 0.4)
        | {"tickvals": x.tolist(), "ticktext": [str(t) for t in tensor], "showgrid": False},
        yaxis=linear_axis(_("memory of one GPU (GB)"), 0, top),
        barmode="overlay",
        annotations=labels,
        shapes=[limit_line(y=capacity_B / GB)],
        meta=describe(
            _("What one GPU holds: {list}. It has {size}.").format(list=listed, size=say_bytes(capacity_B)),
            [_("GPUs"), *key, _("together")],
            rows,
        ),
    )
