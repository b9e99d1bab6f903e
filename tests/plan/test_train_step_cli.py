import json

import pytest

from course_lib.cli.main import main

ISSUE = [
    "train-step",
    "--model",
    "gpt3-175b",
    "--system",
    "dgx-a100",
    "--gpus",
    "1024",
    "--tp",
    "8",
    "--pp",
    "8",
    "--microbatch",
    "1",
    "--global-batch",
    "1536",
]


def test_a_step_as_json_has_exactly_the_promised_keys(capsys):
    assert main([*ISSUE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["step_s", "tokens_per_s", "tflops_per_gpu", "mfu", "memory_B", "terms"]
    assert sum(found["terms"].values()) == pytest.approx(found["step_s"])


def test_a_step_in_words_names_terms_memory_and_wires(capsys):
    assert main(ISSUE) == 0
    text = capsys.readouterr().out
    for word in (
        "matrix products",
        "pipeline bubble",
        "tensor-parallel communication",
        "activations",
        "switch inside a host",
    ):
        assert word in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (["--model", "gpt3-176b"], "nearest: gpt3-175b"),
        (["--system", "dgx-a101"], "nearest: dgx-a100"),
        (["--gpus", "1000"], "960 or 1024"),
        (["--gpus", "many"], "whole number"),
        (["--tp", "2.5"], "whole number"),
        (["--pp", "-8"], "whole number"),
        (["--order", "tp-xp"], "no axis"),
        (["--precision", "fp9"], "no precision"),
        (["--hidden", "1024"], "not both"),
    ],
)
def test_bad_input_is_a_sentence(capsys, change, says):
    assert main([*ISSUE, *change]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert "Traceback" not in said


def test_missing_flags_are_named(capsys):
    assert main(["train-step", "--model", "gpt3"]) == 2
    assert "--system, --global-batch, --gpus" in capsys.readouterr().err


def test_models_of_ones_own(capsys, tmp_path):
    own = tmp_path / "small.toml"
    own.write_text("n_layers = 16\nhidden = 2048\nn_heads = 16\nvocab = 32000\nseq = 2048\n", encoding="utf-8")
    rest = ["--system", "dgx-h100", "--gpus", "8", "--global-batch", "64", "--json"]
    assert main(["train-step", "--model", str(own), *rest]) == 0
    one = json.loads(capsys.readouterr().out)
    sizes = ["--layers", "16", "--hidden", "2048", "--heads", "16", "--vocab", "32000", "--sequence-length", "2048"]
    assert main(["train-step", *sizes, *rest]) == 0
    assert json.loads(capsys.readouterr().out) == one
    own.write_text("n_layers = 16\nhiden = 2048\n", encoding="utf-8")
    assert main(["train-step", "--model", str(own), *rest]) == 2
    assert "line 2" in (said := capsys.readouterr().err)
    assert "hidden" in said


def test_systems_of_ones_own(capsys, tmp_path):
    own = tmp_path / "box.toml"
    own.write_text(
        'gpus_per_host = 4\n[scale_up]\nkind = "mesh"\nbandwidth_GBps = 300\nlatency_us = 1\n', encoding="utf-8"
    )
    ask = ["train-step", "--model", "llama3-8b", "--system", str(own), "--global-batch", "64", "--gpu", "a100"]
    assert main([*ask, "--gpus", "4", "--tp", "4"]) == 0
    assert "mesh inside a host" in capsys.readouterr().out
    assert main([*ask, "--gpus", "8"]) == 2
    assert "at most 4" in capsys.readouterr().err.replace("Use at most", "at most")
    assert main([w for w in ask if w not in ("--gpu", "a100")] + ["--gpus", "4", "--tp", "4"]) == 2
    assert "what GPU" in capsys.readouterr().err


def test_a_search_prints_the_best_and_the_frontier(capsys):
    ask = ["plan", "--model", "llama3-8b", "--system", "dgx-h100", "--gpus", "8", "--global-batch", "64"]
    assert main(ask) == 0
    assert "The frontier" in capsys.readouterr().out
    assert main([*ask, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["best"]["step_s"] == min(row["step_s"] for row in found["frontier"])
    assert main(["plan", "--model", "llama3-70b", "--system", "dgx-h100", "--gpus", "8", "--global-batch", "8"]) == 1
    assert "fits: the leanest" in capsys.readouterr().out


def test_the_bar_shows_only_after_a_second():
    import io

    from course_lib.plan.progressbar import Bar

    bar = Bar(io.StringIO())
    bar(1, 2)
    assert bar.stream.getvalue() == ""
    bar.start -= 2
    bar(1, 2)
    bar.close()
    assert "1 of 2" in bar.stream.getvalue()
