"""Exercise 06, slicing a matrix: write sliced layers, count sums and bytes, judge two GPUs over three links."""

from collections.abc import Callable
from functools import cache

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries, Number
from course_lib.grading.bank.programs06 import (
    CLOSE,
    accept_sums,
    attention_program,
    mlp_program,
    play_attention,
    play_mlp,
    playing,
)
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan import slicing
from course_lib.plan.block import Block, random_weights

WITHHELD = ("course_lib.plan.slicing", "course_lib.plan.slices")

# q1: a sliced MLP, there and back ------------------------------------------------------------------------------------


def _mlp_cases(rng: np.random.Generator) -> list[Case]:
    names = ("n_ranks", "tokens", "hidden", "inner", "seed")
    rows = [(1, 2, 3, 4, 0), (2, 1, 2, 4, 1), (4, 5, 8, 32, 2)]
    rows += [
        (n, int(rng.integers(1, 6)), int(rng.integers(2, 9)), n * int(rng.integers(2, 5)), int(rng.integers(2**31)))
        for n in (2, 3, 5, 8)
    ]
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


_MLP_MISTAKES = (
    (
        "bias on every rank",
        mlp_program(bias="each"),
        _("You add b2 before the sum, so the sum has it once for every rank. Add it after the all-reduce."),
    ),
    (
        "gradient of the input not summed",
        mlp_program(sum_dx=False),
        _(
            "Your dx holds one rank's part only. Forward, x was copied to every rank; backward, a copy's gradient is a sum."
        ),
    ),
    (
        "two sums backward",
        mlp_program(sum_dy=True),
        _(
            "You sum dy as well, as if an MLP alone cost two all-reduces backward. "
            "dy is already the same on every rank; the sum multiplies it by the number of ranks."
        ),
    ),
    (
        "parts of y not summed",
        mlp_program(sum_y=False),
        _("Your y is one rank's part: rows of w2 leave parts as large as y, and nobody added them."),
    ),
)

q1 = Question(
    id="06.q1",
    title=_("A sliced MLP, forward and backward"),
    points=2,
    answer="mlp",
    kind="function",
    expects=Entries(
        {"y": CLOSE, "dx": CLOSE, "all_reduces": Number(whole=True), "others": Number(whole=True)}, each=False
    ),
    inputs=_mlp_cases,
    reference=playing(play_mlp, mlp_program()),
    accept=accept_sums(playing(play_mlp, mlp_program()), ("y", "dx"), 2),
    driver=play_mlp,
    written=mlp_program(),
    withholds=WITHHELD,
    misconceptions=tuple(
        Misconception(name, playing(play_mlp, program), sentence, written=program)
        for name, program, sentence in _MLP_MISTAKES
    ),
)

# q2: all-reduces, counted from a run ---------------------------------------------------------------------------------


@cache
def ran(part: str, n_ranks: int, style: str = "tensor") -> tuple[slicing.Sliced, int]:
    """Return a run of part of a small layer on `n_ranks` ranks, and the bytes of its activations.

    >>> ran("block", 2)[0].forward.counts()
    {'all_reduce': 2}
    """
    block = Block(16, 16)
    x = np.random.default_rng(0).normal(size=(1, 16, 32))
    return slicing.run(block, random_weights(block, 32, 64), x, x, n_ranks, part=part, style=style), x.nbytes


def all_reduces(part: str, n_layers: int, n_ranks: int, training: bool) -> int:
    """Return how many all-reduces a rank takes part in during a pass of all layers, counted from what ran.

    >>> all_reduces("mlp", 1, 4, True), all_reduces("block", 1, 4, True), all_reduces("block", 80, 8, False)
    (2, 4, 160)
    """
    done, _nbytes = ran(part, n_ranks)
    logs = (done.forward, done.backward) if training else (done.forward,)
    return n_layers * sum(log.counts(rank=0).get("all_reduce", 0) for log in logs)


def _count_cases(rng: np.random.Generator) -> list[Case]:
    rows = [("mlp", 1, 1), ("mlp", 1, 2), ("attention", 1, 4), ("block", 1, 2), ("block", 32, 8), ("block", 80, 1)]
    rows += [(part, int(rng.integers(2, 129)), int(2 ** rng.integers(1, 5))) for part in ("mlp", "attention", "block")]
    return [
        Case(
            {"part": part, "n_layers": layers, "n_ranks": n, "training": training},
            "training" if training else "forward only",
        )
        for training in (False, True)
        for part, layers, n in rows
    ]


def _often(per_layer: Callable[[str, bool], int], alone: int = 0) -> Callable[..., int]:
    return lambda part, n_layers, n_ranks, training: (
        n_layers * per_layer(part, training) if n_ranks > 1 else alone * n_layers * per_layer(part, training)
    )


def _pieces(part: str) -> int:
    return 2 if part == "block" else 1


q2 = Question(
    id="06.q2",
    title=_("All-reduces of a pass, counted"),
    points=2,
    answer="all_reduces",
    kind="function",
    expects=Number(whole=True),
    inputs=_count_cases,
    reference=all_reduces,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "two per layer in training",
            _often(lambda part, training: _pieces(part)),
            _("That is the forward pass. Backward costs as many again: the gradient of a copied input is a sum."),
        ),
        Misconception(
            "the MLP alone is two and two",
            _often(lambda part, training: 2 * (1 + training)),
            _("You give attention alone, or the MLP alone, what both together cost. Each has one sum each way."),
        ),
        Misconception(
            "one rank communicates",
            _often(lambda part, training: _pieces(part) * (1 + training), alone=1),
            _("You count sums for one rank, too. It holds all of the layer and has nobody to add to."),
        ),
        Misconception(
            "backward costs twice",
            _often(lambda part, training: _pieces(part) * (1 + 2 * training)),
            _(
                "You let backward cost twice as many sums as forward, as it does for computing. The gradients of the weights need no sum."
            ),
        ),
        Misconception(
            "once for every rank",
            lambda part, n_layers, n_ranks, training: n_ranks * all_reduces(part, n_layers, n_ranks, training),
            _("You multiply by the number of ranks. An all-reduce is one collective in which all of them take part."),
        ),
    ),
)

# q3: attention by heads ----------------------------------------------------------------------------------------------


def _attention_cases(rng: np.random.Generator) -> list[Case]:
    names = ("n_ranks", "n_heads", "n_kv_heads", "head_size", "tokens", "seed")
    shared = [(1, 2, 1, 2, 2, 0), (2, 2, 2, 2, 3, 1), (2, 8, 4, 3, 4, 2), (4, 8, 4, 2, 3, 3)]
    copied = [(2, 2, 1, 2, 2, 4), (4, 4, 2, 2, 3, 5), (8, 8, 2, 3, 2, 6)]
    drawn = [int(rng.integers(2, 5)) for _unused in range(3)]
    shared += [(n, 2 * n * k, n * k, 2, 4, int(rng.integers(2**30))) for n, k in ((drawn[0], 1), (drawn[1], 2))]
    copied += [(2 * n, 4 * n, n, 3, 3, int(rng.integers(2**30))) for n in drawn[2:]]
    return [Case(dict(zip(names, row, strict=True)), "key-value heads shared out") for row in shared] + [
        Case(dict(zip(names, row, strict=True)), "key-value heads copied") for row in copied
    ]


_ATTENTION_MISTAKES = (
    (
        "bias on every rank",
        attention_program(bias="each"),
        _("You add bo before the sum, so the result has it once for every rank. Add it after the all-reduce."),
    ),
    (
        "heads not summed",
        attention_program(add=False),
        _("Each of your ranks returns the part of its own heads. The rows of wo leave parts that have to be added."),
    ),
    (
        "everybody takes the first keys",
        attention_program(keys="first"),
        _("All your ranks take the same key-value heads, the first ones. A query head belongs to a certain one."),
    ),
    (
        "columns dealt out like cards",
        attention_program(comb=True),
        _("You deal columns out one by one, which tears heads apart. A head is a run of neighbouring columns."),
    ),
)

q3 = Question(
    id="06.q3",
    title=_("Attention by heads"),
    points=3,
    answer="attention",
    kind="function",
    expects=Entries({"y": CLOSE, "all_reduces": Number(whole=True), "others": Number(whole=True)}, each=False),
    inputs=_attention_cases,
    reference=playing(play_attention, attention_program()),
    accept=accept_sums(playing(play_attention, attention_program()), ("y",), 1),
    driver=play_attention,
    written=attention_program(),
    withholds=WITHHELD,
    misconceptions=tuple(
        Misconception(name, playing(play_attention, program), sentence, written=program)
        for name, program, sentence in _ATTENTION_MISTAKES
    ),
)

# q4: bytes of sequence slicing ---------------------------------------------------------------------------------------


def sent_MB(style: str, tokens: int, hidden: int, n_ranks: int) -> float:
    """Return MB that a rank sends in one layer's forward pass, 16-bit numbers and rings: a run's bytes, scaled.

    >>> sent_MB("tensor", 8192, 8192, 8) == sent_MB("sequence", 8192, 8192, 8)
    True
    """
    done, nbytes = ran("block", n_ranks, style)
    return done.forward.wire_B() / n_ranks / nbytes * tokens * hidden * 2 / 1e6


def _bytes_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(1, 1, 1), (8, 64, 2), (4096, 4096, 1), (8192, 8192, 8)]
    rows += [
        (int(rng.integers(1, 65)) * 64, int(rng.integers(4, 129)) * 128, int(2 ** rng.integers(1, 5)))
        for _unused in range(4)
    ]
    names = ("tokens", "hidden", "n_ranks")
    return [
        Case({"style": style} | dict(zip(names, row, strict=True)), style)
        for style in ("tensor", "sequence")
        for row in rows
    ]


def _sent(factor: Callable[[str, int], float]) -> Callable[..., float]:
    """2 sums a layer; `factor(style, n)` messages of the activations sent for each."""
    return lambda style, tokens, hidden, n_ranks: 2 * factor(style, n_ranks) * tokens * hidden * 2 / 1e6


q4 = Question(
    id="06.q4",
    title=_("Bytes of sequence slicing"),
    points=2,
    answer="sent_MB",
    kind="function",
    expects=Number("MB", near_zero=1e-15),
    inputs=_bytes_cases,
    reference=sent_MB,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "sequence slicing halves the traffic",
            _sent(lambda style, n: (2 if style == "tensor" else 1) * (n - 1) / n),
            _(
                "You count one half of each pair. A reduce-scatter and an all-gather replace one all-reduce; both are sent."
            ),
        ),
        Misconception(
            "sequence slicing doubles the traffic",
            _sent(lambda style, n: (2 if style == "tensor" else 4) * (n - 1) / n),
            _("You price a reduce-scatter and an all-gather like an all-reduce each. Each is half of one."),
        ),
        Misconception(
            "an all-gather of a share",
            _sent(lambda style, n: 2 * (n - 1) / n if style == "tensor" else (n - 1) / n + (n - 1) / n**2),
            _(
                "You price the all-gather by one rank's share. Its message is what every rank has in the end: all tokens."
            ),
        ),
        Misconception(
            "the message for what is sent",
            _sent(lambda style, n: 1.0 if n > 1 else 0.0),
            _("That is the size of the messages. In a ring a rank sends 2(n−1)/n of it for an all-reduce."),
        ),
        Misconception(
            "one sum a layer",
            lambda style, tokens, hidden, n_ranks: sent_MB(style, tokens, hidden, n_ranks) / 2,
            _("That is one sum. A layer has two forward: one after attention and one after the MLP."),
        ),
    ),
)

# q5: two GPUs, faster or slower --------------------------------------------------------------------------------------


def speedup(computing_s: float, n_sums: int, message_B: float, latency_s: float, bandwidth_Bps: float) -> float:
    """Return one GPU's time over two GPUs': computing halves, and each sum is a ring of two, two steps of half a message.

    >>> speedup(1e-3, 10, 1e6, 1e-5, 1e10)
    0.5882352941176471
    """
    return computing_s / (computing_s / 2 + n_sums * (2 * latency_s + message_B / bandwidth_Bps))


def _speed_cases(rng: np.random.Generator) -> list[Case]:
    names = ("computing_s", "n_sums", "message_B", "latency_s", "bandwidth_Bps")
    rows = [
        (1.0, 0, 1e6, 1e-5, 1e10),
        (1e-3, 10, 0.0, 1e-5, 1e10),
        (1e-3, 10, 1e6, 1e-5, 1e10),
        (2.0, 160, 1.3e8, 2e-6, 4e11),
    ]
    rows += [
        (
            float(rng.uniform(1e-3, 1)),
            int(rng.integers(16, 400)),
            float(10 ** rng.uniform(3, 8.3)),
            float(rng.uniform(1e-6, 3e-5)),
            float(rng.uniform(1e10, 8e11)),
        )
        for _unused in range(10)
    ]
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


q5 = Question(
    id="06.q5",
    title=_("Two GPUs over one link: how many times as fast"),
    points=2,
    answer="speedup",
    kind="function",
    expects=Number(),
    inputs=_speed_cases,
    reference=speedup,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "tensor parallelism always helps",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: 2.0,
            _("You say twice as fast whatever the link. Computing halves, and the sums come on top."),
        ),
        Misconception(
            "latency forgotten",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: speedup(
                computing_s, n_sums, message_B, 0.0, bandwidth_Bps
            ),
            _("Your sums cost bandwidth only. Each has two steps, and each step waits for a latency."),
        ),
        Misconception(
            "the whole message in each step",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: speedup(
                computing_s, n_sums, 2 * message_B, latency_s, bandwidth_Bps
            ),
            _("You send the whole message in both steps. A ring of two sends one half in each."),
        ),
        Misconception(
            "one latency a sum",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: speedup(
                computing_s, n_sums, message_B, latency_s / 2, bandwidth_Bps
            ),
            _("You count one latency for each sum. A ring of two has 2(n−1) = 2 steps."),
        ),
        Misconception(
            "upside down",
            lambda computing_s, n_sums, message_B, latency_s, bandwidth_Bps: (
                1 / speedup(computing_s, n_sums, message_B, latency_s, bandwidth_Bps)
            ),
            _("That is the time of two GPUs over the time of one. How many times as fast is the other way round."),
        ),
    ),
)

# q6: three links, two jobs -------------------------------------------------------------------------------------------

H100_FLOPS, HBM_BPS = 4e14, 3.35e12  # achieved operations, and what its memory reads, per second
JOBS, LINKS = ("prompt", "token"), ("NVLink", "PCIe", "card")


def _gain(numbers: dict, job: str, link: str) -> float:
    n = numbers[job]
    return speedup(n["computing_s"], n["n_sums"], n["message_B"], *numbers[link])


def _us(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{rng.uniform(low, high):.1f}e-6")


def _jobs(rng: np.random.Generator) -> dict:
    """Draw a wide model that reads a prompt and a narrow one that writes a token, so that no verdict is close."""
    while True:
        wide, layers, tokens = (
            1024 * int(rng.integers(7, 13)),
            int(rng.integers(60, 101)),
            1024 * int(rng.integers(3, 9)),
        )
        narrow, few = 128 * int(rng.integers(11, 19)), int(rng.integers(16, 33))
        found = {
            "prompt": {
                "computing_s": 24 * wide**2 * layers * tokens / H100_FLOPS,
                "n_sums": 2 * layers,
                "message_B": 2 * wide * tokens,
            },
            "token": {"computing_s": 24 * narrow**2 * few / HBM_BPS, "n_sums": 2 * few, "message_B": 2 * narrow},
            "NVLink": (_us(rng, 0.8, 1.6), round(float(rng.uniform(280, 400))) * 1e9),
            "PCIe": (_us(rng, 6, 12), round(float(rng.uniform(24, 40))) * 1e9),
            "card": (_us(rng, 8, 16), round(float(rng.uniform(38, 48))) * 1e9),
        }
        gains = {(job, link): _gain(found, job, link) for job in JOBS for link in LINKS}
        slower = {("token", "PCIe"), ("token", "card")}
        if all(gain < 0.9 if key in slower else gain > 1.1 for key, gain in gains.items()):
            for job in JOBS:
                found[job]["computing_s"] = float(f"{found[job]['computing_s']:.4g}")
            return found


def verdicts(**numbers: object) -> dict[str, str]:
    """Return "faster" or "slower" for two GPUs, for each job over each link."""
    return {f"{job}, {link}": "faster" if _gain(numbers, job, link) > 1 else "slower" for job in JOBS for link in LINKS}


q6 = Question(
    id="06.q6",
    title=_("Two GPUs over NVLink, PCIe and a network card"),
    points=1,
    answer="two_gpus",
    expects=Entries(Choice(("faster", "slower"))),
    parameters=_jobs,
    reference=verdicts,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "tensor parallelism always helps",
            lambda **numbers: {"token, PCIe": "faster", "token, card": "faster"},
            _(
                "Two GPUs are not always faster. A token's messages are tiny, and every one of many sums still waits for two latencies."
            ),
        ),
        Misconception(
            "only NVLink helps",
            lambda **numbers: {"prompt, PCIe": "slower", "prompt, card": "slower"},
            _(
                "You take slow links for useless. A wide model computes long for each byte, and half of that outweighs the sums."
            ),
        ),
        Misconception(
            "small messages never pay",
            lambda **numbers: {"token, NVLink": "slower"},
            _(
                "Small messages cost latency. Where that is short enough, half of the reading saves more than the sums cost."
            ),
        ),
    ),
)

QUESTIONS = (q1, q2, q3, q4, q5, q6)
