"""Lesson A's explorer: every example has a verdict and a picture, a pasted log wins, and nothing pasted breaks it."""

import plotly.graph_objects as go
import pytest

from course_lib.explorers import lessonA
from course_lib.figures.show import meta_of
from course_lib.machine import examples
from course_lib.machine.measuring import sharedcores
from course_lib.machine.measuring.beside import compare

VERDICTS = {
    "box": "healthy", "slow-box": "finding", "short": "healthy", "cluster": "finding", "four-tables": "finding",
    "peers": "finding", "copies": "finding", "matrix": "healthy", "permissions": "cannot tell",
}  # fmt: skip


@pytest.fixture
def explorer():
    made = lessonA.read_a_log()
    made.commit("5")
    return made


def shown(explorer):
    return explorer.figure.layout.title.text, [[] if t.y is None else list(map(str, t.y)) for t in explorer.figure.data]


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_every_example_has_its_verdict_and_a_picture_of_four_traces(explorer, name):
    explorer.set(log=name)
    assert explorer.message == ""
    assert lessonA.report(name).status == VERDICTS[name]
    assert len(explorer.figure.data) == 4
    go.Figure(explorer.figure.to_dict())  # Plotly's own validation


def test_no_title_of_an_example_gives_its_verdict_away():
    for example in examples.EXAMPLES.values():
        assert not any(word in example.title.lower() for word in ("healthy", "slow", "broken", "fault", "down"))


def test_each_control_changes_the_picture(explorer):
    for change in ({"log": "peers"}, {"log": "box"}, {"system": "dgx-b200"}, {"paste": examples.text("copies")}):
        before = shown(explorer)
        explorer.set(**change)
        assert explorer.message == ""
        assert shown(explorer) != before


def test_the_system_decides_what_is_expected():
    assert lessonA.report("box").status == "healthy"
    assert lessonA.report("box", "dgx-b200").status == "finding"


@pytest.mark.parametrize(
    "text",
    ["nonsense", "<html><body>404</body></html>", "\x00\x01\x02", "1,2,3\n4,5", "9" * 5000, "GPU0\tGPU1\n", "é\u202e"],
)
def test_whatever_is_pasted_is_answered_with_what_it_is_and_what_to_paste(explorer, text):
    explorer.set(paste=text)
    assert explorer.message == ""
    assert "cannot tell" in explorer.figure.layout.title.text.replace("<br>", " ").lower()


def test_an_empty_paste_leaves_the_example(explorer):
    before = shown(explorer)
    explorer.set(paste="  \n ")
    assert shown(explorer) == before


def test_a_very_long_paste_is_sent_to_the_command(explorer):
    widget = lessonA.Paste("or paste one").build()
    widget.value = "x" * (lessonA.MOST_CHARACTERS + 1)
    with pytest.raises(Exception, match="interconnect diagnose"):
        lessonA.Paste("or paste one").read(widget)


def test_without_mpi_the_lesson_goes_on_with_the_shipped_measurement(monkeypatch, capsys):
    monkeypatch.setattr("course_lib.machine.measuring.launch.has_module", lambda name: False)
    monkeypatch.setattr("course_lib.machine.measuring.host.has_module", lambda name: False)
    assert lessonA.measured_here(True) is examples.measurement()
    assert "pip install" in capsys.readouterr().out


def test_the_shipped_measurement_is_right_and_predicted_on_both_sides():
    measured = examples.measurement()
    assert not measured.wrong
    assert not measured.missing
    found = compare(measured)
    assert max(row.line_off for row in found.algorithms) < 0.2
    assert max(row.model_off for row in found.algorithms) < 0.2
    assert max(row.others_off for row in found.algorithms) < 0.2
    race = found.race
    assert "tree" not in race.fitted_to
    sizes = sorted(race.predicted)
    assert [race.measured[m] for m in sizes[:6]] == [race.predicted[m] for m in sizes[:6]] == [1] * 6  # the tree below
    assert race.predicted[sizes[-1]] == -1  # the ring above
    assert race.measured[sizes[-1]] <= 0
    assert race.agreed == race.decided  # "wherever one of the two is clearly ahead it names the right one"


def test_the_lesson_says_of_the_large_end_what_was_measured():
    measured = examples.measurement()
    ring, tree = (measured.columns(name)[1] for name in ("ring", "tree"))
    assert (ring[-2:] / tree[-2:] > 0.9).all()  # "ahead by a few percent"
    assert (ring[-2:] / tree[-2:] < 1).all()
    both = compare(measured)
    promised = [sharedcores.predict_s(measured.schedules[n], both.model, 2**24) for n in ("ring", "tree")]
    assert 1 - promised[0] / promised[1] == pytest.approx(0.2, abs=0.03)  # "a fifth"


def test_the_shipped_measurement_names_no_person_host_or_folder():
    text = examples.MEASURED.read_text(encoding="utf-8")
    assert not any(word in text for word in ("/home", "/root", "/work", "/tmp", "hostname"))


def test_the_race_is_drawn_with_eight_traces():
    fig = lessonA.race_picture(examples.measurement())
    assert len(fig.data) == 8
    go.Figure(fig.to_dict())


@pytest.mark.parametrize("language", ["en", "zh_CN", "zh_TW"])
@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_a_verdict_is_said_once_with_one_stop_and_has_something_under_it(name, language, monkeypatch):
    monkeypatch.setenv("INTERCONNECT_LANG", language)
    explorer = lessonA.read_a_log()
    made = explorer.picture({"log": name, "system": "", "paste": ""}, ("light",))
    title = " ".join(made.figures[0].layout.title.text.replace("<br>", " ").split())
    said = lessonA.say_verdict(lessonA.report(name))
    assert title.lower().count(said) == 1, title
    assert "。." not in made.sentence
    assert ".." not in made.sentence
    assert meta_of(made.figures[0])[2], name
