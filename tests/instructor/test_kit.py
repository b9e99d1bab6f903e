"""The instructor's pages lead somewhere, name commands that exist, and the rules for assistants reach the learners."""

import argparse
import importlib
import posixpath
import re
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from course_lib.cli import bundle, main
from course_lib.cluster.design import Work, claims, margin, price
from course_lib.grading import release
from course_lib.grading.bank.ex14.q1_design import BOXES, BRIEFS, PLACED, RACK

ROOT = Path(__file__).parents[2]
KIT = ROOT / "instructor"
PAGES = sorted([*KIT.glob("*.md"), *KIT.glob("hub/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_in_a_page_exist_with_their_options(page):
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```(?:sh|bash)\n(.*?)```", text, flags=re.S))
    for name, rest in re.findall(r"\binterconnect (\w[\w-]*)([^\n#|]*)", blocks):
        assert name in main.COMMANDS, name
        parser = argparse.ArgumentParser()
        importlib.import_module("course_lib.cli." + name.replace("-", "_")).add_arguments(parser)
        known = {word for action in parser._actions for word in action.option_strings}
        assert set(re.findall(r"--[\w-]+", rest)) <= known, rest
    for module in re.findall(r"python -m (course_lib[\w.]+)", blocks):
        importlib.import_module(module)
    for script in re.findall(r"python (instructor/\S+\.py)", blocks):
        assert (ROOT / script).is_file(), script


def test_every_page_of_the_kit_is_in_the_index():
    index = (KIT / "README.md").read_text(encoding="utf-8")
    for page in KIT.glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in index, page.name


def numbers(design, tokens_per_s):
    found = claims(price(PLACED | design, Work(tokens_per_s=tokens_per_s))).claims
    return {name: claim.value for name, claim in found.items()}


def test_the_memos_that_graders_compare_with_say_what_the_models_say():
    rubric = (KIT / "rubric_14.md").read_text(encoding="utf-8")
    n = numbers(RACK | {"interval_s": 27e3}, 200e3)
    said = f"It makes {n['tokens_per_s'] / 1e3:.0f},000 at {1e3 * n['token_latency']:.0f} ms, costs "
    said += f"{n['cost_per_million_tokens']:.2f} USD a million and {n['budget'] / 1e6:.1f} MUSD, "
    said += f"goodput is {100 * n['goodput']:.0f} % and an all-reduce {1e3 * n['all_reduce_time']:.1f} ms."
    assert said in rubric
    assert f"reached {100 * margin():.0f} % of the model" in rubric
    boxes, rack = (
        {edge for *edges, _usd, _budget, right in BRIEFS for edge in edges if (right["part"] == RACK["part"]) == racks}
        for racks in (False, True)
    )
    assert (
        f"Below about {max(boxes):,.0f} tokens a second boxes meet the gates, above {min(rack):,.0f} a rack" in rubric
    )
    memo = (ROOT / "solutions" / "14_design_review" / "14_design_review.ipynb").read_text(encoding="utf-8")
    n = numbers(BOXES | {"units": 4, "interval_s": 71e3}, 80e3)
    assert f"{1e3 * n['token_latency']:.0f} ms a token" in memo
    assert f"{n['tokens_per_s'] / 1e3:.0f},000 tokens a second" in memo
    assert f"{n['cost_per_million_tokens']:.1f} USD a million. At night {100 * n['goodput']:.0f} %" in memo
    assert f"The purchase is {n['budget'] / 1e6:.1f} MUSD" in memo


def test_rules_for_assistants_are_released_and_an_edited_copy_is_noticed(tmp_path, monkeypatch):
    source = (KIT / "assistants.md").read_bytes()
    assert (ROOT / "exercises" / "AGENTS.md").read_bytes() == source, "run: make exercises"
    monkeypatch.setattr(release, "generate", lambda root, target, names: None)
    for folder in ("instructor", "exercises"):
        (tmp_path / folder).mkdir()
    (tmp_path / "instructor" / "assistants.md").write_bytes(source)
    assert release._release(tmp_path, [], check=True, whole=True) == ["exercises/AGENTS.md"]
    release._release(tmp_path, [], check=False, whole=True)
    assert release._release(tmp_path, [], check=True, whole=True) == []
    (tmp_path / "exercises" / "AGENTS.md").write_text("solve everything", encoding="utf-8")
    assert release._release(tmp_path, [], check=True, whole=True) == ["exercises/AGENTS.md"]


def test_learners_get_the_rules_and_nothing_of_the_instructor(tmp_path):
    args = argparse.Namespace(output=tmp_path / "course.zip")
    assert bundle.run(args) == 0
    names = zipfile.ZipFile(args.output).namelist()
    assert "interconnect-course/exercises/AGENTS.md" in names
    assert not [name for name in names if "instructor" in name or "solutions/" in name or "rubric" in name]


def test_pages_of_the_archive_lead_to_what_is_in_it_and_no_assistant_reads_how_the_house_is_built(tmp_path):
    args = argparse.Namespace(output=tmp_path / "course.zip")
    assert bundle.run(args) == 0
    with zipfile.ZipFile(args.output) as archive:
        names = set(archive.namelist())
        folders = {str(parent) for name in names for parent in PurePosixPath(name).parents}
        for page in sorted(name for name in names if name.endswith(".md") and name.count("/") <= 2):
            text = archive.read(page).decode("utf-8")
            for target in re.findall(r"\]\(([^)#:\s]+)", text):
                place = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
                assert place in names | folders, f"{page} leads to {target}"
        readme = archive.read("interconnect-course/README.md").decode("utf-8")
        assert "make lab" in readme
        assert "make test" not in readme
        assert archive.read("interconnect-course/AGENTS.md") == (KIT / "assistants.md").read_bytes()


def test_the_rules_forbid_solving_and_say_how_to_help():
    text = (KIT / "assistants.md").read_text(encoding="utf-8")
    for words in (
        "tutor, do not solve",
        "one at a time",
        "Do not write, complete or correct",
        "LEARNER",
        "For learners",
    ):
        assert words in text
