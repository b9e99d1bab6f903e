"""`interconnect predict` from outside: keys, spellings, sentences and exit statuses."""

import json

import pytest

from course_lib.cli.main import main
from course_lib.timing.system import names

KEYS = {"time_s", "algbw_Bps", "busbw_Bps", "algorithm", "protocol", "bottleneck", "terms", "valid"}
ASK = ["predict", "all_reduce", "--system", "dgx-h100", "--ranks", "8", "--size", "1GiB"]


def answer(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_json_has_exactly_the_promised_keys(capsys):
    found = answer(capsys, *ASK)
    assert set(found) == KEYS
    assert set(found["valid"]) == {"inside", "message_B", "n_ranks", "reason"}
    assert sum(found["terms"].values()) == pytest.approx(found["time_s"], rel=1e-9, abs=0)


@pytest.mark.parametrize("op", ["alltoall", "sendrecv", "all-reduce", "AllGather", "broadcast"])
@pytest.mark.parametrize("extra", [[], ["--ideal"], ["--hosts", "2"]])
def test_other_spellings_and_modes_answer(capsys, op, extra):
    assert answer(capsys, "predict", op, *ASK[2:], *extra)["time_s"] > 0


def test_nothing_has_no_bandwidth(capsys):
    assert answer(capsys, *ASK[:-1], "0")["algbw_Bps"] is None
    assert main([*ASK[:-1], "0"]) == 0
    assert "–" in capsys.readouterr().out


def test_several_sizes_give_a_list(capsys):
    found = answer(capsys, *ASK[:-1], "8", "1MiB,1GiB")
    assert [set(one) == KEYS for one in found] == [True] * 3
    assert found[0]["time_s"] < found[1]["time_s"] < found[2]["time_s"]


def test_a_size_is_the_same_however_it_is_written(capsys):
    times = {answer(capsys, *ASK[:-1], size)["time_s"] for size in ("1GiB", "1073741824", "1073741824.0", "1024 MiB")}
    assert len(times) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ranks", "0"], "at least 1"),
        (["--ranks", "2.5"], "whole number"),
        (["--ranks", "eight"], "whole number"),
        (["--size", "nan"], "finite"),
        (["--size", "-5"], "0 or more"),
        (["--size", "1G"], "1 GiB"),
        (["--system", "dgx-h10"], "dgx-h100"),
        (["--algorithm", "rign"], "ring"),
        (["--hosts", "0"], "at least 1"),
        (["--ranks", "64", "--hosts", "2"], "8 hosts"),
        (["--ideal", "--protocol", "LL"], "protocol"),
    ],
)
def test_what_it_cannot_use_gives_a_sentence_and_status_2(capsys, words, said):
    assert main([*ASK, *words]) == 2
    caught = capsys.readouterr()
    assert said in caught.err
    assert caught.out == ""
    assert "Traceback" not in caught.err


def test_missing_arguments_are_named(capsys):
    assert main(["predict", "all_reduce", "--ranks", "8"]) == 2
    assert "--system, --size" in capsys.readouterr().err


def test_the_list_holds_every_system(capsys):
    assert main(["predict", "--list-systems"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == names()


def test_the_table_for_people_says_what_the_time_is_made_of(capsys):
    assert main(ASK) == 0
    out = capsys.readouterr().out
    assert "in-network, Simple" in out
    assert "scale-up transfer" in out
