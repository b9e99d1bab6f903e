"""Exercise 12, scaling: where efficiency bends, what crosses a card, a token's collectives, a plan, an article."""

import functools
from collections.abc import Callable, Mapping

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.scale import say_number
from course_lib.grading.answers import Choice, Entries, Number, Plain
from course_lib.grading.question import Case, Misconception, Question

# q1: where efficiency bends ------------------------------------------------------------------------------------------

ONE, ALL = _("one GPU does not talk"), _("many GPUs")


def scaled(
    work_s: float,
    message_GB: float,
    latency_us: float,
    rate_GBps: float,
    hidden: float,
    n_gpus: list[int],
    least: float,
) -> dict[str, object]:
    """Return efficiency at each number of GPUs, the largest that keeps `least`, and the quickest.

    >>> scaled(64.0, 14.0, 10.0, 25.0, 0.5, [1, 64, 4096], 0.5)["largest"]
    64
    """
    return _scaled(work_s, message_GB, latency_us, rate_GBps, hidden, n_gpus, least)


def _scaled(
    work_s,
    message_GB,
    latency_us,
    rate_GBps,
    hidden,
    n_gpus,
    least,
    *,
    steps: Callable[[float], float] = lambda n: 2 * (n - 1),
    share: Callable[[float], float] = lambda n: 2 * (n - 1) / n,
    hides: Callable[[float, float], float] = lambda computing_s, work_s: computing_s,
    efficiency: Callable[[float, float, float], float] = lambda work_s, step_s, n: work_s / (n * step_s),
    always_faster: bool = False,
) -> dict[str, object]:
    """The same, with what a learner may put in place of a part."""
    share_of, step = [], []
    for n in n_gpus:
        computing_s = work_s / n
        talk_s = steps(n) * latency_us * 1e-6 + share(n) * message_GB / rate_GBps
        step.append(computing_s + max(0.0, talk_s - hidden * hides(computing_s, work_s)))
        share_of.append(efficiency(work_s, step[-1], n))
    kept = [n for n, e in zip(n_gpus, share_of, strict=True) if e >= least]
    quickest = n_gpus[-1] if always_faster else n_gpus[int(np.argmin(step))]
    return {"efficiency": share_of, "largest": max(kept, default=0), "quickest": quickest}


def _scaling_cases(rng: np.random.Generator) -> list[Case]:
    names = ("work_s", "message_GB", "latency_us", "rate_GBps", "hidden", "n_gpus", "least")
    cases = [Case(dict(zip(names, (8.0, 1.0, 10.0, 25.0, 0.5, [1], 0.8), strict=True)), ONE)]
    counts = [1, 8, 64, 512, 4096, 16384]
    cases += [
        Case(dict(zip(names, row, strict=True)), ALL)
        for row in (
            (64.0, 14.0, 10.0, 25.0, 0.0, counts, 0.8),
            (64.0, 14.0, 10.0, 25.0, 0.5, counts, 0.8),
            (512.0, 2.0, 20.0, 50.0, 0.3, counts, 0.9),
        )
    ]
    while len(cases) < 9:
        row = (
            float(rng.integers(20, 600)),
            float(rng.integers(1, 30)),
            float(rng.integers(5, 40)),
            float(rng.choice([12.5, 25.0, 50.0, 100.0])),
            round(float(rng.uniform(0.1, 0.9)), 2),
            [1, *sorted(int(2**k) for k in rng.choice(np.arange(2, 17), 6, replace=False))],
            round(float(rng.uniform(0.5, 0.95)), 2),
        )
        right = scaled(*row)
        clear = all(abs(e - row[-1]) > 0.02 for e in right["efficiency"])
        if clear and right["quickest"] != row[-2][-1]:
            cases.append(Case(dict(zip(names, row, strict=True)), ALL))
    return cases


def _wrong_scaling(**change: object) -> Callable[..., dict]:
    return lambda **given: _scaled(**given, **change)


q1 = Question(
    id="12.q1",
    title=_("Efficiency, and where it bends"),
    points=2,
    answer="scaled",
    kind="function",
    expects=Entries(
        {"efficiency": Number(tolerance=0.005), "largest": Number(whole=True), "quickest": Number(whole=True)},
        each=False,
    ),
    inputs=_scaling_cases,
    reference=scaled,
    withholds=("course_lib.cluster.scaling", "course_lib.explorers.lesson12"),
    misconceptions=(
        Misconception(
            "more GPUs are always faster",
            _wrong_scaling(always_faster=True),
            _(
                "You take the most GPUs for the quickest. The ring gets longer with every GPU, and at some "
                "size that costs more than it saves."
            ),
        ),
        Misconception(
            "nothing hides",
            lambda **given: _scaled(**given | {"hidden": 0.0}),
            _("You let no communication hide. The share `hidden` of the computing has traffic beside it."),
        ),
        Misconception(
            "hides behind all of the work",
            _wrong_scaling(hides=lambda computing_s, work_s: work_s),
            _(
                "You hide communication behind the computing of one GPU's whole job. On n GPUs each computes "
                "only 1/n of it."
            ),
        ),
        Misconception(
            "latency forgotten",
            lambda **given: _scaled(**given | {"latency_us": 0.0}),
            _("You count bytes only. The ring has 2(n − 1) steps, and each has its latency."),
        ),
        Misconception(
            "bytes shrink with n",
            _wrong_scaling(share=lambda n: 2 * (n - 1) / n / n),
            _(
                "You send 2(n − 1)/n² of the message. Every rank sends 2(n − 1)/n of it: nearly twice, however "
                "many there are."
            ),
        ),
        Misconception(
            "half of a ring",
            _wrong_scaling(steps=lambda n: n - 1, share=lambda n: (n - 1) / n),
            _("You run round the ring once. An all-reduce is a reduce-scatter and an all-gather: twice n − 1 steps."),
        ),
        Misconception(
            "speed-up for efficiency",
            _wrong_scaling(efficiency=lambda work_s, step_s, n: work_s / step_s),
            _("You return the speed-up. Efficiency is the speed-up over the number of GPUs."),
        ),
    ),
)

# q2: rank order ------------------------------------------------------------------------------------------------------


def crossing(order: list[str], sizes: dict[str, int], per_host: int) -> dict[str, str]:
    """Return for every axis whether its groups stay in a host, cross the network, or have one rank.

    >>> crossing(["tensor", "data", "pipeline"], {"tensor": 8, "data": 4, "pipeline": 2}, 8)
    {'tensor': 'host', 'data': 'network', 'pipeline': 'network'}
    """
    found, stride = {}, {}
    total = 1
    for axis in order:
        stride[axis] = total
        total *= sizes[axis]
    ranks = np.arange(total)
    for axis in order:
        if sizes[axis] == 1:
            found[axis] = "alone"
            continue
        group = ranks - ranks // stride[axis] % sizes[axis] * stride[axis]
        host = ranks // per_host
        crosses = any(len(set(host[group == g].tolist())) > 1 for g in np.unique(group))
        found[axis] = "network" if crosses else "host"
    return found


def _crossing_cases(rng: np.random.Generator) -> list[Case]:
    axes = ("tensor", "data", "pipeline")
    rows = [
        (["tensor", "data", "pipeline"], (1, 1, 1), 8),
        (["tensor", "data", "pipeline"], (8, 1, 1), 8),
        (["tensor", "data", "pipeline"], (4, 2, 4), 8),
        (["data", "tensor", "pipeline"], (8, 4, 2), 8),
        (["pipeline", "tensor", "data"], (2, 4, 4), 8),
        (["tensor", "data", "pipeline"], (16, 2, 2), 8),
        (["tensor", "data", "pipeline"], (6, 4, 2), 8),
        (["tensor", "pipeline", "data"], (16, 4, 2), 72),
    ]
    for _unused in range(6):
        sizes = tuple(int(v) for v in 2 ** rng.integers(0, 5, 3))
        rows.append(([axes[i] for i in rng.permutation(3)], sizes, int(rng.choice([4, 8, 16]))))
    return [
        Case({"order": order, "sizes": dict(zip(axes, sizes, strict=True)), "per_host": host})
        for order, sizes, host in rows
    ]


def _by_size(order, sizes, per_host):
    """Looks at the size of a group only."""
    return {a: "alone" if sizes[a] == 1 else "host" if sizes[a] <= per_host else "network" for a in order}


def _tensor_inside(order, sizes, per_host):
    """Tensor ranks always sit together."""
    return crossing(["tensor", *[a for a in order if a != "tensor"]], sizes, per_host)


def _slowest_first(order, sizes, per_host):
    """Reads the order from the wrong end."""
    right = crossing(order[::-1], sizes, per_host)
    return {a: right[a] for a in order}


def _starts_inside(order, sizes, per_host):
    """Looks at the first group of each kind only."""
    found, stride = {}, 1
    for a in order:
        found[a] = "alone" if sizes[a] == 1 else "host" if (sizes[a] - 1) * stride < per_host else "network"
        stride *= sizes[a]
    return found


q2 = Question(
    id="12.q2",
    title=_("Rank order, and which group crosses the card"),
    points=2,
    answer="crossing",
    kind="function",
    expects=Entries(Choice(("host", "network", "alone")), each=False),
    inputs=_crossing_cases,
    reference=crossing,
    withholds=(
        "course_lib.plan.grid.spans",
        "course_lib.plan.reach.reach",
        "course_lib.plan.grid.Layout",
        "course_lib.plan.picked",
        "course_lib.explorers.lesson12",
    ),
    misconceptions=(
        Misconception(
            "by the size of the group",
            _by_size,
            _(
                "You compare the size of a group with a host. Its ranks are a stride apart: neighbours of a "
                "slow axis sit in different hosts."
            ),
        ),
        Misconception(
            "tensor ranks always sit together",
            _tensor_inside,
            _("You let tensor ranks be neighbours whatever the order says. They are only if their axis comes first."),
        ),
        Misconception(
            "order from the wrong end",
            _slowest_first,
            _("You read the order from its end. The first axis is the fastest: its ranks are neighbours."),
        ),
        Misconception(
            "the first group stands for all",
            _starts_inside,
            _("You look at the first group only. A later one may begin in one host and end in the next."),
        ),
    ),
)

# q3: the collectives of a token --------------------------------------------------------------------------------------


def token(
    layers: int,
    hidden: int,
    params_GB: float,
    readers: int,
    context: int,
    tensor: int,
    latency_us: float,
    rate_GBps: float,
    memory_GBps: float,
) -> dict[str, float]:
    """Return the all-reduces of a decoding step, the bytes of one, their µs in all, and their share of the step.

    >>> found = token(80, 8192, 70.0, 64, 4096, 8, 30.0, 400.0, 3350.0)
    >>> found["all-reduces"], round(found["bytes"] / 2**20), round(found["share"], 2)
    (160, 1, 0.68)
    """
    return _token(layers, hidden, params_GB, readers, context, tensor, latency_us, rate_GBps, memory_GBps)


def _token(
    layers,
    hidden,
    params_GB,
    readers,
    context,
    tensor,
    latency_us,
    rate_GBps,
    memory_GBps,
    *,
    per_layer: int = 2,
    element_B: float = 2.0,
    tokens: Callable[[int, int, int], float] = lambda readers, context, tensor: readers,
    read: Callable[[float, int], float] = lambda params_GB, tensor: params_GB / tensor,
    bus: Callable[[int], float] = lambda t: 2 * (t - 1) / t,
) -> dict[str, float]:
    count = per_layer * layers if tensor > 1 else 0
    size = tokens(readers, context, tensor) * hidden * element_B
    talk_us = count * (latency_us + bus(tensor) * size / rate_GBps / 1e3)
    read_us = read(params_GB, tensor) / memory_GBps * 1e6
    return {"all-reduces": count, "bytes": size, "communication": talk_us, "share": talk_us / (talk_us + read_us)}


def _token_cases(rng: np.random.Generator) -> list[Case]:
    names = ("layers", "hidden", "params_GB", "readers", "context", "tensor", "latency_us", "rate_GBps", "memory_GBps")
    rows = [
        (80, 8192, 70.0, 1, 1, 1, 30.0, 400.0, 3350.0),
        (80, 8192, 70.0, 1, 4096, 2, 30.0, 400.0, 3350.0),
        (80, 8192, 70.0, 64, 4096, 8, 30.0, 400.0, 3350.0),
        (126, 16384, 405.0, 256, 8192, 16, 60.0, 45.0, 3350.0),
    ]
    rows += [
        (
            int(rng.integers(24, 130)),
            int(128 * rng.integers(16, 140)),
            float(rng.integers(5, 400)),
            int(2 ** rng.integers(1, 10)),
            int(1024 * rng.integers(2, 32)),
            int(2 ** rng.integers(1, 6)),
            float(rng.integers(10, 80)),
            float(rng.choice([25.0, 45.0, 300.0, 400.0, 700.0])),
            float(rng.choice([2000.0, 3350.0, 4800.0, 8000.0])),
        )
        for _unused in range(6)
    ]
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _wrong_token(**change: object) -> Callable[..., dict]:
    return lambda **given: _token(**given, **change)


q3 = Question(
    id="12.q3",
    title=_("Communication of one decoding step"),
    points=3,
    answer="token",
    kind="function",
    expects=Entries(
        {
            "all-reduces": Number(whole=True),
            "bytes": Number("B"),
            "communication": Number("µs"),
            "share": Number(tolerance=0.005),
        },
        each=False,
    ),
    inputs=_token_cases,
    reference=token,
    withholds=("course_lib.plan.serving", "course_lib.plan.traffic", "course_lib.explorers.lesson12"),
    misconceptions=(
        Misconception(
            "bandwidth only",
            lambda **given: _token(**given | {"latency_us": 0.0}),
            _(
                "You count bytes only. In decoding the messages are small, and the latency of each all-reduce "
                "is most of the time."
            ),
        ),
        Misconception(
            "the count of training",
            _wrong_token(per_layer=4),
            _("You count four all-reduces a layer. That is training: decoding has no backward pass, so two."),
        ),
        Misconception(
            "one a layer",
            _wrong_token(per_layer=1),
            _("You count one all-reduce a layer. Attention ends in one and the MLP in another."),
        ),
        Misconception(
            "the context travels",
            _wrong_token(tokens=lambda readers, context, tensor: readers * context),
            _(
                "You send the activations of the whole context. Its keys and values are cached where they are; "
                "one token of each request travels."
            ),
        ),
        Misconception(
            "a message cut by the ranks",
            _wrong_token(tokens=lambda readers, context, tensor: readers / tensor),
            _("You divide the message by the ranks. Every rank has a partial sum of the full width."),
        ),
        Misconception(
            "four bytes a number",
            _wrong_token(element_B=4.0),
            _("You take four bytes a number. Activations travel in BF16, two bytes."),
        ),
        Misconception(
            "every rank reads the whole model",
            _wrong_token(read=lambda params_GB, tensor: params_GB),
            _("You let each GPU read all weights. Each holds and reads its slice."),
        ),
    ),
)

# q4: the best plan ---------------------------------------------------------------------------------------------------

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


def _says(answer: dict, **inputs: object) -> str:
    try:
        return _judge_plan(answer, **inputs)
    except CourseError as error:
        return str(error)


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
            recognise=lambda answer, **inputs: answer.get("tensor", 1) * answer.get("pipeline", 1) == 1,
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

# q5: an article ------------------------------------------------------------------------------------------------------

WRONG, CONDITION, TRUE = "wrong", "condition", "true"
VERDICTS = {
    "A": WRONG,  # TPU pods use NVLink
    "B": WRONG,  # every large chatbot
    "C": WRONG,  # the backbone of the Research SuperCluster
    "D": WRONG,  # NVLink 5 is upcoming
    "E": WRONG,  # a DGX H100 is a full mesh
    "F": WRONG,  # PCIe cannot share memory
    "G": WRONG,  # nobody splits by hand
    "H": TRUE,  # 256 GPUs, tapered
    "I": CONDITION,  # twice the GPUs, half the time
    "J": CONDITION,  # tensor parallelism over more GPUs shortens a token
    "K": TRUE,  # between NVL72 racks InfiniBand or Ethernet
    "L": TRUE,  # a growing batch
}

q5 = Question(
    id="12.q5",
    title=_("Fact check of an article"),
    points=2,
    answer="verdicts",
    expects=Entries(Choice((WRONG, CONDITION, TRUE))),
    reference=VERDICTS,
    misconceptions=(
        Misconception(
            "NVLink everywhere",
            {"A": TRUE, "B": TRUE},
            _(
                "You take NVLink for the only fast link. TPUs have links of Google's own in a torus, and "
                "Gemini is trained and served on them."
            ),
        ),
        Misconception(
            "NVLink between servers",
            {"C": TRUE},
            _(
                "You let NVLink leave the server. In the Research SuperCluster it joins eight GPUs of a "
                "server; InfiniBand joins the servers."
            ),
        ),
        Misconception(
            "a data sheet of 2023",
            {"D": TRUE},
            _("You go by an old article. NVLink 5 came with Blackwell and is in use; NVLink 6 is the announced one."),
        ),
        Misconception(
            "a switch read as a mesh",
            {"E": TRUE, "F": TRUE},
            _(
                "You mix up what is reachable with how it is wired. In a DGX H100 all links lead to four "
                "switch chips, and peer access works over PCIe as well, only slower."
            ),
        ),
        Misconception(
            "the switch splits the model",
            {"G": TRUE},
            _(
                "You let the switch do the software's work. Somebody still chooses tensor, pipeline, data and "
                "expert ranks; the domain makes some choices cheap."
            ),
        ),
        Misconception(
            "what did not stay did not exist",
            {"H": WRONG, "K": WRONG},
            _(
                "You reject what was built or is in use. The 256-GPU switch system existed, and beyond a rack "
                "there are InfiniBand and Ethernet."
            ),
        ),
        Misconception(
            "more is always faster",
            {"I": TRUE, "J": TRUE},
            _(
                "You take more GPUs for faster. With a fixed batch the bubble and the collectives stay, and a "
                "token over two boxes can take longer than over one."
            ),
        ),
        Misconception(
            "no scaling at all",
            {"I": WRONG, "J": WRONG, "L": WRONG},
            _("You reject what holds within bounds. Say what has to hold: which batch, how many GPUs, which links."),
        ),
    ),
)

QUESTIONS = (q1, q2, q3, q4, q5)
