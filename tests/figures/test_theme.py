"""Colours are readable on both grounds and can be told apart by colour-blind readers, or by something else than colour."""

import itertools
import json

import pytest

from course_lib.base.errors import CourseError
from course_lib.figures import theme as themes

from . import sight

BOTH = (themes.LIGHT, themes.DARK)


@pytest.mark.parametrize("one", BOTH, ids=lambda t: t.name)
def test_every_ink_has_a_contrast_of_4_5_on_ground_and_panel(one):
    for colour in (one.ink, one.muted, *one.inks.values()):
        assert themes.contrast(colour, one.ground) >= 4.5, colour
    for colour in (one.ink, one.muted):
        assert themes.contrast(colour, one.panel) >= 4.5, colour


@pytest.mark.parametrize("one", BOTH, ids=lambda t: t.name)
def test_every_role_has_a_mark_and_an_ink(one):
    assert set(one.marks) == set(one.inks) == set(themes.ROLES)


@pytest.mark.parametrize("kind", sight.BLIND)
@pytest.mark.parametrize("one", BOTH, ids=lambda t: t.name)
def test_families_differ_for_colour_blind_readers_and_in_grey(one, kind):
    for a, b in itertools.combinations(("pcie", "nvlink", "network", "measured", "attention"), 2):
        assert sight.distance(one.marks[a], one.marks[b], kind) > sight.FAR, (a, b)
        assert themes.SYMBOL.get(a) != themes.SYMBOL.get(b)


def test_a_theme_is_chosen_by_hand_by_the_environment_and_by_jupyterlab(monkeypatch, tmp_path):
    monkeypatch.setenv("JUPYTERLAB_SETTINGS_DIR", str(tmp_path))
    monkeypatch.delenv("INTERCONNECT_THEME", raising=False)
    assert themes.theme().name == "light"
    folder = tmp_path / "@jupyterlab" / "apputils-extension"
    folder.mkdir(parents=True)
    (folder / "themes.jupyterlab-settings").write_text(
        '{\n // "theme": "JupyterLab Light"\n "theme": "JupyterLab Dark"\n}', encoding="utf-8"
    )
    assert themes.theme().name == "dark"
    monkeypatch.setenv("INTERCONNECT_THEME", "light")
    assert themes.theme().name == "light"
    with themes.themed("dark"):
        assert themes.theme().name == "dark"
    assert themes.theme().name == "light"


def test_unknown_names_are_answered_in_words():
    with pytest.raises(CourseError, match="dark"):
        themes.set_theme("darkk")
    with pytest.raises(CourseError, match="nvlink"):
        themes.color("nvlnk")


def test_plotly_never_offers_to_upload():
    import plotly.graph_objects as go

    from course_lib.figures.show import spec

    assert spec(go.Figure())["config"] == themes.CONFIG
    assert themes.CONFIG["showSendToCloud"] is False
    assert json.dumps(themes.CONFIG)
