"""Serving a model: the time of a decoding step and of reading a prompt: compute, memory, communication, each named.

A decoding step is a roofline of every kind of layer (the longer of FLOP over peak and bytes over HBM) plus the collectives that
the layout asks for, priced by `timing.tuning.predict` and `plan.experts`. Validity: requests evenly spread, experts evenly
visited (unless `imbalance` says otherwise), no launch gaps between kernels, no speculation. `overlapped_s` is the bound if half
of the batch computes while the other half communicates.
"""

from dataclasses import dataclass

import numpy as np

from course_lib.base import hardware
from course_lib.base.errors import finite, together, whole
from course_lib.plan.experts import exchange
from course_lib.plan.pools import Fit
from course_lib.plan.served import Layout, checked, fits, held, host_Bps, parts, peak_flops, placed_on
from course_lib.plan.transformer import Shape
from course_lib.timing.system import System
from course_lib.timing.tuning import predict

# Of a GPU's dense peak and of its memory's rate; `plan.servedruns` shows what they miss.
COMPUTE_SHARE, MEMORY_SHARE = 0.6, 0.8
TERMS = ("attention", "cache", "dense layers", "experts", "host memory", "head", "all-reduce", "dispatch", "combine")
COMPUTE_TERMS = TERMS[:6]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of serving, arrays of the broadcast shape of requests and context: seconds by name, and what follows from them.

    `tokens` are the tokens that the step makes or reads on all GPUs.
    """

    n_gpus: int
    tokens: np.ndarray | float
    terms: dict[str, np.ndarray | float]

    @property
    def compute_s(self) -> np.ndarray | float:
        """Computing and reading memory."""
        return sum(v for k, v in self.terms.items() if k in COMPUTE_TERMS)

    @property
    def communicate_s(self) -> np.ndarray | float:
        """Collectives and exchanges, nothing hidden."""
        return sum(v for k, v in self.terms.items() if k not in COMPUTE_TERMS)

    @property
    def step_s(self) -> np.ndarray | float:
        """One after the other: in decoding the time between two tokens of a request."""
        return self.compute_s + self.communicate_s

    @property
    def overlapped_s(self) -> np.ndarray | float:
        """The least that overlapping can reach: the longer of the two."""
        return np.maximum(self.compute_s, self.communicate_s)

    @property
    def tokens_per_s(self) -> np.ndarray | float:
        """Tokens per second of all GPUs together."""
        return self.tokens / self.step_s

    @property
    def tokens_per_s_per_gpu(self) -> np.ndarray | float:
        """Tokens per second of each GPU."""
        return self.tokens_per_s / self.n_gpus


def decode(
    shape: "Shape | str",
    system: "str | System",
    layout: Layout,
    requests: object,
    context: object,
    *,
    gpu: str | None = None,
    way: str = "low-latency",
    imbalance: float = 1.0,
    compute_share: float = COMPUTE_SHARE,
    memory_share: float = MEMORY_SHARE,
) -> Step:
    """Return one decoding step: each of `requests` (in all) gets one token, having `context` tokens in its cache; both broadcast.

    Args:
        shape: a model's name or Shape.
        system: name, path or System whose links join the ranks; `gpu` another processor than its own.
        layout: ranks and formats (`plan.served.Layout`).
        requests: in flight on all ranks together, at least 1.
        context: tokens before this one.
        way: how copies reach experts (`plan.experts.exchange`).
        imbalance: tokens of the fullest rank of experts over the mean.
        compute_share, memory_share: what kernels reach of the dense peak and of HBM's rate.

    Does not ask whether it fits: `plan.served.fits` does, and `serve` joins both.

    >>> step = decode("deepseek-v3", "gb200-nvl72", Layout(expert=64), 64 * 128, 4096)
    >>> bool(10e-3 < step.step_s < 40e-3), set(step.terms) <= set(TERMS)
    (True, True)
    >>> across = decode("deepseek-v3", "dgx-b200", Layout(expert=64), 64 * 128, 4096, gpu="gb200")
    >>> bool(across.step_s > 1.5 * step.step_s)
    True
    """
    shape, layout = checked(shape, layout)
    place, chip_name = placed_on(system, layout, gpu)
    requests = finite("requests", requests, at_least=1)
    context = finite("context", context, at_least=0)
    together(requests=requests, context=context)
    requests, context = np.broadcast_arrays(np.asarray(requests, float), np.asarray(context, float))
    replicas = layout.n_ranks // layout.tensor
    mine = requests / replicas  # requests of one group of attention; a mean, so fractions stand for rounds
    roof = _roof(chip_name, compute_share, memory_share)
    attention, dense, one, ends = parts(shape, layout)
    kept = held(shape, layout, chip_name)
    rest, layers, expert_layers = layout.rest_B, shape.n_layers, shape.n_expert_layers
    terms = {
        "attention": layers * roof(2 * attention * mine, attention * rest, rest),
        "cache": roof(
            _core_flops(shape, layout) * mine * context, kept.cache_token_B * context * mine, layout.cache_element_B
        ),
        "head": roof(2 * (shape.vocab * shape.hidden / layout.tensor) * mine, ends / (2 - shape.tied) * rest, rest),
    }
    if layers > expert_layers:
        terms["dense layers"] = (layers - expert_layers) * roof(2 * dense * mine, dense * rest, rest)
    if expert_layers:
        hit, copies = _visited(shape, layout, requests, kept.slots)
        copies = copies * finite("imbalance", imbalance, at_least=1)
        work = 2 * one * (copies + shape.n_shared * mine), one * (layout.weight_B * hit + rest * shape.n_shared)
        terms["experts"] = expert_layers * roof(*work, layout.weight_B)
        if layout.host_share:
            terms["host memory"] = expert_layers * layout.host_share * hit * one * layout.weight_B / host_Bps(chip_name)
    terms |= _collectives(shape, layout, place, mine, requests / layout.n_ranks, way, imbalance)
    return Step(layout.n_ranks, _plain(requests), {k: _plain(terms[k]) for k in TERMS if k in terms})


def prefill(
    shape: "Shape | str",
    system: "str | System",
    layout: Layout,
    prompt: object,
    prompts: object = 1,
    *,
    gpu: str | None = None,
    way: str = "throughput",
    imbalance: float = 1.0,
    compute_share: float = COMPUTE_SHARE,
) -> Step:
    """Return the step that reads `prompts` prompts (in all) of `prompt` tokens each; both broadcast. Its time is that to the first token.

    Weights in HBM are read once for thousands of tokens and not priced; those in the host's memory are. Attention is causal.

    >>> step = prefill("llama3-70b", "dgx-h100", Layout(tensor=8), 8192)
    >>> bool(0.2 < step.step_s < 0.8), bool(step.terms["all-reduce"] > 0)
    (True, True)
    """
    shape, layout = checked(shape, layout)
    place, chip_name = placed_on(system, layout, gpu)
    together(prompt=prompt, prompts=prompts)
    prompt, prompts = np.broadcast_arrays(
        np.asarray(finite("prompt", prompt, at_least=1), float),
        np.asarray(finite("prompts", prompts, at_least=1), float),
    )
    tokens = prompt * prompts
    mine = tokens * layout.tensor / layout.n_ranks
    roof = _roof(chip_name, compute_share, 1.0)
    attention, dense, one, _ends = parts(shape, layout)
    rest, expert_layers = layout.rest_B, shape.n_expert_layers
    core = _core_flops(shape, layout, prompt=True) * mine * prompt / 2
    last = 2 * shape.vocab * shape.hidden / layout.tensor * prompts * layout.tensor / layout.n_ranks
    terms = {
        "attention": shape.n_layers * roof(2 * attention * mine, 0.0, rest),
        "cache": roof(core, 0.0, 2),
        "head": roof(last, 0.0, rest),
    }
    if shape.n_layers > expert_layers:
        terms["dense layers"] = (shape.n_layers - expert_layers) * roof(2 * dense * mine, 0.0, rest)
    if expert_layers:
        each = tokens * shape.n_active / (layout.expert if layout.expert > 1 else 1)
        copies = each * finite("imbalance", imbalance, at_least=1) + shape.n_shared * mine
        terms["experts"] = expert_layers * roof(2 * one * copies, 0.0, layout.weight_B)
        if layout.host_share:
            read_B = held(shape, layout, chip_name).in_host_B
            terms["host memory"] = read_B / host_Bps(chip_name) * np.ones_like(tokens)
    terms |= _collectives(shape, layout, place, mine, tokens / layout.n_ranks, way, imbalance)
    return Step(layout.n_ranks, _plain(tokens), {k: _plain(terms[k]) for k in TERMS if k in terms})


@dataclass(frozen=True, slots=True)
class Served:
    """A layout that serves: whether it fits (with the sentence), and the decoding step."""

    fit: Fit
    step: Step


def serve(
    shape: "Shape | str",
    system: "str | System",
    layout: Layout,
    requests: int,
    context: int,
    *,
    gpu: str | None = None,
    **options,
) -> Served:
    """Return the decoding step of whole requests and whether they fit; `options` go to `decode`.

    >>> found = serve("llama3-70b", "dgx-h100", Layout(tensor=2, weight_B=2), 64, 8192)
    >>> found.fit.fits, found.fit.sentence.split(".")[0]
    (False, 'A GPU would hold 156')
    """
    requests, context = whole("requests", requests, at_least=1), whole("context", context, at_least=1)
    place, chip = placed_on(system, layout, gpu)
    return Served(
        fits(shape, layout, chip, requests, context, n_gpus=place.n_max),
        decode(shape, place, layout, requests, context, gpu=chip, **options),
    )


def _plain(value) -> np.ndarray | float:
    return np.asarray(value, float)[()]


def _roof(chip_name: str, compute_share: float, memory_share: float):
    """A function of FLOP, bytes and bytes per number: the seconds of the longer of computing and reading."""
    compute_share = finite("compute_share", compute_share, above=0)
    memory_Bps = hardware.gpu(chip_name).hbm_Bps * finite("memory_share", memory_share, above=0)

    def seconds(flops, read_B, element_B):
        element_B = 1.0 if element_B < 1 and element_B != 0.5 else element_B
        peak = peak_flops(chip_name, min(2.0, element_B)) * compute_share
        return np.maximum(flops / peak, read_B / memory_Bps)

    return seconds


def _core_flops(shape: Shape, layout: Layout, *, prompt: bool = False) -> float:
    """FLOP of attention's core for one token and one token before it, all layers, on one rank.

    Latent attention decodes on the latent vectors themselves (the wide matrices are absorbed), and reads prompts on heads.
    """
    heads = shape.n_heads / layout.tensor
    if not shape.kv_rank:
        widths = 2 * shape.head_size
    elif prompt:
        widths = shape.nope_size + shape.rope_size + shape.value_size
    else:
        widths = 2 * shape.kv_rank + shape.rope_size
    return 2.0 * shape.n_layers * heads * widths


def _visited(shape: Shape, layout: Layout, requests, slots: int):
    """Experts of one rank that at least one token visits, and the copies of tokens they get, for one layer."""
    missed = (1 - shape.n_active / shape.n_experts) ** requests
    ranks = layout.expert
    mine = min(slots, shape.n_experts) if ranks == 1 else shape.n_experts / ranks
    return mine * (1 - missed), requests * shape.n_active / ranks


def _collectives(shape: Shape, layout: Layout, place: System, mine, each, way: str, imbalance: float) -> dict:
    """Seconds of communication: all-reduces of sliced layers, dispatch and combine of layers of experts."""
    found, t, expert_layers = {}, layout.tensor, shape.n_expert_layers
    spread = expert_layers and layout.expert > 1
    if t > 1:
        sums = 2 * shape.n_layers - (expert_layers if spread else 0)
        p = predict("all_reduce", mine * shape.hidden * 2, place, t)
        found["all-reduce"] = sums * np.asarray(p.time_s)
    if spread:
        for phase in ("dispatch", "combine"):
            x = exchange(each, place, layout.expert, phase, shape=shape, way=way, imbalance=imbalance)
            found[phase] = expert_layers * np.asarray(x.time_s)
    return found
