"""values.yaml fits the chart's interface, its Python runs, and no learner's server sees the instructor's folder."""

import copy
import importlib.util
import types
from pathlib import Path

import pytest
import yaml

HUB = Path(__file__).parents[2] / "instructor" / "hub"
VALUES = yaml.safe_load((HUB / "values.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_values", HUB / "check_values.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_key_is_one_of_the_charts(check):
    assert check.problems(VALUES) == []


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("singleuser.memory.limits", "2G", "limits"),
        ("singleuser.image.tag", 1, "1 is not of type"),
        ("singleuser.storage.type", "shared", "shared"),
        ("hub.extraconfig", {}, "extraconfig"),
        ("singleuser.cloudMetadata.enabled", True, "enabled"),
    ],
)
def test_a_wrong_key_or_type_is_named(check, path, value, said):
    values = copy.deepcopy(VALUES)
    *way, last = path.split(".")
    place = values
    for key in way:
        place = place[key]
    place[last] = value
    (line,) = check.problems(values)
    assert said in line


def test_what_is_to_be_filled_in_is_listed(check):
    words = check.not_filled_in((HUB / "values.yaml").read_text(encoding="utf-8"))
    assert {"INSTRUCTOR", "LEARNER", "YOUR-REGISTRY", "HUB.EXAMPLE.EDU"} <= set(words)
    assert check.not_filled_in("a: instructor\nINTERCONNECT_HOME: /home") == []


@pytest.mark.parametrize(("name", "number", "uid"), [("kim", 7, 20007), ("INSTRUCTOR", 1, 1000)])
def test_each_learner_has_a_uid_and_only_instructors_mount_the_course(monkeypatch, name, number, uid):
    import sys

    z2jh = types.ModuleType("z2jh")
    z2jh.get_config = lambda key: VALUES["custom"][key.split(".")[1]]
    monkeypatch.setitem(sys.modules, "z2jh", z2jh)
    c = types.SimpleNamespace(KubeSpawner=types.SimpleNamespace())
    exec(VALUES["hub"]["extraConfig"]["10-learners-apart"], {"c": c})
    spawner = types.SimpleNamespace(user=types.SimpleNamespace(name=name, id=number), volumes=[], volume_mounts=[])
    c.KubeSpawner.pre_spawn_hook(spawner)
    c.KubeSpawner.pre_spawn_hook(spawner)  # the server is started a second time
    assert len(spawner.volumes) <= 1
    assert spawner.uid == uid
    assert bool(spawner.volumes) == (name == "INSTRUCTOR")
    assert "interconnect-course" not in str(VALUES["singleuser"]["storage"])
