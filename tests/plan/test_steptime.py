import dataclasses

import numpy as np
import pytest

from course_lib.base import hardware
from course_lib.base.errors import CourseError
from course_lib.plan import stepcost, steptime
from course_lib.plan.efficiency import chip, chips, constants, families, product_s
from course_lib.plan.footprint import Plan, footprint
from course_lib.plan.grid import Layout
from course_lib.plan.pipeline import bubble_formula
from course_lib.plan.plans import check, gap_of, legal, one
from course_lib.plan.price import pricer
from course_lib.plan.stepmemory import held
from course_lib.plan.steptime import step
from course_lib.plan.transformer import flops, model
from course_lib.timing.system import load

GPT = {"tensor": 8, "pipeline": 8, "micro_batch": 1, "global_batch": 1536, "gpus": 1024}


def plan(**changes):
    base = {
        "tensor": 8,
        "pipeline": 8,
        "data": 1,
        "context": 1,
        "expert": 1,
        "expert_tensor": 1,
        "micro_batch": 1,
        "n_micro": 64,
        "interleave": 1,
        "recompute": "selective",
        "zero": 1,
        "sequence": True,
    }
    return one(**(base | changes))


def test_terms_add_up_and_have_names():
    s = step("gpt3-175b", "dgx-a100", **GPT)
    assert sum(s.terms.values()) == pytest.approx(s.step_s)
    assert sum(s.memory.values()) == pytest.approx(s.memory_B)
    assert set(s.terms) == set(stepcost.TERMS)
    assert all(value >= 0 for value in s.terms.values())
    assert s.tokens_per_s == pytest.approx(1536 * 2048 / s.step_s)
    work = flops(model("gpt3-175b"), 1536).model
    assert s.tflops_per_gpu == pytest.approx(work / 1024 / s.step_s / 1e12)
    assert s.mfu == pytest.approx(s.tflops_per_gpu / 312)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("gpt3-175b", {}),
        ("gpt3-175b", {"interleave": 3}),
        ("gpt3-175b", {"recompute": "full", "sequence": False, "zero": 0}),
        ("gpt3-175b", {"recompute": "none", "tensor": 4, "data": 4, "zero": 2}),
        ("llama3-70b", {"data": 8, "zero": 3, "pipeline": 1, "tensor": 1, "n_micro": 2, "sequence": False}),
        ("mixtral-8x7b", {"tensor": 2, "expert_tensor": 2, "expert": 4, "data": 8, "zero": 1, "pipeline": 4}),
        ("qwen3-235b", {"tensor": 1, "expert": 8, "data": 32, "pipeline": 2, "zero": 1}),
    ],
)
def test_memory_is_that_of_the_footprint(name, change):
    shape = model(name)
    seq = min(shape.seq, 4096)
    plans = plan(**change)
    row = plans.row()
    same = Plan(
        tensor=row["tensor"],
        pipeline=row["pipeline"],
        data=row["data"] // row["expert"],
        expert=row["expert"],
        batch=row["micro_batch"],
        n_micro=row["n_micro"],
        schedule="interleaved" if row["interleave"] > 1 else "1f1b",
        chunks=row["interleave"],
        sequence=row["sequence"],
        recompute=row["recompute"],
        zero_stage=row["zero"],
        recipe="megatron-adam",
        seq=seq,
    )
    ours = held(shape, plans, seq=seq, fused=False).total_B[0]
    assert ours == pytest.approx(footprint(shape, same).total_B.max(), rel=1e-9)


def test_without_anything_else_the_bubble_is_the_textbooks():
    shape = dataclasses.replace(model("gpt3-175b"), vocab=1)  # no head: all stages alike
    k = constants()
    for v, m in ((1, 64), (3, 64), (1, 8)):
        found = stepcost.price(shape, load("dgx-a100"), chip("a100"), plan(interleave=v, n_micro=m), k, seq=2048)
        inside = ("pipeline bubble", "gradient synchronization", "weight gathering", "optimizer", "outside the layers")
        inside += ("slowest GPU", "pipeline hand-offs")
        work = sum(value[0] for name, value in found.terms.items() if name not in inside)
        ideal = bubble_formula("interleaved" if v > 1 else "1f1b", 8, m, v).of_ideal
        assert found.terms["pipeline bubble"][0] / work == pytest.approx(ideal, rel=0.01)


def test_communication_is_priced_by_predict():
    k = {**constants(), "tensor_shown": 1.0}
    shape, place = model("gpt3-175b"), load("dgx-a100")
    found = stepcost.price(shape, place, chip("a100"), plan(n_micro=64), k, seq=2048)
    message_B = 2048 * 12288 * 2
    pair_s = float(pricer("all_gather", place, 8)(message_B) + pricer("reduce_scatter", place, 8)(message_B))
    layers, m, p = 96, 64, 8
    assert found.terms["tensor-parallel communication"][0] == pytest.approx(4 * pair_s * layers * m / p)


def test_products_reach_less_when_small_and_never_beat_the_memory():
    a100 = chip("a100")
    large, thin = product_s(8192.0, 8192.0, 8192.0, a100), product_s(8192.0, 8192.0, 64.0, a100)
    rate = 2 * 8192**3 / large
    assert 0.5 * 312e12 < rate < 312e12
    assert 2 * 8192**2 * 64 / thin < 0.5 * rate
    vector = product_s(1.0, 12288.0, 12288.0, a100)
    assert vector >= 2 * 12288**2 / 2.0e12


def test_more_of_what_costs_costs_more():
    base = step("gpt3-175b", "dgx-a100", **GPT)
    assert step("gpt3-175b", "dgx-a100", **GPT, recompute="full").step_s > base.step_s
    assert step("gpt3-175b", "dgx-a100", **GPT, interleave=3).terms["pipeline bubble"] < base.terms["pipeline bubble"]
    assert step("gpt3-175b", "dgx-h100", **GPT).step_s < base.step_s
    spread = step("gpt3-175b", "dgx-a100", **GPT, order="dp-pp-tp")
    assert spread.terms["tensor-parallel communication"] > 5 * base.terms["tensor-parallel communication"]
    assert step("llama3-70b", "dgx-h100", gpus=64, tensor=4, pipeline=4, global_batch=64, precision="fp8").step_s < (
        step("llama3-70b", "dgx-h100", gpus=64, tensor=4, pipeline=4, global_batch=64).step_s
    )


def test_zero_trades_memory_for_time():
    plans = {"gpus": 64, "tensor": 8, "global_batch": 64, "check_memory": False, "software": "megatron"}
    found = [step("llama3-70b", "dgx-h100", zero=z, **plans) for z in range(4)]
    assert [f.memory_B for f in found] == sorted((f.memory_B for f in found), reverse=True)
    assert found[3].terms["weight gathering"] > found[1].terms["weight gathering"]


def test_memory_decides_how_many_layers_are_recomputed():
    asked = {"gpus": 256, "tensor": 4, "pipeline": 16, "global_batch": 1536, "interleave": 4}
    auto = step("llama3-405b", "gb200-nvl72", **asked)
    some, of = auto.recomputed
    assert 0 < some < of == 8
    assert auto.memory_B <= auto.capacity_B
    selective = step("llama3-405b", "gb200-nvl72", **asked, recompute="selective", check_memory=False)
    full = step("llama3-405b", "gb200-nvl72", **asked, recompute="full")
    assert selective.memory_B > auto.capacity_B
    assert selective.step_s < auto.step_s < full.step_s
    share = some / of
    assert auto.step_s == pytest.approx((1 - share) * selective.step_s + share * full.step_s)


def test_a_token_crosses_less_often_when_experts_share_a_rack():
    asked = {"gpus": 64, "expert": 64, "global_batch": 1280, "micro_batch": 4, "seq": 4096, "check_memory": False}
    rack, boxes = (step("gpt-oss-120b", name, **asked) for name in ("gb200-nvl72", "dgx-b200"))
    name = "expert-parallel communication"
    assert rack.terms[name] < 0.4 * boxes.terms[name]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tensor": 7, "gpus": 56}, "The nearest that do: 6 or 8"),
        ({"pipeline": 5, "gpus": 40}, "nearest numbers of stages: 4 or 6"),
        ({"gpus": 1000}, "960 or 1024 GPUs"),
        ({"global_batch": 1000}, "992 or 1008"),
        ({"interleave": 5}, "The nearest: 4 or 6"),
        ({"interleave": 3, "global_batch": 16 * 60}, "56 or 64"),
        ({"expert": 2}, "has no experts"),
        ({"precision": "fp8"}, "does not compute in fp8"),
        ({"zero": 4}, "at most 3"),
        ({"pipeline": 1, "gpus": 64}, "The nearest plans that fit"),
        ({"pipeline": 1, "gpus": 8, "global_batch": 8}, "The quickest on 64 GPUs"),
        ({"recompute": "some"}, "no kind of recomputing"),
        ({"gpus": None}, "Give gpus"),
        ({"gpus": 10**7, "tensor": 1, "pipeline": 1, "global_batch": 10**7}, "more than dgx-a100 has"),
        ({"seq": 0}, "at least 1"),
        ({"micro_batch": 0}, "at least 1"),
        ({"attention": "new"}, "no kind of attention"),
    ],
)
def test_plans_that_cannot_be_are_told_by_a_sentence(change, says):
    with pytest.raises(CourseError, match=says):
        step("gpt3-175b", "dgx-a100", **(GPT | change))


def test_what_a_sentence_offers_works():
    with pytest.raises(CourseError) as error:
        step("gpt3-175b", "dgx-a100", gpus=64, tensor=8, global_batch=1024)
    offers = str(error.value).split("plans that fit: ")[1].rstrip(".").split("; ")
    names = {"--pp": "pipeline", "--tp": "tensor", "--zero": "zero", "--cp": "context", "--microbatch": "micro_batch"}
    for offer in offers:
        words = offer.split()
        change = {
            names.get(flag, flag): value if flag == "--recompute" else int(value)
            for flag, value in zip(words[::2], words[1::2])
        }
        asked = {"gpus": 64, "tensor": 8, "global_batch": 1024} | change
        assert step("gpt3-175b", "dgx-a100", **asked).memory_B <= 80e9


def test_many_plans_are_judged_as_one_is():
    rng = np.random.default_rng(3)
    for name in ("gpt3-175b", "llama3-405b", "mixtral-8x7b", "deepseek-v3"):
        shape = model(name)
        seen = set()
        for _try in range(150):
            t, p, d, c, e, b, v = (
                int(rng.choice(x))
                for x in (
                    (1, 2, 4, 7, 8),
                    (1, 2, 4, 6, 8, 16),
                    (1, 2, 3, 8),
                    (1, 2),
                    (1, 2, 4, 8),
                    (1, 2, 3),
                    (1, 2, 3),
                )
            )
            m = int(rng.choice([4, 6, 16]))
            try:
                layout = Layout(t, p, d, e, c)
                n = check(shape, layout, micro_batch=b, global_batch=d * b * m, interleave=v, seq=4096, sequence=t > 1)
                fine = n == m
            except CourseError:
                fine = False
            row = plan(
                tensor=t,
                pipeline=p,
                data=d,
                context=c,
                expert=e,
                micro_batch=b,
                n_micro=m,
                interleave=v,
                sequence=t > 1,
            )
            assert legal(shape, row, global_batch=d * b * m, seq=4096)[0] == fine, (name, row.row())
            seen.add(fine)
        assert seen == {True, False}


def test_ends_take_the_place_of_layers_where_the_authors_did_that():
    assert gap_of(model("llama3-405b"), 16) == 2
    assert gap_of(model("bloom-176b"), 12) == 2
    assert gap_of(model("deepseek-v3"), 16) == 3
    assert gap_of(model("gpt3-175b"), 8) == 0
    assert gap_of(model("gpt3-175b"), 5) == -1
    assert gap_of(model("gpt3-175b"), 97) == -1


def test_the_optimizer_reads_and_writes_its_share_of_the_states():
    shape, k = model("llama3-8b"), constants()
    for zero, share in ((0, 1), (1, 8)):
        p = plan(tensor=1, pipeline=1, data=8, n_micro=1, zero=zero, sequence=False)
        found = stepcost.price(shape, load("dgx-h100"), chip("h100"), p, k, seq=8192)
        held_B = 8_030_261_248 / share * stepcost.OPTIMIZER_B
        assert found.terms["optimizer"][0] == pytest.approx(held_B / (3.35e12 * k["hbm"]), rel=1e-6)


def test_what_no_computing_hides_is_predicts_time():
    shape = model("llama3-8b")
    k = {**constants(), "hidden_by": 0.0, "disturbs": 0.0}
    size_B = 2.0 * 8_030_261_248
    gather, scatter, reduce = (
        float(pricer(op, "dgx-h100", 64)(size_B)) for op in ("all_gather", "reduce_scatter", "all_reduce")
    )
    for zero, m, weights_s, gradients_s in (
        (0, 4, 0, reduce),
        (1, 4, gather, scatter),
        (3, 4, 8 * gather, 4 * scatter),
    ):
        p = plan(tensor=1, pipeline=1, data=64, n_micro=m, zero=zero, sequence=False)
        found = stepcost.price(shape, load("dgx-h100"), chip("h100"), p, k, seq=8192).terms
        assert found["weight gathering"][0] == pytest.approx(weights_s, rel=1e-6)
        assert found["gradient synchronization"][0] == pytest.approx(gradients_s, rel=1e-6)


def test_experts_exchange_twice_each_way_by_predicts_time():
    shape, k = model("mixtral-8x7b"), {**constants(), "expert_shown": 1.0, "sent_once": 0.0}
    p = plan(tensor=1, pipeline=1, data=16, expert=8, n_micro=2, sequence=False)
    found = stepcost.price(shape, load("dgx-h100"), chip("h100"), p, k, seq=4096).terms
    one_s = float(pricer("all_to_all", "dgx-h100", 8)(4096 * 2 * 4096 * 2.0))
    assert found["expert-parallel communication"][0] == pytest.approx(4 * one_s * 32 * 2)


@pytest.mark.parametrize("family", ["b300x", "nothing"])
def test_a_family_without_constants_is_refused_by_name(family, monkeypatch):
    """A line of items.csv may say anything; where a step is asked for, the sentence names it, the GPU and the choices."""
    real = hardware.gpu
    monkeypatch.setattr(hardware, "gpu", lambda name: dataclasses.replace(real(name), family=family))
    with pytest.raises(CourseError, match=rf"items.csv, a100\) '{family}'\. (The nearest|Valid): .*b200"):
        chip.__wrapped__("a100")
    monkeypatch.setattr(steptime, "chip", chip.__wrapped__)  # nothing kept from before
    for asked in (None, "a100"):
        with pytest.raises(CourseError, match=f"'{family}'"):
            step("llama3-8b", "dgx-a100", gpu=asked, gpus=8, global_batch=64)


def test_a_gpu_of_no_family_asks_for_another():
    for name in set(hardware.items("gpu")) - set(chips()):
        with pytest.raises(CourseError, match=f"{name} is of no family.*a100, h100"):
            chip(name)


def test_every_family_has_its_constants():
    for name in families():
        assert {f"best_{name}_bf16", f"attention_{name}"} <= set(constants())
