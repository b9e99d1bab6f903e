"""Programs of exercise 06: a sliced MLP and attention by heads, right or with a mistake, and what plays them."""

from collections.abc import Callable, Generator

import numpy as np

from course_lib.base.language import _
from course_lib.comm.driver import AllReduce, Log, play
from course_lib.grading.answers import Number
from course_lib.plan.block import Block, attention_forward, random_weights
from course_lib.plan.memory import kv_heads_each

CLOSE = Number(tolerance=1e-6, near_zero=1e-9)  # float64 sums in another order differ by less


def _mlp_inputs(
    n_ranks: int, tokens: int, hidden: int, inner: int, seed: int
) -> tuple[list[dict], np.ndarray, np.ndarray]:
    """Return the weights of each rank (columns of w1 and b1, rows of w2, all of b2), x and dy."""
    rng = np.random.default_rng(seed)
    w1, b1 = rng.normal(size=(hidden, inner)), rng.normal(size=inner)
    w2, b2 = rng.normal(size=(inner, hidden)), rng.normal(size=hidden)
    ranks = [
        {"w1": a, "b1": b, "w2": c, "b2": b2.copy()}
        for a, b, c in zip(np.split(w1, n_ranks, 1), np.split(b1, n_ranks), np.split(w2, n_ranks), strict=True)
    ]
    return ranks, rng.normal(size=(tokens, hidden)), rng.normal(size=(tokens, hidden))


def play_mlp(function: Callable, n_ranks: int, tokens: int, hidden: int, inner: int, seed: int) -> dict:
    """Run a sliced MLP on all ranks; return what each returned, stacked, and how many all-reduces and others took place.

    >>> play_mlp(mlp_program(), 2, 3, 4, 8, 0)["all_reduces"]
    2
    """
    ranks, x, dy = _mlp_inputs(n_ranks, tokens, hidden, inner, seed)
    results, log = play([function(w, x.copy(), dy.copy()) for w in ranks])
    y, dx = zip(*results, strict=True)
    return {"y": np.array(y, float), "dx": np.array(dx, float)} | _counted(log)


def _counted(log: Log) -> dict[str, int]:
    counts = log.counts()
    sums = counts.get("all_reduce", 0)
    return {"all_reduces": sums, "others": sum(counts.values()) - sums}


def mlp_program(
    bias: str = "once",
    sum_y: bool = True,
    sum_dx: bool = True,
    sum_dy: bool = False,
    *,
    inner_bias: bool = True,
    through_f: bool = False,
    before_f: bool = False,
    turned: bool = False,
) -> Callable:
    """Return the program of one rank, right or with a mistake."""

    def mlp(w: dict, x: np.ndarray, dy: np.ndarray) -> Generator:
        before = x @ w["w1"] + (w["b1"] if inner_bias else 0)
        if before_f:
            before = yield AllReduce(before)
        part = np.maximum(before, 0) @ w["w2"] + (w["b2"] if bias == "each" else 0)
        y = (yield AllReduce(part)) if sum_y else part
        y = y + (w["b2"] if bias == "once" else 0)
        if sum_dy:
            dy = yield AllReduce(dy)
        part = ((dy @ w["w2"].T) * (through_f | (before > 0))) @ w["w1"].T
        dx = (yield AllReduce(part)) if sum_dx else part
        return (dx, y) if turned else (y, dx)

    return mlp


def accept_sums(reference: Callable, names: tuple[str, ...], sums: int) -> Callable[..., str]:
    """Return a judge: the named results equal the reference's on every rank, and `sums` all-reduces did it."""

    def accept(answer: dict, **inputs: object) -> str:
        right = reference(**inputs)
        for name in names:
            for rank, (given, due) in enumerate(zip(answer[name], right[name], strict=True)):
                if not CLOSE.agrees(given, due):
                    return _("{name} on rank {r} differs from the unsliced result by up to {d}.").format(
                        name=name, r=rank, d=f"{np.abs(np.asarray(given) - due).max():.3g}"
                    )
        if answer["others"]:
            return _(
                "the result is right, but other communications took place, too: {n}; all-reduces are enough."
            ).format(n=answer["others"])
        # fewer are right as well: who has both parts at hand may send them as one message
        if answer["all_reduces"] > right["all_reduces"]:
            return _("the result is right, but the number of all-reduces is {n}, and {k} would do.").format(
                n=answer["all_reduces"], k=sums
            )
        return ""

    return accept


def playing(player: Callable, program: Callable) -> Callable[..., dict]:
    """Return a function of a case's inputs that plays a program: the form that references and wrong models have.

    >>> playing(play_mlp, mlp_program())(n_ranks=1, tokens=2, hidden=2, inner=2, seed=0)["all_reduces"]
    0
    """
    return lambda **inputs: player(program, *inputs.values())


def _attention_inputs(n_ranks: int, n_heads: int, n_kv_heads: int, head_size: int, tokens: int, seed: int) -> tuple:
    """Return x and, for each rank, whole matrices in which only its own slice is real: the rest is other random numbers."""
    hidden, rng = n_heads * head_size, np.random.default_rng(seed)
    weights = random_weights(Block(n_heads, n_kv_heads), hidden, 4, head_size=head_size, seed=seed)
    other = random_weights(Block(n_heads, n_kv_heads), hidden, 4, head_size=head_size, seed=seed + 1)
    ranks = []
    for r in range(n_ranks):
        mine, keys = heads_of(r, n_ranks, n_heads, n_kv_heads, head_size)
        held = {}
        for key in ("wq", "bq", "wk", "bk", "wv", "bv"):
            own = mine if key in ("wq", "bq") else keys
            held[key] = other[key].copy()
            held[key][..., own] = weights[key][..., own]
        held["wo"] = other["wo"].copy()
        held["wo"][mine] = weights["wo"][mine]
        held["bo"] = weights["bo"].copy()
        ranks.append(held)
    return ranks, rng.normal(size=(1, tokens, hidden))


def heads_of(rank: int, n_ranks: int, n_heads: int, n_kv_heads: int, head_size: int) -> tuple[slice, slice]:
    """Return a rank's columns of the queries (and rows of wo), and its columns of keys and values.

    >>> heads_of(3, 4, 8, 2, 4)
    (slice(24, 32, None), slice(4, 8, None))
    """
    heads, kv = n_heads // n_ranks, kv_heads_each(n_kv_heads, n_ranks)
    first = rank // max(1, n_ranks // n_kv_heads) * kv
    return slice(rank * heads * head_size, (rank + 1) * heads * head_size), slice(
        first * head_size, (first + kv) * head_size
    )


def play_attention(
    function: Callable, n_ranks: int, n_heads: int, n_kv_heads: int, head_size: int, tokens: int, seed: int
) -> dict:
    """Run sliced attention on all ranks; return each rank's y, stacked, and what was communicated.

    >>> play_attention(attention_program(), 2, 4, 2, 4, 3, 0)["all_reduces"]
    1
    """
    ranks, x = _attention_inputs(n_ranks, n_heads, n_kv_heads, head_size, tokens, seed)
    programs = [function(r, n_ranks, x.copy(), w, n_heads, n_kv_heads) for r, w in enumerate(ranks)]
    results, log = play(programs)
    return {"y": np.array(results, float)} | _counted(log)


def attention_program(
    bias: str = "once", add: bool = True, keys: str = "own", comb: bool = False, whole: bool = False
) -> Callable:
    """Return the program of one rank, right or with a mistake."""

    def attention(rank: int, n_ranks: int, x: np.ndarray, w: dict, n_heads: int, n_kv_heads: int) -> Generator:
        d = w["wq"].shape[1] // n_heads
        heads, kv = n_heads // n_ranks, max(1, n_kv_heads // n_ranks)
        first = {"own": rank * n_kv_heads // n_ranks, "first": 0, "in turn": rank * kv % n_kv_heads}[keys]
        q = slice(rank, None, n_ranks) if comb else slice(rank * heads * d, (rank + 1) * heads * d)
        k = slice(first * d, (first + kv) * d)
        mine = {key: w[key][..., q if "q" in key else k] for key in ("wq", "bq", "wk", "bk", "wv", "bv")}
        mine["wo"] = w["wo"][q]
        if whole:
            mine, heads, kv = w, n_heads, n_kv_heads
        part, _saved = attention_forward(x, mine, heads, kv)
        part = part + (w["bo"] if bias == "each" else 0)
        y = (yield AllReduce(part)) if add else part
        return y + (w["bo"] if bias == "once" else 0)

    return attention
