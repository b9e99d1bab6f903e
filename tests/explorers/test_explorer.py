"""The explorer joins controls, model and figure, and nothing a learner can do leaves it silent or wrong."""

import asyncio
import json
import time

import pytest

from course_lib.base.errors import CourseError
from course_lib.explorers.controls import Choice, CountSlider, Number, SizeSlider, Slider
from course_lib.explorers.explorer import Explorer
from course_lib.explorers.merge import Merger, REST_s
from course_lib.figures.base import base_figure, describe, line, linear_axis

from ..browser import demo


def picture(text):
    return base_figure(
        [line([0, 1], [0, 1])],
        title=text,
        xaxis=linear_axis("x"),
        yaxis=linear_axis("y"),
        meta=describe(text, ["what"], [[text]]),
    )


def shown(explorer):
    return explorer.view.output.outputs[0]["data"]["application/vnd.plotly.v1+json"]


def test_moving_a_widget_redraws_and_the_equation_follows():
    explorer = demo.alpha_beta()
    before = json.dumps(shown(explorer)["data"])
    explorer.view.inputs["bandwidth_Bps"].value = 100e9
    assert json.dumps(shown(explorer)["data"]) != before
    assert "100 GB/s" in explorer.view.formula.value
    assert "1\u00a0MB" in explorer.view.said.value
    assert "1\u00a0MB" in explorer.view.head.value


def test_every_control_changes_the_picture():
    explorer = demo.every_control()
    moves = {"message_B": 2**30, "n": 64, "kind": "tree", "both": True, "typed_B": 2**40, "step": 1}
    for name, value in moves.items():
        before = (json.dumps(shown(explorer)["data"]), explorer.view.head.value)
        explorer.set(**{name: value})
        assert (json.dumps(shown(explorer)["data"]), explorer.view.head.value) != before, name
        assert not explorer.message, name
        explorer.reset()


def test_an_error_is_said_in_words_and_the_next_valid_value_heals():
    explorer = demo.every_control()
    good = shown(explorer)
    explorer.view.inputs["typed_B"].value = "0"
    assert "The size is 0 B" in explorer.view.note.value
    assert explorer.stale
    assert "ic-stale" in explorer.widget._dom_classes
    assert shown(explorer) == good
    explorer.view.inputs["typed_B"].value = "64 MiB"
    assert not explorer.stale
    assert explorer.view.note.value == ""
    assert "ic-stale" not in explorer.widget._dom_classes


@pytest.mark.parametrize("text", ["", "nonsense", "-1", "nan", "1e400", "1M", "<b>64</b>"])
def test_what_cannot_be_read_is_said_and_never_raised(text):
    explorer = demo.every_control()
    explorer.view.inputs["typed_B"].value = text
    assert explorer.stale
    assert explorer.message
    assert "<b>64" not in explorer.view.note.value


def test_a_print_and_a_crash_inside_the_model_are_shown(capsys):
    explorer = demo.every_control()
    explorer.set(kind="print")
    assert "a print from the model" in explorer.view.note.value
    assert not explorer.stale
    explorer.set(kind="crash")
    assert "ZeroDivisionError: division by zero" in explorer.view.note.value
    assert explorer.stale
    assert capsys.readouterr() == ("", "")


def test_reset_sets_every_control_back_even_after_an_error():
    explorer = demo.every_control()
    start = explorer.values
    explorer.set(n=1024, kind="tree", both=True)
    explorer.view.inputs["typed_B"].value = "nonsense"
    explorer.view.buttons["reset"].click()
    assert explorer.values == start
    assert not explorer.message


def test_a_stepper_has_as_many_steps_as_the_other_values_allow():
    explorer = demo.every_control()
    explorer.set(n=2)
    assert explorer.view.inputs["step"].slider.max == 2
    explorer.set(n=64)
    explorer.set(step=50)
    explorer.set(n=4)
    assert explorer.values["step"] == 4
    assert "step 4" in explorer.view.head.value


def test_controls_are_locked_until_a_guess_and_open_after_a_restart():
    explorer = demo.guessed()
    assert all(widget.disabled for widget in explorer.view.inputs.values())
    explorer.commit("what")
    assert "not" in explorer.asked.message
    assert explorer.view.inputs["latency_s"].disabled
    explorer.commit("1 MB")
    assert explorer.asked.message == "You said 1 MB; the model says 500 KB: 2 × too much."
    assert not explorer.view.inputs["latency_s"].disabled
    again = demo.guessed()
    assert not again.view.inputs["latency_s"].disabled
    assert again.asked.message == explorer.asked.message


def test_table_description_and_ground_are_one_button_away():
    explorer = demo.alpha_beta()
    explorer.view.buttons["table"].value = True
    assert "<table" in explorer.view.more["table"].value
    explorer.view.buttons["description"].value = True
    assert "half of its rate" in explorer.view.more["description"].value
    ground = shown(explorer)["layout"]["paper_bgcolor"]
    explorer.view.buttons["dark"].click()
    assert shown(explorer)["layout"]["paper_bgcolor"] != ground
    explorer.set(latency_s=1e-6)
    assert "1 µs" in explorer.view.formula.value
    explorer.view.buttons["table"].value = False
    assert "ic-hide" in explorer.view.more["table"]._dom_classes


def test_the_snapshot_needs_no_kernel_and_no_script():
    made = demo.alpha_beta().snapshot()
    assert "application/vnd.plotly.v1+json" in made
    assert "500 KB" in made["text/html"]
    assert "<script" not in made["text/html"]


def test_static_places_get_a_note_and_a_picture_and_no_dead_widget(monkeypatch):
    made = []
    monkeypatch.setattr("IPython.display.display", lambda data, **more: made.append(data))
    for variable in ("COLAB_RELEASE_TAG", "INTERCONNECT_STATIC"):
        made.clear()
        monkeypatch.setenv(variable, "1")
        demo.alpha_beta()._ipython_display_()
        assert len(made) == 2
        assert not any("application/vnd.jupyter.widget-view+json" in data for data in made)
        assert "picture" in made[0]["text/html"]
        monkeypatch.delenv(variable)


def test_a_control_without_a_parameter_is_refused_by_name():
    with pytest.raises(CourseError, match="wrong"):
        Explorer(lambda n: n, picture, wrong=CountSlider("GPUs"))
    with pytest.raises(CourseError, match=r"^m "):
        Explorer(lambda n, m: n, picture, n=CountSlider("GPUs"))


def test_a_model_that_fails_from_the_start_is_an_explorer_with_a_message():
    explorer = Explorer(lambda n: 1 / 0, picture, n=CountSlider("GPUs"))
    assert "ZeroDivisionError" in explorer.message
    assert "text/html" in explorer.snapshot()


def test_extreme_values_of_the_sliders_work():
    for make in (demo.alpha_beta, demo.every_control):
        explorer = make()
        for name, control in explorer.controls.items():
            if isinstance(control, Slider):
                for value in (control.values[0], control.values[-1]):
                    explorer.set(**{name: value})
                    assert not explorer.stale, (name, value, explorer.message)


def test_sliders_refuse_values_that_are_no_steps():
    explorer = demo.alpha_beta()
    with pytest.raises(CourseError, match="steps"):
        explorer.set(latency_s=0.123)
    with pytest.raises(CourseError, match="no control"):
        explorer.set(latency=1e-6)


def test_controls_offer_the_steps_people_use():
    assert 72 in CountSlider("GPUs").values
    assert SizeSlider(low=8, high=2**34).values[0] == 8
    assert len(SizeSlider(low=8, high=2**34).values) == 32
    assert Choice("kind", ("a", "b")).start() == "a"
    assert Number("n", 8).parse("1,024") == 1024


def test_a_burst_is_merged_and_ends_with_the_last_value():
    seen, state = [], {"value": 0}

    async def drag():
        merger = Merger(lambda: seen.append(state["value"]))
        for value in range(60):
            state["value"] = value
            merger.event()
            await asyncio.sleep(1 / 60)
        while merger.calls and seen[-1] != 59:
            await asyncio.sleep(0.01)

    began = time.monotonic()
    asyncio.run(asyncio.wait_for(drag(), 60))
    took_s = time.monotonic() - began
    assert seen[0] == 0
    assert seen[-1] == 59
    assert len(seen) <= 2 + took_s / REST_s


def test_a_lone_event_is_worked_on_at_once():
    seen = []

    async def press():
        Merger(lambda: seen.append(1)).event()
        assert seen == [1]

    asyncio.run(press())


def test_a_model_that_raises_in_a_burst_does_not_stop_the_merger():
    calls = []

    def work():
        calls.append(1)
        if len(calls) == 1:
            raise ValueError

    merger = Merger(work, rest_s=0)
    with pytest.raises(ValueError):  # noqa: PT011
        merger.event()
    merger.event()
    assert len(calls) == 2


def test_a_picture_is_what_the_widgets_would_show_and_leaves_them_alone():
    explorer = demo.alpha_beta()
    before = json.dumps(shown(explorer))
    asked = {"latency_s": 1e-6, "bandwidth_Bps": 100e9}
    made = explorer.picture(asked, ("light", "dark"))
    assert json.dumps(shown(explorer)) == before
    explorer.set(**asked)
    light, dark = (figure.layout.paper_bgcolor for figure in made.figures)
    assert light != dark
    assert made.figures[0].layout.title.text == explorer.figure.layout.title.text
    assert made.equation[1].split("=")[-1].strip() in explorer.view.formula.value.replace("\N{NO-BREAK SPACE}", " ")
    assert made.sentence in explorer.view.said.value.replace("\N{NO-BREAK SPACE}", " ")
    typed = demo.every_control()
    with pytest.raises(CourseError, match="The size is 0 B"):
        typed.picture(typed.values | {"typed_B": 0})
