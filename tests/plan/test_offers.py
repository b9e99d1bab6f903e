"""What a refused plan is offered works: every offer is run, and the sentence names the term that fails."""

import re

import pytest

from course_lib.base.errors import CourseError
from course_lib.cli.main import main
from course_lib.plan.candidates import layouts, nearest_gpus
from course_lib.plan.efficiency import chips
from course_lib.plan.modelfile import described
from course_lib.plan.search import search
from course_lib.plan.steptime import gpu_of, step
from course_lib.plan.transformer import model
from course_lib.timing.system import load, names

FLAGS = {
    "tp": "tensor",
    "pp": "pipeline",
    "cp": "context",
    "ep": "expert",
    "etp": "expert_tensor",
    "microbatch": "micro_batch",
    "interleave": "interleave",
    "zero": "zero",
    "recompute": "recompute",
}


def settings(words: str) -> dict:
    return {FLAGS[f]: v if f == "recompute" else int(v) for f, v in re.findall(r"--(\w+) (\w+)", words)}


@pytest.mark.parametrize(
    ("name", "system", "plan"),
    [
        ("gpt3-175b", "dgx-h100", {"gpus": 8, "tensor": 8, "global_batch": 8}),
        ("gpt3-175b", "dgx-a100", {"gpus": 64, "tensor": 8, "global_batch": 1024}),
        ("megatron-1t", "dgx-a100", {"gpus": 64, "tensor": 8, "global_batch": 64}),
        ("deepseek-v3", "gb200-nvl72", {"gpus": 64, "expert": 8, "global_batch": 512}),
        ("kimi-k2", "dgx-h100", {"gpus": 8, "tensor": 8, "global_batch": 64}),
        (
            "llama3-70b",
            "dgx-h100",
            {"gpus": 64, "tensor": 8, "micro_batch": 8, "recompute": "none", "global_batch": 512},
        ),
        ("llama3-8b", "dgx-h100", {"gpus": 64, "tensor": 2, "seq": 131072, "global_batch": 64, "recompute": "none"}),
    ],
)
def test_every_offered_plan_is_legal_and_fits(name, system, plan):
    with pytest.raises(CourseError, match="The largest part: ") as caught:
        step(name, system, **plan)
    sentence = str(caught.value)
    if "The quickest on" in sentence:
        gpus = int(re.search(r"on (\d+) GPUs: ", sentence)[1])
        offers = [({"gpus": gpus}, sentence.split("GPUs: ")[-1])]
    else:
        offers = [(plan, words) for words in sentence.split("plans that fit: ")[1].rstrip(".").split(";")]
    for base, words in offers:
        kept = {key: plan[key] for key in ("global_batch", "seq") if key in plan}
        found = step(name, system, **kept | base | settings(words))
        assert found.memory_B <= found.capacity_B, words


def test_nothing_is_offered_where_nothing_fits():
    with pytest.raises(CourseError, match="No plan fits on as many GPUs"):
        step("llama3-8b", "dgx-h100", gpus=8, global_batch=8, seq=10**9)


@pytest.mark.parametrize("expert", [3, 5, 16, 48, 100])
@pytest.mark.parametrize("ranks", [4, 12, 20, 64])
def test_offered_numbers_of_expert_ranks_divide_experts_and_ranks(expert, ranks):
    try:
        step("qwen3-235b", "dgx-h100", data=ranks, expert=expert, global_batch=ranks, check_memory=False)
    except CourseError as error:
        offers = [int(n) for n in re.findall(r"\d+", str(error).split("do: ")[1])]
        assert offers
        for n in offers:
            step("qwen3-235b", "dgx-h100", data=ranks, expert=n, global_batch=ranks, check_memory=False)
    else:
        assert (128 % expert, ranks % expert) == (0, 0)


@pytest.mark.parametrize("gpus", [7, 11, 13, 37, 1000, 4099])
def test_offered_numbers_of_gpus_have_plans(gpus):
    shape = model("llama3-70b")
    options = {"global_batch": 512, "seq": 8192}
    assert next(layouts(shape, gpus, **options), None) is None
    with pytest.raises(CourseError, match="The nearest numbers of GPUs with plans: "):
        search(shape, "dgx-h100", gpus, global_batch=512)
    for n in nearest_gpus(shape, gpus, **options):
        assert search(shape, "dgx-h100", n, global_batch=512, recomputes=("full",)).n_plans


def test_numbers_of_gpus_without_a_plan_are_named(capsys):
    found = search("llama3-8b", "dgx-h100", [16, 7], global_batch=8)
    assert found.skipped == (7,)
    assert set(found.table["gpus"].tolist()) == {16}
    assert main(["plan", "--model", "llama3-8b", "--system", "dgx-h100", "--gpus", "16,7", "--global-batch", "8"]) == 0
    assert "No plan divides 7 GPUs." in capsys.readouterr().out


@pytest.mark.parametrize("value", [10**10, 10**18, 10**30])
@pytest.mark.parametrize("which", ["global_batch", "seq"])
def test_slips_of_the_pen_are_refused_at_once(which, value):
    asked = {"global_batch": 8, which: value}
    with pytest.raises(CourseError, match="at most"):
        step("llama3-8b", "dgx-h100", gpus=8, **asked)
    with pytest.raises(CourseError, match="at most"):
        search("llama3-8b", "dgx-h100", 8, **asked)
    with pytest.raises(CourseError, match="at most"):
        described(n_layers=value, hidden=64, n_heads=2, vocab=100, seq=128)


@pytest.mark.parametrize("name", names())
def test_every_system_prices_a_step_or_says_to_name_a_gpu(name):
    if load(name).gpu.split()[0].lower() not in chips():
        with pytest.raises(CourseError, match=rf"{load(name).gpu}.*--gpu"):
            gpu_of(load(name), None)
    assert step("gpt2-1.5b", name, gpus=1, global_batch=8, gpu="h100").step_s > 0


def test_gpus_and_replicas_that_disagree_are_told_how_many_there_are():
    with pytest.raises(CourseError, match="16 replicas"):
        step("gpt3-175b", "dgx-a100", gpus=1024, tensor=8, pipeline=8, data=8, global_batch=1536)


@pytest.mark.parametrize(("context", "seq"), [(6, 32768), (5, 8192), (7, 6000), (3, 8191)])
def test_offered_numbers_of_context_ranks_divide(context, seq):
    with pytest.raises(CourseError, match="context-parallel rank") as caught:
        step("llama3-8b", "dgx-h100", data=1, context=context, seq=seq, global_batch=1, check_memory=False)
    for n in re.findall(r"\d+", str(caught.value).split("do: ")[1]):
        step("llama3-8b", "dgx-h100", data=1, context=int(n), seq=seq, global_batch=1, check_memory=False)


def test_dense_models_have_no_experts_to_cut():
    for asked in ({"expert": 7}, {"expert_tensor": 7}):
        with pytest.raises(CourseError, match="has no experts"):
            step("gpt3-175b", "dgx-a100", gpus=64, global_batch=64, **asked)


@pytest.mark.parametrize(("name", "system", "gpus"), [("llama3-70b", "dgx-h100", 8), ("kimi-k2", "gb200-nvl72", 64)])
def test_a_search_in_which_nothing_fits_says_how_many_gpus_do(name, system, gpus, capsys):
    found = search(name, system, gpus, global_batch=64)
    assert found.n_fit == 0
    many, words = found.enough
    assert many > gpus
    kept = step(name, system, gpus=many, global_batch=64, **settings(words))
    assert kept.memory_B <= kept.capacity_B
    command = ["plan", "--model", name, "--system", system, "--gpus", str(gpus), "--global-batch", "64"]
    assert main(command) == 1
    assert f"On {many} GPUs one fits: {words}" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["train-step", "plan"])
def test_everything_that_is_missing_is_named_at_once(command, capsys):
    assert main([command]) == 2
    told = capsys.readouterr().err
    assert all(flag in told for flag in ("--model", "--system", "--gpus", "--global-batch"))
