"""View: the widgets of an explorer in their places on the page, and how figure, words and numbers get into them."""

import html
from collections.abc import Callable

import ipywidgets as widgets
import plotly.graph_objects as go

from course_lib.base.language import _, punctuated
from course_lib.explorers import page
from course_lib.explorers.controls import Control
from course_lib.figures.show import MIMETYPE, meta_of, spec, table_html, title_of


class View:
    """What a learner sees: inputs, the figure with head, formula and sentence, a note, buttons, and what they open.

    `inputs` are the widgets of the controls by name. `figure`, `message` and `stale` are what is on the page now.
    """

    def __init__(self, controls: dict[str, Control]):
        self.figure: go.Figure | None = None
        self.message = ""
        self.stale = False
        self.inputs = {name: control.build() for name, control in controls.items()}
        for name, widget in self.inputs.items():
            widget.add_class(f"ic-control-{name}")
        self.head, self.formula, self.said, self.note = (widgets.HTML() for _i in range(4))
        self.more = {"table": widgets.HTML(), "description": widgets.HTML()}
        self.output = widgets.Output()
        self.output.add_class("ic-figure")
        self.buttons = {
            "table": widgets.ToggleButton(description=_("table"), tooltip=_("show the numbers of the figure")),
            "description": widgets.ToggleButton(description=_("description"), tooltip=_("say the figure in words")),
            "dark": widgets.Button(description=_("light / dark"), tooltip=_("draw the figure on the other ground")),
            "reset": widgets.Button(description=_("reset"), tooltip=_("set every control back")),
        }
        for name in ("table", "description"):
            self.buttons[name].observe(self._fill_more, names="value")
            self.more[name].add_class("ic-hide")

    def on_change(self, changed: Callable, reset: Callable[[], None], other_ground: Callable[[], None]) -> None:
        """Say what is called when a control has moved, and when one of the two buttons is pressed."""
        for widget in self.inputs.values():
            widget.observe(changed, names="value")
        self.buttons["reset"].on_click(lambda _button: reset())
        self.buttons["dark"].on_click(lambda _button: other_ground())

    def laid_out(self, question: str, guess: list[widgets.Widget]) -> widgets.VBox:
        """Return everything in its place, the row of the guess under the question."""
        controls = widgets.VBox(list(self.inputs.values()))
        controls.add_class("ic-controls")
        view = widgets.VBox([self.head, self.output, self.formula])
        view.add_class("ic-view")
        body = widgets.HBox([controls, view] if self.inputs else [view])
        body.add_class("ic-body")
        foot = widgets.HBox(list(self.buttons.values()))
        foot.add_class("ic-foot")
        asked = widgets.HTML(page.frame() + page.block("question", question))
        self.widget = widgets.VBox([asked, *guess, body, self.note, self.said, foot, *self.more.values()])
        self.widget.add_class("ic-explorer")
        return self.widget

    def lock(self, locked: bool) -> None:
        """Lock the controls, or open them."""
        for widget in self.inputs.values():
            widget.disabled = locked

    def show(self, figure: go.Figure, formula: str, said: str) -> None:
        """Show a figure with its formula and sentence, both as HTML."""
        self.figure = figure
        plain = spec(figure, titled=False)
        self.output.layout.min_height = f"{plain['layout'].get('height', 360)}px"
        alt, *_table = meta_of(figure)
        self.output.outputs = (
            {"output_type": "display_data", "metadata": {}, "data": {MIMETYPE: plain, "text/plain": alt}},
        )
        self.head.value = page.head(*title_of(figure)) + page.block("aloud", alt)
        self.formula.value, self.said.value = formula, said
        self._fill_more()

    def _fill_more(self, _change=None) -> None:
        """Fill the table and the description if they are open."""
        for name, widget in self.more.items():
            if self.buttons[name].value and self.figure is not None:
                alt, *_table = meta_of(self.figure)
                inner = table_html(self.figure) if name == "table" else f"<div>{html.escape(alt)}</div>"
                widget.value = f'<div class="ic-more" tabindex="0">{inner}</div>'  # it scrolls, so keys must reach it
                widget.remove_class("ic-hide")
            else:
                widget.add_class("ic-hide")

    def say(self, title: str, text: str) -> None:
        """Say something beside the figure, plain text; nothing where both are empty."""
        title, text = punctuated(title), punctuated(text)
        self.message = punctuated(f"{title} {text}".strip())
        self.note.value = page.message(title, text) if self.message else ""

    def mark_stale(self, stale: bool) -> None:
        """Make the figure pale where it belongs to other values than the controls have, or undo it."""
        self.stale = stale
        (self.widget.add_class if stale else self.widget.remove_class)("ic-stale")
