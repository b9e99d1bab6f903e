"""Colours as other eyes and a grey print have them, and what else tells two series of a figure apart."""

import itertools

import numpy as np
import plotly.graph_objects as go

from course_lib.figures.show import spec
from course_lib.figures.theme import contrast, theme

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
BLIND = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}
FAR = 9.0  # CIE76; two patches side by side differ at about 2
GREY_FAR = 7.0  # of lightness, 0 to 100
ONE_SHADE = 12.0  # nearer colours are shades of one, for every eye


def lab(colour, matrix=None):
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = linear if matrix is None else np.clip(np.array(matrix) @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
    xyz = xyz / np.array([0.9505, 1, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one, other, kind):
    return float(np.linalg.norm(lab(one, BLIND[kind]) - lab(other, BLIND[kind])))


def _listed(value):
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value]


def series(figure: go.Figure) -> list[dict]:
    """Return what a reader sees as series: panel, colours and the cues beside colour of every line, kind of point and kind of bar."""
    found = []
    for trace in spec(figure)["data"]:
        if not any(len(_listed(trace.get(axis, []))) for axis in ("x", "y")):
            continue
        panel = trace.get("xaxis", "x"), trace.get("yaxis", "y")
        mode = trace.get("mode", "")
        opacity = trace.get("opacity", 1)
        if trace["type"] == "scatter" and "lines" in mode and trace["line"].get("width", 2) > 0:
            look = trace["line"]
            cue = ("line", look.get("dash", "solid"), round(2 * np.log2(look.get("width", 2))), trace.get("fill"))
            faint = opacity < 0.8 or look.get("width", 2) >= 6  # so thick a line is an area
            found.append({"panel": panel, "kind": "line", "colour": look["color"], "cue": cue, "faint": faint})
        if trace["type"] == "scatter" and "markers" in mode:
            look = {"color": "", **trace.get("marker", {})}
            n = len(_listed(trace["x"]))
            colours, symbols = (
                part * n if len(part) == 1 else part
                for part in map(_listed, (look["color"], look.get("symbol", "circle")))
            )
            edge = (look.get("line") or {}).get("width", 0)
            for colour, symbol in dict.fromkeys(zip(colours, symbols)):
                if symbol == "arrow":  # on a link, whose width says the same as its colour
                    continue
                outline = (look.get("line") or {}).get("color") if _listed(edge)[0] >= 1 else None
                cue = "point", symbol
                shown = outline if outline and contrast(colour, theme().ground) < 1.2 else colour
                found.append(
                    {
                        "panel": panel,
                        "kind": "point",
                        "colour": shown,
                        "cue": cue,
                        "faint": opacity < 0.8,
                        "edge": outline,
                    }
                )
        if trace["type"] == "bar":
            look = {"color": "", **trace.get("marker", {})}
            n = len(_listed(trace["x"]))
            pattern = _listed((look.get("pattern") or {}).get("shape") or "")
            colours = _listed(look["color"])
            pattern, colours = (part * n if len(part) == 1 else part for part in (pattern, colours))
            places = _listed(trace["y" if trace.get("orientation") == "h" else "x"])
            written = "text" in trace and trace.get("textposition", "none") != "none"
            for colour, shape in dict.fromkeys(zip(colours, pattern)):
                at = {p for p, c, s in zip(places, colours, pattern) if (c, s) == (colour, shape)}
                one = {"panel": panel, "kind": "bar", "colour": colour, "cue": ("bar", shape), "faint": opacity < 0.8}
                found.append(one | {"at": at, "written": written})
    drawn = [one for one in found if isinstance(one["colour"], str) and one["colour"].startswith("#")]
    # what has the colour of the ground hides something else, and is no series
    return [one for one in drawn if contrast(one["colour"], theme().ground) > 1.1]


def named_in_ink(figure: go.Figure) -> set[str]:
    """Return the roles' colours of which a label of the figure speaks in the same hue."""
    now = theme()
    inks = {str(note.font.color) for note in figure.layout.annotations if note.font.color}
    inks |= {
        ink for note in figure.layout.annotations for ink in now.inks.values() if f"color:{ink}" in (note.text or "")
    }
    return {now.marks[role] for role, ink in now.inks.items() if ink in inks}


def alike(figure: go.Figure) -> list[str]:
    """Return, in words, every two series of a panel that only their colour tells apart, or not even that."""
    wrong = []
    named = named_in_ink(figure)
    for a, b in itertools.combinations(series(figure), 2):
        if a["panel"] != b["panel"] or a["kind"] != b["kind"] or a["colour"] == b["colour"]:
            continue
        if np.linalg.norm(lab(a["colour"]) - lab(b["colour"])) < ONE_SHADE:
            continue
        grey = abs(lab(a["colour"])[0] - lab(b["colour"])[0])
        near = min(distance(a["colour"], b["colour"], kind) for kind in BLIND)
        cues = [a["cue"] != b["cue"]]
        if (
            a["kind"] == "bar"
        ):  # lighter or darker in print, or words in each, or each in a place of its own, which has a name
            cues += [grey > GREY_FAR, a["written"] and b["written"], not a["at"] & b["at"]]
        if not any(cues) and not (a["colour"] in named and b["colour"] in named):
            wrong.append(f"only colour: {a} and {b}")
        elif near < FAR and not any(cues):
            wrong.append(f"colours {near:.1f} apart for some eyes: {a} and {b}")
    return wrong


def pale(figure: go.Figure) -> list[str]:
    """Return every line and point that stands out by less than 3 : 1 and has neither an edge nor a label that does."""
    ground, named = theme().ground, named_in_ink(figure)
    return [
        f"{contrast(one['colour'], ground):.2f} : 1 of {one}"
        for one in series(figure)
        if one["kind"] != "bar"
        and not one["faint"]
        and contrast(one["colour"], ground) < 3
        and one["colour"] not in named
        and (not one.get("edge") or contrast(one["edge"], ground) < 3)
    ]
