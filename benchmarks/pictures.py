"""The two pictures of the README: model against measurement by system, and growth from 8 to 131,072 GPUs; as PNG through Chromium.

A picture carries its description as PNG text, so that a test can tell whether it still says what the numbers say.
"""

import json
import struct
import tempfile
import zlib
from pathlib import Path

import plotly
import plotly.graph_objects as go
from common import ROOT

from course_lib.base.scale import say_number, say_time
from course_lib.figures.base import OUTSIDE, base_figure, count_axis, describe, end_labels, line, time_axis
from course_lib.figures.bysystem import residuals_by_system
from course_lib.figures.show import heading_html, meta_of, spec
from course_lib.figures.theme import FONT, ink, themed
from course_lib.timing.evidence import residuals

IMAGES = ROOT / "docs" / "images"
WIDTH_PX = 760
DRAWN = ("ring", "tree", "halving-doubling", "hierarchical-ring", "hierarchical-sharp")
ROLES = {
    "ring": "pcie",
    "tree": "network",
    "halving-doubling": "attention",
    "hierarchical-ring": "nvlink",
    "hierarchical-sharp": "model",
}
DASHES = {
    "ring": "solid",
    "tree": "dot",
    "halving-doubling": "dash",
    "hierarchical-ring": "dashdot",
    "hierarchical-sharp": "longdash",
}


def accuracy() -> go.Figure:
    """Return predicted ÷ measured by system, of the systems that no constant saw."""
    return residuals_by_system([x for x in residuals("training") if x.part == "judging"])


def growth(found: dict) -> go.Figure:
    """Return processor seconds of machine, schedule and timing over the number of GPUs, a line an algorithm."""
    rows = {name: [x for x in found["rows"] if x["algorithm"] == name] for name in DRAWN}
    whole = {name: [x["machine_s"] + x["build_s"] + x["timing_s"] for x in mine] for name, mine in rows.items()}
    counts = sorted({x["gpus"] for x in found["rows"]})
    every = [t for times in whole.values() for t in times]
    last = [x for x in found["rows"] if x["gpus"] == counts[-1]]
    slowest = max(x["machine_s"] + x["build_s"] + x["timing_s"] for x in last)
    most_MB = max(x["peak_MB"] for x in last)
    yaxis = time_axis(min(every) / 1.5, max(every) * 1.5, "processor time")
    data = [
        line([x["gpus"] for x in rows[name]], whole[name], role=ROLES[name], dash=DASHES[name])
        | {"mode": "lines+markers"}
        for name in DRAWN
    ]
    said = {
        "n": say_number(counts[-1]),
        "s": say_time(slowest, 2),
        "mb": f"{most_MB:,.0f}",
        "k": len({x["algorithm"] for x in last}),
    }
    title = "An all-reduce over {n} GPUs is built and timed in at most {s} and {mb} MB".format(**said)
    alt = (
        "Processor time of machine, schedule and timing over 8 to {n} GPUs: "
        "{k} ways of an all-reduce take at most {s} and {mb} MB."
    ).format(**said)
    return base_figure(
        data,
        title=title,
        subtitle="machine with all links, schedule, and its time on every link; a process each",
        xaxis=count_axis(counts[0] / 1.2, counts[-1] * 1.2, "GPUs", counts),
        yaxis=yaxis,
        annotations=end_labels(
            [(name.replace("-", "-<br>", 1), whole[name][-1], ROLES[name]) for name in DRAWN],
            yaxis,
            outside=True,
            gap_px=34,
        ),
        margin={"r": OUTSIDE + 30},
        meta=describe(
            alt, ["GPUs", *DRAWN], [(n, *(_at(rows[name], whole[name], n) for name in DRAWN)) for n in counts]
        ),
    )


def _at(rows: list[dict], whole: list[float], n: int) -> str:
    return next((say_time(t, 2) for x, t in zip(rows, whole, strict=True) if x["gpus"] == n), "–")


def description(fig: go.Figure) -> str:
    """Return a figure's description."""
    return meta_of(fig)[0]


PAGE = """<!doctype html><meta charset="utf-8"><body style="margin:0;background:#fff;color:{ink};font-family:{font}">
<div id="f" style="width:{width}px;padding:2px 0 6px">{heading}<div id="p"></div></div><script src="{script}"></script>
<script>const s = {spec};
s.config.staticPlot = true; s.layout.width = {width};
Plotly.newPlot("p", s.data, s.layout, s.config).then(() => {{ window.drawn = true; }});
</script>"""


def png(fig: go.Figure, path: Path, *, scale: float = 1.5) -> None:
    """Draw a figure in Chromium and write it, with its description in it."""
    from playwright.sync_api import sync_playwright

    from tests.browser.lab import FLAGS, chromium

    script = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        page_path = Path(folder) / "page.html"
        plain = json.dumps(spec(fig, titled=False)).replace("</", "<\\/")
        look = {"width": WIDTH_PX, "ink": ink(), "font": FONT.replace('"', "'"), "heading": heading_html(fig)}
        text = PAGE.format(script=script.as_uri(), spec=plain, **look)
        page_path.write_text(text, encoding="utf-8")
        browser = started.chromium.launch(executable_path=chromium(), headless=True, args=FLAGS)
        page = browser.new_page(device_scale_factor=scale, viewport={"width": WIDTH_PX, "height": 1600})
        page.goto(page_path.as_uri())
        page.wait_for_function("() => window.drawn")
        drawn = page.locator("#f").screenshot()
        browser.close()
    path.write_bytes(with_text(drawn, "Description", description(fig)))


def with_text(picture: bytes, key: str, text: str) -> bytes:
    """Return a PNG with a piece of text (iTXt) after its header."""
    body = b"iTXt" + key.encode() + b"\0\0\0\0\0" + text.encode("utf-8")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    header = 8 + 25  # signature, IHDR
    return picture[:header] + chunk + picture[header:]


def text_of(picture: bytes, key: str) -> str:
    """Return a piece of text of a PNG, "" where there is none.

    >>> text_of(with_text(b"." * 33 + b"rest", "Description", "2 × 2"), "Description")
    '2 × 2'
    """
    at, start = 8, b"iTXt" + key.encode() + b"\0\0\0\0\0"
    found = picture.find(start, at)
    if found < 0:
        return ""
    length = struct.unpack(">I", picture[found - 4 : found])[0]
    return picture[found + len(start) : found + 4 + length].decode("utf-8")


def write(results: dict) -> None:
    """Write both pictures."""
    with themed("light"):
        png(accuracy(), IMAGES / "accuracy.png", scale=1.15)
        png(growth(results["growth"]["found"]), IMAGES / "benchmarks.png")
