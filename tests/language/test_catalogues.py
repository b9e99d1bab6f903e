"""Every catalogue that exists is complete, and one is enough to switch the language."""

import json

import pytest

from course_lib.base import language
from course_lib.locales.check import catalogue_faults, message_faults
from course_lib.locales.extract import messages
from course_lib.locales.messages import as_bytes, fresh, known_in, languages, main, po_file, read, update

SAID = {"{n} GPUs wait": ["a.py"], "Press <b>{key}</b>": ["a.py", "b.py"], "bandwidth": ["b.py"]}
DONE = {"{n} GPUs wait": "{n} 个 GPU 在等待", "Press <b>{key}</b>": "请按 <b>{key}</b>", "bandwidth": "带宽"}


# Active as soon as a catalogue exists.


@pytest.mark.parametrize("code", languages())
def test_a_catalogue_has_no_fault(code):
    faults = catalogue_faults(read(code), messages(), code)
    assert not faults, "\n".join(faults[:20])


@pytest.mark.parametrize("code", languages())
def test_the_compiled_catalogue_is_that_of_the_text(code):
    written = fresh(code, messages(), known_in(read(code)))
    po, mo = as_bytes(written)
    assert po_file(code).read_bytes() == po, "run make messages"
    assert po_file(code).with_suffix(".mo").read_bytes() == mo, "run make messages"


# The checks can fail: on a small catalogue in another place.


def faults_of(folder, code="zh_CN"):
    return catalogue_faults(read(code, folder), SAID, code)


def test_a_whole_catalogue_passes(tmp_path):
    assert update("zh_CN", SAID, DONE, tmp_path) == 0
    assert languages(tmp_path) == ["zh_CN"]
    assert faults_of(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "broken", "fault"),
    [
        ("{n} GPUs wait", "GPU 在等待", "lost {n}"),
        ("{n} GPUs wait", "{m} 个 GPU 在等待", "made up {m}"),
        ("{n} GPUs wait", "{n} 个 {GPU 在等待", "a brace is not closed"),
        ("{n} GPUs wait", "", "not translated"),
        ("Press <b>{key}</b>", "请按 <b>{key}", "lost </b>"),
        ("bandwidth", "頻寬", "頻 does not belong to zh_CN"),
    ],
)
def test_a_broken_translation_is_found(tmp_path, text, broken, fault):
    update("zh_CN", SAID, DONE, tmp_path)
    path = po_file("zh_CN", tmp_path)
    before = f'msgid "{text}"\nmsgstr "{DONE[text]}"'
    whole = path.read_text(encoding="utf-8")
    assert before in whole
    path.write_text(whole.replace(before, f'msgid "{text}"\nmsgstr "{broken}"'), encoding="utf-8")
    assert f"{text!r}: {fault}" in faults_of(tmp_path)


def test_missing_stale_and_fuzzy_entries_are_found(tmp_path):
    update("zh_CN", SAID, DONE, tmp_path)
    catalogue = read("zh_CN", tmp_path)
    assert catalogue_faults(catalogue, SAID | {"new": []}, "zh_CN") == ["'new': missing"]
    assert catalogue_faults(catalogue, {}, "zh_CN")[0] == "'{n} GPUs wait': the course does not say it any more"
    catalogue["bandwidth"].flags.add("fuzzy")
    assert catalogue_faults(catalogue, SAID, "zh_CN") == ["'bandwidth': fuzzy"]


def test_plural_forms_are_counted_and_checked():
    catalogue = fresh("zh_CN", {}, {})
    catalogue.add(("{n} GPU", "{n} GPUs"), ("{n} 个 GPU",))
    assert catalogue_faults(catalogue, {"{n} GPU": []}, "zh_CN") == []
    catalogue["{n} GPU"].string = ("{n} 个 GPU", "GPU")
    assert catalogue_faults(catalogue, {"{n} GPU": []}, "zh_CN") == [
        "'{n} GPU': 2 plural forms; zh_CN has 1",
        "'{n} GPU': lost {n}",
    ]


def test_taiwan_has_its_own_words():
    assert message_faults("memory", "記憶體", "zh_TW") == []
    assert message_faults("memory", "內存", "zh_TW") == ["內存 does not belong to zh_TW"]
    assert message_faults("memory", "内存", "zh_TW") != []


def test_an_update_keeps_translations_drops_fuzzy_and_stale_ones_and_then_rests(tmp_path):
    update("zh_CN", SAID, DONE, tmp_path)
    path = po_file("zh_CN", tmp_path)
    first = path.read_bytes(), path.with_suffix(".mo").read_bytes()
    update("zh_CN", SAID, None, tmp_path)
    assert (path.read_bytes(), path.with_suffix(".mo").read_bytes()) == first
    path.write_bytes(first[0].replace(b'\nmsgid "bandwidth"', b'\n#, fuzzy\nmsgid "bandwidth"'))
    del (fewer := dict(SAID))["{n} GPUs wait"]
    assert update("zh_CN", fewer, None, tmp_path) == 1
    assert known_in(read("zh_CN", tmp_path)) == {"Press <b>{key}</b>": "请按 <b>{key}</b>"}


# The language switches.


@pytest.fixture
def spoken_here(tmp_path, monkeypatch):
    update("zh_CN", SAID, DONE, tmp_path)
    update("zh_TW", SAID, {"bandwidth": "頻寬"}, tmp_path)
    monkeypatch.setattr(language, "LOCALES", tmp_path)
    for name in ("INTERCONNECT_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    language._catalogue.cache_clear()
    yield monkeypatch
    language._catalogue.cache_clear()


def test_the_variable_chooses_before_the_system(spoken_here):
    spoken_here.setenv("LANG", "zh_CN.UTF-8")
    assert language._("{n} GPUs wait").format(n=3) == "3 个 GPU 在等待"
    for name in ("zh_TW", "zh-TW", "zh_HK.UTF-8", "zh-Hant"):
        spoken_here.setenv("INTERCONNECT_LANG", name)
        assert language._("bandwidth") == "頻寬"
    spoken_here.setenv("INTERCONNECT_LANG", "en")
    assert language._("bandwidth") == "bandwidth"


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ({"LANG": "zh_TW.UTF-8"}, "頻寬"),
        ({"LANG": "zh_CN.GB18030"}, "带宽"),
        ({"LC_MESSAGES": "zh_SG.utf8", "LANG": "en_US.UTF-8"}, "带宽"),
        ({"LC_ALL": "zh_HK.UTF-8", "LANG": "zh_CN.UTF-8"}, "頻寬"),
        ({"LANG": "de_DE.UTF-8", "LANGUAGE": "fr:zh_TW:en"}, "頻寬"),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "en:zh_CN"}, "bandwidth"),
        ({"LANG": "C.UTF-8", "LANGUAGE": "zh_CN"}, "bandwidth"),
        ({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "bandwidth"),
        ({"LANG": "xx_YY"}, "bandwidth"),
        ({"INTERCONNECT_LANG": "zh-Hans-CN", "LANG": "zh_TW.UTF-8", "LANGUAGE": "zh_TW"}, "带宽"),
    ],
)
def test_the_system_chooses_as_gettext_does(spoken_here, system, said):
    for name, value in system.items():
        spoken_here.setenv(name, value)
    assert language._("bandwidth") == said


def test_what_is_not_translated_stays_english(spoken_here):
    spoken_here.setenv("INTERCONNECT_LANG", "zh_TW")
    assert language._("{n} GPUs wait") == "{n} GPUs wait"
    spoken_here.setenv("INTERCONNECT_LANG", "fr_FR")
    assert language._("bandwidth") == "bandwidth"


# The command.


def test_the_command_begins_takes_and_checks(tmp_path, capsys):
    here = ["--folder", str(tmp_path)]
    assert main([*here, "--begin", "zh_CN"]) == 0
    assert main([*here, "--check"]) == 1
    capsys.readouterr()
    main([*here, "--missing", "zh_CN"])
    missing = json.loads(capsys.readouterr().out)
    assert list(missing) == list(messages())
    work = tmp_path / "x.json"
    work.write_text(json.dumps({"The bill is empty.": "账单是空的。", "nobody says this": "x"}), encoding="utf-8")
    assert main([*here, "--take", "zh_CN", str(work)]) == 0
    said = capsys.readouterr()
    assert f"1 of {len(missing)} messages" in said.out
    assert "nobody says this" in said.err
    assert known_in(read("zh_CN", tmp_path)) == {"The bill is empty.": "账单是空的。"}
