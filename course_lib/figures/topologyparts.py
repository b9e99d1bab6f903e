"""Parts of a drawn machine: GPUs, switches and cards as marks and bars, with their names."""

from course_lib.figures.base import note
from course_lib.figures.layoutparts import Layout
from course_lib.figures.theme import ink, theme

_SHAPES = {"gpu": "square", "host": "square", "cpu": "circle"}  # switches of every kind are hexagons


def bars(plan: Layout) -> list[dict]:
    """Return the switches that are drawn as bars."""
    look = {"fillcolor": theme().panel, "line": {"color": theme().ink, "width": 1.8}, "layer": "below"}
    return [
        {"type": "rect", "x0": p.wide[0], "x1": p.wide[1], "y0": p.y - 18, "y1": p.y + 18, **look}
        for p in plan.parts
        if p.wide is not None
    ]


def parts(plan: Layout) -> dict:
    """Return everything that is not a bar as markers; small where there are many."""
    shown = [p for p in plan.parts if p.wide is None]
    n_gpus = sum(p.kind == "gpu" for p in shown)
    many = n_gpus > 16
    size = {"gpu": 7 if n_gpus > 40 else 15 if many else 19 if n_gpus > 8 else 30, "host": 32}
    return {
        "type": "scatter", "mode": "markers", "x": [p.x for p in shown], "y": [p.y for p in shown], "text": [p.name for p in shown],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "symbol": [_SHAPES.get(p.kind, "hexagon2") for p in shown], "size": [size.get(p.kind, 30) for p in shown],
            "color": theme().panel, "line": {"color": theme().ink, "width": 1.2 if many else 1.8}, "opacity": 1,
        },
    }  # fmt: skip


def labels(plan: Layout) -> list[dict]:
    """Return numbers in the GPUs, names in bars and beside other parts, and captions."""
    n_gpus = sum(p.kind == "gpu" for p in plan.parts)
    labels = []
    for part in plan.parts:
        place = {"x": part.x, "y": part.y, "xref": "x", "yref": "y", "bgcolor": "rgba(0,0,0,0)"}
        look = {"font": {"size": 11 if n_gpus > 8 or "<br>" in part.label else 12, "color": ink()}}
        if part.kind == "gpu":
            if n_gpus <= 16:
                labels.append(note(part.label, **place) | look)
        elif part.wide is not None:
            labels.append(note(part.label, **place) | look)
        elif "<br>" in part.label or len(part.label) > 3:
            below = part.y < 60
            labels.append(
                note(
                    part.label,
                    **place | {"bgcolor": theme().ground},
                    yshift=(-26 - 9 * part.label.count("<br>")) if below else 26,
                )
                | look
            )
        else:
            labels.append(note(part.label, **place) | look)
    labels += [
        note(text, x=x, y=y, xref="x", yref="y") | {"font": {"size": 11, "color": theme().muted}}
        for text, x, y in plan.captions
    ]
    return labels
