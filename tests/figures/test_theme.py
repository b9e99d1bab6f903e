"""Colours are readable on both grounds and can be told apart by colour-blind readers, or by something else than colour."""

import itertools
import json

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.figures import theme as themes

BOTH = (themes.LIGHT, themes.DARK)
# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
BLIND = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


@pytest.mark.parametrize("one", BOTH, ids=lambda t: t.name)
def test_every_ink_has_a_contrast_of_4_5_on_ground_and_panel(one):
    for colour in (one.ink, one.muted, *one.inks.values()):
        assert themes.contrast(colour, one.ground) >= 4.5, colour
    for colour in (one.ink, one.muted):
        assert themes.contrast(colour, one.panel) >= 4.5, colour


@pytest.mark.parametrize("one", BOTH, ids=lambda t: t.name)
def test_every_role_has_a_mark_and_an_ink(one):
    assert set(one.marks) == set(one.inks) == set(themes.ROLES)


def _lab(colour, matrix):
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(matrix) @ linear, 0, 1)
    xyz = (
        np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
        @ seen
        / np.array([0.9505, 1, 1.089])
    )
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("one", BOTH, ids=lambda t: t.name)
def test_families_differ_for_colour_blind_readers_and_in_grey(one, kind):
    for a, b in itertools.combinations(("pcie", "nvlink", "network", "measured", "attention"), 2):
        distance = np.linalg.norm(_lab(one.marks[a], BLIND[kind]) - _lab(one.marks[b], BLIND[kind]))
        assert distance > 9, (a, b, distance)
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
