"""Page: the small HTML pieces of an explorer, and the style sheet that lays them out in light, dark and narrow."""

import html
import json
import re

from course_lib.base.language import _
from course_lib.base.scale import kept_together

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

# Only a select decides how wide the column of controls is, up to 290 px, so that no option is cut; the rest asks for no width.
# The height of 0 keeps Lab's Plotly renderer from drawing every picture a second time, as a PNG to be saved.
# JupyterLab's own variables carry the theme of the page; the second values are for front ends without them.
CSS = """
.ic-explorer {container-type:inline-size;contain:layout style;
  max-width:1000px;padding:2px 0 6px;font-size:14px;line-height:1.45;overflow:visible;
  color:var(--jp-content-font-color0,inherit);--ic-quiet:var(--jp-content-font-color1,#444);
  --ic-line:var(--jp-border-color2,#cfd6dc);--ic-panel:var(--jp-layout-color1,#f7f9fa)}
.ic-explorer .widget-html,.ic-explorer .widget-html-content {height:auto;line-height:1.45;font-size:14px;color:inherit;
  margin:0;min-width:0;overflow:visible}
.ic-explorer .ic-hide {display:none}
.ic-question {font-size:16px;font-weight:600;margin:2px 0 4px}
.ic-explorer .ic-guess {display:flex;flex-flow:row wrap;align-items:center;gap:6px 8px;margin:0 0 6px;overflow:visible}
.ic-guess .widget-text {width:auto;flex:0 1 auto;margin:0;overflow:visible;flex-flow:row wrap;height:auto;gap:4px 8px}
.ic-guess .widget-text .widget-label {width:auto;margin:0;white-space:normal;height:auto;line-height:1.35;flex:0 1 auto;text-align:left}
.ic-guess .widget-text input {width:110px;flex:0 0 110px}
.ic-explorer .jupyter-button {width:auto;margin:0;padding:0 10px;border-radius:3px}
.ic-explorer .ic-body {display:flex;flex-flow:row nowrap;gap:18px;align-items:stretch;overflow:visible}
.ic-explorer .ic-controls {flex:0 0 auto;width:max-content;min-width:236px;max-width:290px;gap:14px;padding:14px 0 0;overflow:visible}
.ic-explorer .ic-view {flex:1 1 0;min-width:0;overflow:hidden}
.ic-explorer .ic-controls>*,.ic-explorer .ic-controls .widget-vbox>* {width:100%;max-width:100%;margin:0;overflow:visible}
.ic-explorer .ic-controls .widget-inline-hbox {flex-flow:row wrap;height:auto;align-items:center}
.ic-explorer .ic-controls .widget-label {width:auto;flex:1 1 0;text-align:left;height:auto;line-height:1.35;white-space:normal;
  color:var(--ic-quiet);margin:0 8px 2px 0}
.ic-explorer .ic-controls .widget-readout {order:1;flex:0 0 auto;width:auto;min-width:0;max-width:none;margin:0 0 2px;padding:0;
  height:auto;line-height:1.35;text-align:right;font-weight:600;font-variant-numeric:tabular-nums;overflow:visible;border:0;
  color:var(--jp-content-font-color0,inherit)}
.ic-explorer .ic-controls .slider-container {order:2;flex:1 0 calc(100% - 18px);margin:0 9px;height:26px}
.ic-explorer .ic-controls .widget-dropdown select,.ic-explorer .ic-controls .widget-text input {flex:1 0 100%;width:100%;order:2}
.ic-explorer .ic-controls>:not(:has(select)),.ic-explorer .ic-controls .widget-dropdown .widget-label {contain:inline-size}
.ic-explorer .ic-controls .widget-checkbox .widget-label-basic {color:var(--ic-quiet);white-space:normal;line-height:1.35;height:auto}
.ic-explorer .ic-controls .widget-hbox {gap:6px;flex-flow:row wrap}
.ic-explorer .ic-controls .widget-hbox>* {width:auto;margin:0}
.ic-explorer .widget-play {gap:6px}
.ic-explorer :is(.noUi-handle,.jupyter-button,.widget-readout,input,select,textarea,[tabindex]):focus-visible
  {outline:2px solid var(--jp-content-font-color0,currentColor)!important;outline-offset:2px}
.ic-explorer .noUi-target {background:var(--ic-line);border:0;box-shadow:none}
.ic-head {margin:12px 0 0 12px}
.ic-head b {font-size:17px;font-weight:500;line-height:1.3;display:block}
.ic-head span {font-size:13px;color:var(--ic-quiet);display:block;margin-top:3px}
.ic-explorer .ic-figure {margin:0;overflow:hidden;contain:content}
.ic-figure .jp-OutputArea,.ic-figure .jp-OutputArea-child {min-height:inherit;overflow:visible}
.ic-figure .jp-OutputArea-child {padding:0}
.ic-figure .jp-OutputArea-prompt,.ic-figure .jp-OutputPrompt {display:none}
.ic-figure .jp-OutputArea-output {padding:0;margin:0;overflow:visible}
.ic-figure .jp-RenderedPlotly {height:0}
.ic-stale .ic-figure,.ic-stale .ic-head,.ic-stale .ic-eq,.ic-stale .ic-sentence {opacity:.35;filter:grayscale(1)}
.ic-eq {margin:2px 0 6px 12px;overflow-x:auto;font-family:'STIX Two Math','Cambria Math','DejaVu Serif',Georgia,serif}
.ic-explorer .ic-eq table {border-collapse:collapse;margin:0;font-size:15px;border:0;table-layout:auto}
.ic-explorer .ic-eq td {padding:1px .4em 1px 0;text-align:left;border:0;vertical-align:top;background:none;white-space:normal;
  max-width:none;line-height:1.4}
.ic-explorer .ic-eq tr {background:none}
.ic-explorer .ic-eq tr:first-child td {color:var(--ic-quiet)}
.ic-sentence {margin:6px 0;font-size:15px;max-width:70ch}
.ic-explorer .ic-foot {display:flex;gap:8px;flex-flow:row wrap;overflow:visible;margin:2px 0 0}
.ic-message {border-left:4px solid #E69F00;background:var(--ic-panel);padding:6px 12px;margin:6px 0;white-space:pre-wrap;max-width:80ch}
.ic-more {background:var(--ic-panel);padding:8px 14px;margin:8px 0 0;max-width:100%;overflow-x:auto}
.ic-explorer .ic-table {border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;margin:0;border:0}
.ic-explorer .ic-table th,.ic-explorer .ic-table td {padding:3px 18px 3px 0;text-align:left;border:0;
  border-bottom:1px solid var(--ic-line);white-space:nowrap;max-width:none;background:none}
.ic-explorer .ic-table tr {background:none}
.ic-aloud {position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
@container (max-width:640px) {
  .ic-explorer .ic-body {flex-flow:column nowrap;gap:4px}
  .ic-explorer .ic-controls {width:auto;min-width:0;max-width:none;padding:6px 0 0}
  .ic-explorer .ic-view {flex:0 0 auto;width:100%}
  .ic-head,.ic-eq {margin-left:0}
}
@container (max-width:319px) {
  .ic-explorer .ic-figure {zoom:.8}
  .ic-explorer .ic-controls select {font-size:12px;padding:0 18px 0 4px}
}
"""

# JupyterLab leaves 256 of a phone's 360 pixels; figures are made for 320 and more, so there they shrink a little.
# A live explorer hides the picture that waits for a kernel; with no kernel the picture hides the dead box of the widget.
LIVE_CSS = """
.jp-OutputArea:has(.ic-explorer)>.jp-OutputArea-child:has(.ic-snapshot),
.jp-OutputArea:has(.ic-explorer)>.jp-OutputArea-child:has(.ic-snapshot)~.jp-OutputArea-child:not(:has(.ic-explorer)):has(.jp-RenderedPlotly)
  {display:none}
@media (max-width:424px) {
  .jp-Cell-outputArea>.jp-OutputArea-child>.jp-RenderedPlotly {zoom:.8}
}
"""
DEAD_CSS = """
.jp-OutputArea:has(.ic-snapshot)>.jp-OutputArea-child:has(>.jp-OutputArea-output.jupyter-widgets) {display:none}
.ic-snapshot {border-left:4px solid #E69F00;padding:4px 12px;margin:6px 0}
"""


# What ipywidgets leaves out: the handle of a slider has no name and says its place, not its value; the buttons of a player have no
# names; and JupyterLab takes the arrow keys of a list for its own. A style sheet is the only thing here that tells when it is there.
NAMES = """
const root=this.closest(".ic-explorer"),words=WORDS;
if(!root||root.icNamed)return;
root.icNamed=true;
const name=()=>{
  for(const box of root.querySelectorAll(".widget-inline-hbox:has(.noUi-handle)")){
    const label=box.querySelector(".widget-label")?.textContent.trim();
    const handle=box.querySelector(".noUi-handle"),readout=box.querySelector(".widget-readout");
    if(label)handle.setAttribute("aria-label",label);
    if(readout)handle.setAttribute("aria-valuetext",readout.textContent);
    if(label&&readout?.isContentEditable){readout.setAttribute("role","textbox");readout.setAttribute("aria-label",label);}
  }
  for(const play of root.querySelectorAll(".widget-play"))
    play.querySelectorAll("button").forEach((button,i)=>{if(words[i])button.setAttribute("aria-label",button.title=words[i]);});
};
name();
new MutationObserver(name).observe(root,{subtree:true,childList:true,attributes:true,attributeFilter:["aria-valuenow"]});
if(!window.icKeys)window.addEventListener("keydown",window.icKeys=e=>{
  if(!e.shiftKey&&!e.ctrlKey&&!e.metaKey&&e.target.closest?.(".ic-explorer select"))e.stopPropagation();
},true);
"""


def style(css: str, loaded: str = "") -> str:
    """Return a <style> element; `loaded` is a script that runs when the page has it.

    >>> style("a{b:c}")
    '<style>a{b:c}</style>'
    """
    once = f' onload="{html.escape(_one_line(loaded))}"' if loaded else ""
    return f"<style{once}>{_one_line(css)}</style>"


def _one_line(text: str) -> str:
    return re.sub(r"\n *", "", text)


def frame() -> str:
    """Return what an explorer's frame begins with: its style sheet, and the names and keys that its controls lack.

    >>> frame().count("<style onload=")
    1
    """
    words = json.dumps([_("play, pause"), _("stop")], ensure_ascii=False)
    return style(CSS + LIVE_CSS, NAMES.replace("WORDS", words))


def block(kind: str, text: str, *, live: bool = False) -> str:
    """Return escaped text in a div of a class; `live` lets a screen reader say it when it changes.

    >>> block("sentence", "a < b")
    '<div class="ic-sentence">a &lt; b</div>'
    """
    aloud = ' role="status" aria-live="polite"' if live else ""
    return f'<div class="ic-{kind}"{aloud}>{html.escape(kept_together(text), quote=False)}</div>' if text else ""


def head(title: str, subtitle: str) -> str:
    """Return the title of a figure and the line under it."""
    title, subtitle = kept_together(title), kept_together(subtitle)
    under = f"<span>{html.escape(subtitle, quote=False)}</span>" if subtitle else ""
    return f'<div class="ic-head"><b>{html.escape(title, quote=False)}</b>{under}</div>'


def equation(formula: str, numbers: str) -> str:
    """Return a formula and under it the same formula in numbers, their first "=" one above the other.

    >>> equation("t = α + m/β", "t = 2 µs + 3 µs = 5 µs").count("<td>")
    6
    """
    rows = []
    for text in (formula, numbers):
        left, equals, right = (html.escape(part.strip(), quote=False) for part in text.partition("="))
        rows.append(
            f"<tr><td>{left}</td><td>{equals}</td><td>{right}</td></tr>"
            if equals
            else f"<tr><td colspan=3>{left}</td></tr>"
        )
    return f'<div class="ic-eq"><table role="presentation">{"".join(rows)}</table></div>'


def message(title: str, text: str) -> str:
    """Return the line that says what went wrong, or what a model printed."""
    return f'<div class="ic-message" role="alert"><b>{html.escape(title, quote=False)}</b> {html.escape(text, quote=False)}</div>'


def snapshot_note(question: str = "", note: str = "") -> str:
    """Return what stands in the saved notebook over the picture, for a reader without a kernel.

    >>> "Run this cell" in snapshot_note("How far?")
    True
    """
    text = note or _(
        "A snapshot of an explorer. Run this cell to make it live (in VS Code and other editors, too, it needs a running kernel)."
    )
    asked = f"<b>{html.escape(question, quote=False)}</b><br>" if question else ""
    return f'{style(DEAD_CSS)}<div class="ic-snapshot">{asked}{html.escape(text, quote=False)}</div>'
