"""Show a figure so that no reader meets a blank box: Plotly where it can be drawn, else title, text and numbers.

`show(fig)` ends the cells of the lessons. It writes the title as text above the picture (it wraps on a narrow screen, follows the
theme of the page and is read aloud) and then the picture with two faces: Plotly's own format, which JupyterLab draws without a
network, and plain HTML with the description and the table of numbers, which Git hosts and converters show.
"""

import html
import math
import os
import sys
from functools import lru_cache

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from plotly.io.base_renderers import MimetypeRenderer

from course_lib.base.language import _
from course_lib.base.scale import kept_together, say_number
from course_lib.figures.base import unwrapped
from course_lib.figures.theme import CONFIG

MIMETYPE = "application/vnd.plotly.v1+json"
_AS_THEY_ARE = {str, int, bool, type(None)}
BARE_TOP = 20  # top margin of a figure whose title stands outside it


def spec(fig: go.Figure, *, titled: bool = True) -> dict:
    """Return the figure as plain JSON (lists and dicts); `titled=False` leaves the title to the page around it.

    >>> spec(go.Figure())["config"]["displaylogo"]
    False
    """
    # Plotly's own to_json copies everything twice and goes through text; a slider asks for this many times a second.
    plain = {"data": _plain(fig._data), "layout": _plain(fig._layout)}
    layout = plain["layout"]
    if not titled and "title" in layout:
        layout["meta"] = {**(layout.get("meta") or {}), "title": title_of(fig)[0]}
        del layout["title"]
        margin = layout.get("margin", {})
        if "height" in layout:  # the plot itself keeps its size
            layout["height"] += BARE_TOP - margin.get("t", BARE_TOP)
        layout["margin"] = {**margin, "t": BARE_TOP}
    plain["config"] = CONFIG
    return plain


def _plain(value: object) -> object:
    """Return `value` as JSON has it: arrays as lists, numbers as Python's, and None where a number is not finite."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        # thousands of bars: look at the whole array at once, and one by one only where something is not finite
        if value.dtype.kind in "biuU" or (value.dtype.kind == "f" and np.isfinite(value).all()):
            return value.tolist()
        value = value.tolist()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (list, tuple)):
        if set(map(type, value)) <= _AS_THEY_ARE:
            return list(value)
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def title_of(fig: go.Figure) -> tuple[str, str]:
    """Return title and subtitle of a figure as one line each.

    >>> title_of(go.Figure(layout={"title": {"text": "one<br>two"}}))
    ('one two', '')
    """
    title = fig.layout.title
    return tuple(unwrapped(text or "") for text in (title.text, title.subtitle.text))


def meta_of(fig: go.Figure) -> tuple[str, list[str], list[list]]:
    """Return the description of a figure, and the columns and rows of its numbers.

    >>> meta_of(go.Figure())
    ('', [], [])
    """
    meta = fig.layout.meta if isinstance(fig.layout.meta, dict) else {}
    table = meta.get("table") or {}
    return meta.get("alt", ""), list(table.get("columns", [])), [list(row) for row in table.get("rows", [])]


def table_html(fig: go.Figure, caption: str = "") -> str:
    """Return the numbers of a figure as an HTML table; empty text where it has none.

    >>> "<th" in table_html(go.Figure(layout={"meta": {"table": {"columns": ["a"], "rows": [[1]]}}}))
    True
    """
    _alt, columns, rows = meta_of(fig)
    if not columns:
        return ""
    head = "".join(f'<th scope="col">{html.escape(str(column))}</th>' for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f'<table class="ic-table">{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(value: object) -> str:
    return html.escape(cell_text(value))


def cell_text(value: object) -> str:
    """Return what stands in a cell of a table.

    >>> cell_text(None), cell_text(1 / 3), cell_text("ring")
    ('–', '0.3333', 'ring')
    """
    if value is None:
        return "–"
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return say_number(value, 4) if number else str(value)


def fallback_html(fig: go.Figure, *, titled: bool = True) -> str:
    """Return title, description and numbers as HTML without script, for readers where Plotly is not drawn.

    >>> fallback_html(go.Figure(layout={"title": {"text": "One bar"}, "meta": {"alt": "a bar"}}))
    '<p><b>One bar</b></p><p>a bar</p>'
    """
    title, subtitle = title_of(fig)
    alt, *_rest = meta_of(fig)
    parts = (
        [f"<p><b>{html.escape(title)}</b></p>" if title else "", f"<p>{html.escape(subtitle)}</p>" if subtitle else ""]
        if titled
        else []
    )
    parts += [f"<p>{html.escape(alt)}</p>" if alt else "", table_html(fig)]
    text = "".join(parts)
    return text or "<p>" + html.escape(_("A figure: run this cell in JupyterLab to see it.")) + "</p>"


def in_colab() -> bool:
    """Return whether this kernel runs in Google Colab, whose pages do not draw Plotly's format.

    >>> in_colab()
    False
    """
    return "COLAB_RELEASE_TAG" in os.environ or "google.colab" in sys.modules


def bundle(fig: go.Figure, *, titled: bool = True) -> dict:
    """Return the figure as a mimebundle: Plotly's format, HTML and plain text.

    >>> sorted(bundle(go.Figure()))
    ['application/vnd.plotly.v1+json', 'text/html', 'text/plain']
    """
    title, _subtitle = title_of(fig)
    alt, *_rest = meta_of(fig)
    if in_colab():  # Plotly's own way there; it is the only place where the network is used
        drawn = pio.renderers["colab"].to_mimebundle(spec(fig, titled=titled))["text/html"]
        return {"text/html": drawn + fallback_html(fig, titled=False), "text/plain": alt or title}
    return {
        MIMETYPE: spec(fig, titled=titled),
        "text/html": fallback_html(fig, titled=titled),
        "text/plain": "\n".join(part for part in (title, alt) if part) or _("A figure"),
    }


def heading_html(fig: go.Figure) -> str:
    """Return title and subtitle as the HTML that stands above a figure."""
    title, subtitle = (html.escape(kept_together(text)) for text in title_of(fig))
    sub = f'<div style="font-size:13px;opacity:.8;margin-top:2px">{subtitle}</div>' if subtitle else ""
    return f'<div style="margin:10px 0 0 12px;line-height:1.35"><div style="font-size:17px">{title}</div>{sub}</div>'


def show(fig: go.Figure) -> None:
    """Display a figure in a notebook, its title above it as text; outside a notebook its description is printed."""
    from IPython.core.getipython import get_ipython
    from IPython.display import HTML, display

    if get_ipython() is None:
        print(bundle(fig)["text/plain"])
        return
    display(HTML(heading_html(fig)), metadata={})
    display(bundle(fig, titled=False), raw=True)


class CourseRenderer(MimetypeRenderer):
    """Plotly's display hook for a bare `fig` at the end of a cell: the same two faces, and never a copy of plotly.js."""

    def to_mimebundle(self, fig_dict: dict) -> dict:
        """Return the mimebundle of a figure given as a dict."""
        return bundle(go.Figure(fig_dict, _validate=False))


@lru_cache(maxsize=1)
def use_as_default() -> None:
    """Make the course's way of showing figures Plotly's default in this kernel."""
    pio.renderers["interconnect"] = CourseRenderer()
    pio.renderers.default = "interconnect"
    for name in ("plotly_mimetype", "jupyterlab", "notebook_connected"):
        if name in pio.renderers and hasattr(pio.renderers[name], "config"):
            pio.renderers[name].config = CONFIG
