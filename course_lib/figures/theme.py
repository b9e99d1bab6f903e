"""Theme: one set of colours, sizes and habits for every figure of the course, on a light and on a dark ground.

A colour means one thing throughout (`color("pcie")` is a line or a bar, `ink("pcie")` the same hue as text, dark enough to read).
Colour is never alone: `DASH` and `SYMBOL` differ as well. Grounds are opaque, so a figure reads the same in every front end.
"""

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import plotly.graph_objects as go
import plotly.io as pio

from course_lib.base.errors import one_of
from course_lib.base.language import _

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Roboto, sans-serif"
HEIGHT = 420
MARGIN = {"l": 84, "r": 20, "t": 24, "b": 58}
ROLES = ("pcie", "nvlink", "c2c", "network", "memory", "measured", "attention", "model", "limit")

# What tells families apart in grey print, too.
DASH = {"pcie": "solid", "nvlink": "solid", "c2c": "dash", "network": "dashdot", "memory": "longdash", "limit": "dash"}
SYMBOL = {
    "pcie": "square",
    "nvlink": "circle",
    "c2c": "pentagon",
    "network": "diamond",
    "memory": "triangle-up",
    "measured": "x",
}
SERIES_DASH = ("solid", "dot", "dash", "dashdot", "longdash", "longdashdot")

# Plotly 7 offers to upload a chart to a cloud unless it is told not to.
CONFIG = {"displayModeBar": False, "showSendToCloud": False, "displaylogo": False, "responsive": True}


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one ground: `marks` for lines and areas (3 : 1 or a second cue), `inks` for text (4.5 : 1 or more)."""

    name: str
    ground: str
    panel: str
    ink: str
    muted: str
    grid: str
    axis: str
    marks: dict[str, str]
    inks: dict[str, str]


LIGHT = Theme(
    name="light",
    ground="#FFFFFF",
    panel="#F4F6F8",
    ink="#1F2933",
    muted="#52606D",
    grid="#E9ECEF",
    axis="#9AA5B1",
    marks={
        "pcie": "#0072B2", "nvlink": "#009E73", "c2c": "#009E73", "network": "#D55E00", "memory": "#7B8794",
        "measured": "#CC79A7", "attention": "#E69F00", "model": "#3E4C59", "limit": "#8692A0",
    },
    inks={
        "pcie": "#0072B2", "nvlink": "#00785A", "c2c": "#00785A", "network": "#B84E00", "memory": "#52606D",
        "measured": "#A34F80", "attention": "#8F6200", "model": "#1F2933", "limit": "#5F6B78",
    },
)  # fmt: skip

DARK = Theme(
    name="dark",
    ground="#111111",
    panel="#1C1F23",
    ink="#E4E7EB",
    muted="#A9B4C0",
    grid="#272B30",
    axis="#5F6B78",
    marks={
        "pcie": "#4AA3DF", "nvlink": "#12B084", "c2c": "#12B084", "network": "#E8762B", "memory": "#8A96A3",
        "measured": "#D98BB5", "attention": "#E69F00", "model": "#CBD2D9", "limit": "#7B8794",
    },
    inks={
        "pcie": "#56B4E9", "nvlink": "#2DBE94", "c2c": "#2DBE94", "network": "#F07F2E", "memory": "#A9B4C0",
        "measured": "#D98BB5", "attention": "#F0B030", "model": "#E4E7EB", "limit": "#9AA5B1",
    },
)  # fmt: skip

_THEMES = {"light": LIGHT, "dark": DARK}
_chosen = "auto"


def set_theme(name: str) -> None:
    """Choose "light", "dark" or "auto" for every figure that is drawn from now on.

    "auto" takes INTERCONNECT_THEME, else the theme that JupyterLab's settings name, else light.

    >>> set_theme("dark"); theme().ground
    '#111111'
    >>> set_theme("auto")
    """
    global _chosen
    _chosen = one_of(_("theme"), name, ("light", "dark", "auto"))


@contextmanager
def themed(name: str):
    """Draw with another theme for the length of a `with` block.

    >>> with themed("dark"):
    ...     theme().name
    'dark'
    """
    before = _chosen
    set_theme(name)
    try:
        yield theme()
    finally:
        set_theme(before)


def theme() -> Theme:
    """Return the Theme in force.

    >>> theme() in (LIGHT, DARK)
    True
    """
    return _THEMES.get(_chosen) or _THEMES[_from_environment() or _from_jupyterlab() or "light"]


def _from_environment() -> str | None:
    name = os.environ.get("INTERCONNECT_THEME", "").strip().lower()
    return name if name in _THEMES else None


def _from_jupyterlab() -> str | None:
    """Return the theme that JupyterLab has saved: a kernel on the same machine can see the person's settings file."""
    base = os.environ.get("JUPYTERLAB_SETTINGS_DIR")
    if not base:
        base = f"{os.environ.get('JUPYTER_CONFIG_DIR') or os.path.expanduser('~/.jupyter')}/lab/user-settings"
    path = f"{base}/@jupyterlab/apputils-extension/themes.jupyterlab-settings"
    try:
        return _read_settings(path, os.stat(path).st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=4)
def _read_settings(path: str, changed: int) -> str | None:
    try:
        text = re.sub(r"^\s*//.*$", "", Path(path).read_text(encoding="utf-8"), flags=re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        return None
    found = re.search(r'"theme"\s*:\s*"([^"]*)"', text)
    return None if not found else "dark" if "dark" in found[1].lower() else "light"


def color(role: str) -> str:
    """Return the colour of lines, bars and points of a role such as "pcie", "nvlink", "network" or "measured".

    >>> with themed("light"):
    ...     color("pcie")
    '#0072B2'
    """
    return theme().marks[one_of(_("colour role"), role, ROLES)]


def ink(role: str = "") -> str:
    """Return the text colour of a role, at least 4.5 : 1 on the ground; without a role the colour of plain text.

    >>> with themed("light"):
    ...     ink(), ink("nvlink")
    ('#1F2933', '#00785A')
    """
    now = theme()
    return now.inks[one_of(_("colour role"), role, ROLES)] if role else now.ink


def faded(colour: str, opacity: float) -> str:
    """Return `colour` ("#RRGGBB") mixed into the ground, so that it stays opaque.

    >>> with themed("light"):
    ...     faded("#000000", 0.5)
    '#808080'
    """
    ground = theme().ground
    mixed = (
        round(int(ground[i : i + 2], 16) * (1 - opacity) + int(colour[i : i + 2], 16) * opacity) for i in (1, 3, 5)
    )
    return "#" + "".join(f"{part:02X}" for part in mixed)


def luminance(colour: str) -> float:
    """Return the relative luminance of "#RRGGBB" as WCAG 2 defines it, 0 (black) to 1 (white).

    >>> luminance("#FFFFFF")
    1.0
    """
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21 (WCAG 2).

    >>> round(contrast("#000000", "#FFFFFF"))
    21
    """
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def template(name: str) -> go.layout.Template:
    """Return the theme as a Plotly template, for figures that are not made by the course.

    >>> template("light").layout.paper_bgcolor
    '#FFFFFF'
    """
    now = _THEMES[one_of(_("theme"), name, ("light", "dark"))]
    axis = {
        "gridcolor": now.grid,
        "linecolor": now.axis,
        "zerolinecolor": now.grid,
        "title": {"font": {"color": now.muted}},
    }
    return go.layout.Template(
        layout={
            "paper_bgcolor": now.ground,
            "plot_bgcolor": now.ground,
            "font": {"family": FONT, "color": now.ink, "size": 13},
            "colorway": [now.marks[role] for role in ("pcie", "nvlink", "network", "measured", "attention", "memory")],
            "xaxis": axis,
            "yaxis": axis,
        }
    )


for _name in _THEMES:
    pio.templates[f"interconnect_{_name}"] = template(_name)
