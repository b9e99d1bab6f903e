"""Question 12.q4: a plan that is near the best."""

import functools
from collections.abc import Mapping

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.grading.answers import Plain
from course_lib.grading.question import Case, Misconception, Question

KEYS = ("tensor", "pipeline", "expert", "micro_batch", "interleave", "recompute", "zero")
PARS = (1.6, 1.25, 1.08)

CLUSTERS = (
    ("llama3-70b", "dgx-h100", 256, 512),
    ("gpt3-175b", "dgx-a100", 512, 512),
    ("mixtral-8x22b", "dgx-h100", 256, 512),
    ("llama2-70b", "dgx-a100", 128, 512),
    ("llama3-70b", "dgx-a100", 512, 1024),
    ("gpt3-175b", "dgx-h100", 256, 1024),
    ("bloom-176b", "dgx-a100", 256, 512),
)


@functools.lru_cache(maxsize=32)
def _best(model: str, system: str, gpus: int, global_batch: int) -> tuple[float, str]:
    """Return the seconds of the search's best plan, and the plan as text."""
    from course_lib.plan.search import search

    row = search(model, system, gpus, global_batch=global_batch, zeros=(0, 1, 2)).best
    return row["step_s"], repr({key: row[key] for key in KEYS})


def best_plan(model: str, system: str, gpus: int, global_batch: int, par: float) -> dict:
    """Return the search's best plan.

    >>> best_plan("llama3-70b", "dgx-h100", 256, 512, 1.6)["tensor"] in (1, 2, 4, 8)
    True
    """
    import ast

    return ast.literal_eval(_best(model, system, gpus, global_batch)[1])


def _priced(answer: Mapping, model: str, system: str, gpus: int, global_batch: int, **more) -> object:
    from course_lib.plan.steptime import step

    return step(model, system, gpus=gpus, global_batch=global_batch, software="megatron", **answer, **more)


def _judge_plan(answer: dict, model: str, system: str, gpus: int, global_batch: int, par: float) -> str:
    for key in answer:
        if key not in KEYS:
            return _("there is no setting {key!r} here; there are: {keys}.").format(key=key, keys=", ".join(KEYS))
    for key, value in answer.items():
        if key != "recompute" and type(value) is not int:
            return _("{key} is {value!r}; a whole number is expected.").format(key=key, value=value)
    if answer.get("zero", 1) not in (0, 1, 2):
        return _("zero is {value}; 0, 1 or 2 is asked for here.").format(value=answer["zero"])
    mine = _priced(answer, model, system, gpus, global_batch).step_s
    best = _best(model, system, gpus, global_batch)[0]
    if mine > par * best:
        return _(
            "your plan takes {mine} s a step, and the search's best {best} s: {times} times, and par is {par}."
        ).format(mine=say_number(mine, 3), best=say_number(best, 3), times=f"{mine / best:.2f}", par=par)
    return ""


def _plan_cases(rng: np.random.Generator) -> list[Case]:
    names = ("model", "system", "gpus", "global_batch", "par")
    chosen = [CLUSTERS[0], CLUSTERS[1], CLUSTERS[int(rng.integers(2, len(CLUSTERS)))]]
    return [
        Case(dict(zip(names, (*cluster, par), strict=True)), _("within {par} of the best").format(par=par))
        for par in PARS
        for cluster in chosen
    ]


def _replicas_only(model, system, gpus, global_batch, par):
    return {"tensor": 1, "pipeline": 1, "zero": 0}


def _most_tensor(model, system, gpus, global_batch, par):
    from course_lib.plan.transformer import model as shape_of

    shape = shape_of(model)
    kv = shape.n_kv_heads
    fits = [t for t in (64, 32, 16) if shape.n_heads % t == 0 and (kv % t == 0 or t % kv == 0) and shape.ffn % t == 0]
    return {"tensor": fits[0], "pipeline": 1, "recompute": "full", "zero": 1}


def _deepest(model, system, gpus, global_batch, par):
    from course_lib.plan.transformer import model as shape_of

    layers = shape_of(model).n_layers
    deep = max(p for p in range(1, min(layers, gpus) + 1) if layers % p == 0 and gpus % p == 0)
    rest = gpus // deep
    return {"tensor": 1, "pipeline": deep, "recompute": "full", "micro_batch": max(1, global_batch // rest // 2)}


def _mostly_bubble(answer: dict, model: str, system: str, gpus: int, global_batch: int, par: float) -> bool:
    found = _priced(answer, model, system, gpus, global_batch, check_memory=False)
    return found.terms["pipeline bubble"] + found.terms["uneven stages"] > 0.25 * found.step_s


q4 = Question(
    id="12.q4",
    title=_("The best plan, against the search's par"),
    points=3,
    answer="best_plan",
    kind="function",
    expects=Plain(
        _("a dict of settings, such as {'tensor': 8, 'pipeline': 4}"), fits=lambda given: type(given) is dict
    ),
    inputs=_plan_cases,
    reference=best_plan,
    accept=_judge_plan,
    seconds=120.0,
    withholds=(
        "course_lib.plan.search",
        "course_lib.plan.picked",
        "course_lib.explorers.lesson12",
    ),
    misconceptions=(
        Misconception(
            "replicas only",
            _replicas_only,
            _(
                "You use data parallelism alone. Every GPU would have to hold the whole model: weights, "
                "gradients and optimizer."
            ),
            recognise=lambda answer, **inputs: (
                set(answer) <= set(KEYS) and answer.get("tensor", 1) * answer.get("pipeline", 1) == 1
            ),
        ),
        Misconception(
            "tensor ranks over several boxes",
            _most_tensor,
            _("You slice layers over more GPUs than a box has. Their all-reduces cross network cards in every layer."),
            recognise=lambda answer, **inputs: answer.get("tensor", 1) > 8,
        ),
        Misconception(
            "a pipeline of bubbles",
            _deepest,
            _(
                "You cut the model into so many stages, with so few micro-batches, that they mostly wait: a "
                "quarter of the step or more is bubble."
            ),
            recognise=_mostly_bubble,
        ),
    ),
)
