"""Every example gives its stated outcome: exit status and words; nothing of a log's text is repeated."""

import json
import re

import pytest

from course_lib.base.language import _
from course_lib.cli.main import main
from course_lib.machine import gallery, say

CASES = gallery.cases()


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_a_case_gives_its_stated_outcome(case):
    report = gallery.run(case)
    text = say.in_words(report)
    assert report.exit_status == case.status, text
    for words in case.says:
        assert words in text, (words, text)
    made = json.loads(json.dumps(say.as_json(report), allow_nan=False))
    assert made["exit_status"] == case.status
    if report.status == "finding":
        assert made["findings"]
    for cause in made["causes"]:
        assert cause["test"]
        assert cause["because"]
    for word in ("planted-secret", "API_TOKEN", "hunter2", "host-a", "UUID", "Authorization", "/build/"):
        assert word not in text
        assert word not in json.dumps(made)


@pytest.mark.parametrize("language", ["en", "zh_CN", "zh_TW"])
def test_no_verdict_is_said_twice(monkeypatch, language):
    monkeypatch.setenv("INTERCONNECT_LANG", language)
    for case in CASES:
        report = gallery.run(case)
        first = say.in_words(report).splitlines()[0]
        words = [text.lower() for text in (_("HEALTHY"), _("FINDING"), _("CANNOT TELL"))]
        clauses = " ".join(re.split("[:：]", first)[:2]).lower()
        assert [clauses.count(word) for word in words] == [int(k == report.exit_status) for k in range(3)], first


def test_the_gallery_page_is_up_to_date():
    assert gallery.PAGE.read_text(encoding="utf-8") == gallery.page(), "run python -m course_lib.machine.gallery"


def test_every_example_is_in_the_gallery():
    used = {name for case in CASES for name in case.files}
    assert used == {path.name for path in gallery.FIXTURES.iterdir()} - {"cases.csv"}


def test_wrong_data_and_unjoined_ranks_get_no_speed():
    for case in CASES:
        if case.files[0] in ("nccl_wrong_values.txt", "nccl_unjoined.txt", "nccl_two_jobs.txt"):
            made = say.as_json(gallery.run(case))
            assert made["sweeps"] == []
            assert "GB/s" not in json.dumps(made["notes"] + made["findings"])


def test_the_command_line_gives_the_same_exit_status(capsys, monkeypatch):
    folder = gallery.FIXTURES
    assert main(["diagnose", str(folder / "nccl_old_error_column.txt")]) == 0
    assert "HEALTHY" in capsys.readouterr().out
    assert main(["diagnose", str(folder / "nvlink_one_gpu.txt"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "link-down"
    assert main(["diagnose", str(folder / "missing.txt")]) == 2
    assert main(["diagnose", str(folder)]) == 2
    assert main(["diagnose", str(folder / "empty.txt"), "--system", "dgx-h10"]) == 2
    assert main(["diagnose", str(folder / "empty.txt"), "--ranks", "0"]) == 2
    capsys.readouterr()
    with open(folder / "nvlink_all_up.txt", encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main(["diagnose", "-"]) == 0
