"""What a reader with a screen reader, a keyboard or a phone meets: axe-core's faults, where Tab leads, and texts that touch."""

import os
from functools import cache
from pathlib import Path

import pytest

from course_lib.base.errors import CourseError
from course_lib.cli import node

from .lab import PATIENCE_ms

HERE = Path(__file__).parent
PHONE_PX = 320  # of a figure on a page of 360 px

FAULTS = """async scopes => {
  const found = await axe.run({include: scopes.map(scope => [scope])}, {resultTypes: ["violations"]});
  return found.violations.filter(v => ["serious", "critical"].includes(v.impact))
    .flatMap(v => v.nodes.map(n => `${v.id}: ${v.help}: ${n.html.replace(/\\s+/g, " ").slice(0, 160)}`)); }"""

TOUCHING = """async ({data, layout, config, width}) => {
  const place = document.getElementById("place");
  place.style.width = width + "px";
  Plotly.purge(place);
  place.innerHTML = "";
  await Plotly.newPlot(place, data, layout, {...config, responsive: false, staticPlot: true});
  const room = place.getBoundingClientRect();
  const texts = [...place.querySelectorAll("svg text")]
    .filter(e => e.textContent.trim() && getComputedStyle(e).visibility !== "hidden")
    .map(e => [e.textContent.trim().slice(0, 40), e.getBoundingClientRect()]).filter(([, r]) => r.width && r.height);
  const wrong = texts.filter(([, r]) => room.left - r.left > 2 || r.right - room.right > 2 || room.top - r.top > 2
    || r.bottom - room.bottom > 2).map(([text]) => `cut off: ${text}`);
  texts.forEach(([one, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 2 && down > 3) wrong.push(`on one another: ${one} | ${other}`);
  }));
  return wrong; }"""

# On a phone JupyterLab leaves 256 px for the box, 232 of them for its text, and the letters are of 12 px there.
CUT = """phone_px => [...document.querySelectorAll(".ic-explorer select")].flatMap(box => {
  const look = getComputedStyle(box), pen = document.createElement("canvas").getContext("2d");
  pen.font = look.font;
  const room = box.clientWidth - parseFloat(look.paddingLeft) - parseFloat(look.paddingRight);
  return [...box.options].map(o => [o.text, pen.measureText(o.text).width])
    .filter(([, wide]) => wide > room || wide * 12 / parseFloat(look.fontSize) > phone_px)
    .map(([text, wide]) => `${text}: ${Math.round(wide)} px in a box for ${Math.round(room)}`); })"""

OUTPUTS = """() => window.jupyterapp.shell.currentWidget.content.widgets.flatMap(cell => (cell.model.outputs?.toJSON() ?? [])
  .map(output => output.data?.["application/vnd.plotly.v1+json"]).filter(Boolean))"""

FOCUSED = """() => { const at = document.activeElement, look = getComputedStyle(at);
  return {inside: Boolean(at.closest(".ic-explorer")),
    control: [...(at.closest("[class*=ic-control-]")?.classList ?? [])].find(c => c.startsWith("ic-control-")) ?? "",
    name: at.getAttribute("aria-label") || at.textContent.trim() || at.title || at.placeholder || "",
    ring: parseFloat(look.outlineWidth) >= 2 && look.outlineStyle === "solid" ? look.outlineColor : ""}; }"""


@cache
def axe() -> str:
    """Return axe-core's script, from npm in a locked version; without npm the test is skipped, under CI it fails."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "one")  # two at once would write into one folder
    try:
        modules = node.install(HERE / "axe", HERE.parents[1] / "build" / f"axe-{worker}")
    except CourseError as error:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(error))
    return (modules / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def faults(page, *scopes: str) -> list[str]:
    """Return what axe-core calls serious or critical within the elements that `scopes` select, in words."""
    page.evaluate(axe())
    there = [scope for scope in scopes if page.locator(scope).count()]
    assert there, scopes
    return page.evaluate(FAULTS, there)


def cut_options(page) -> list[str]:
    """Return the options of select boxes that are wider than their box, here or on a phone, in words."""
    return page.evaluate(CUT, 232)


def figures(page) -> list[dict]:
    """Return the figures that the outputs of an open notebook hold, pictures of explorers among them."""
    return page.evaluate(OUTPUTS)


@cache
def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def touching(browser, drawn: list[dict], width: int = PHONE_PX) -> list[str]:
    """Return, for figures drawn at this width, every text that is cut off and every two that stand on one another."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_ms)
    page.set_content('<!DOCTYPE html><body style="margin:0"><div id="place"></div></body>')
    page.add_script_tag(content=_plotly())
    wrong = []
    for one in drawn:
        title = ((one["layout"].get("meta") or {}).get("title") or "")[:60]
        told = {key: one.get(key, {}) for key in ("data", "layout", "config")}
        told["layout"] = {
            key: part for key, part in told["layout"].items() if key != "title"
        }  # it stands over the figure
        wrong += [f"{title}: {said}" for said in page.evaluate(TOUCHING, told | {"width": width})]
    page.close()
    return wrong


def tab_through(page, at_most: int = 60) -> list[dict]:
    """Press Tab until the explorers are left; return what had the focus in them, in order."""
    seen: list[dict] = []
    for _press in range(at_most):
        page.keyboard.press("Tab")
        now = page.evaluate(FOCUSED)
        if now["inside"]:
            seen.append(now)
        elif seen:
            break
    return seen
