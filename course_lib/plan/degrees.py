"""What each tensor-parallel degree costs on a system: bytes sent, time, and the memory of one GPU.

Validity: dense models; communication hides behind nothing; slices compute as efficiently as the whole, so a large degree
looks better here than it is. Below a few hundred tokens computing takes as long as reading the weights from HBM.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from course_lib.base import hardware
from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.comm.meaning import bus_factor
from course_lib.plan.footprint import Plan, footprint, serving
from course_lib.plan.memory import kv_heads_each
from course_lib.plan.pools import Pool, pool
from course_lib.plan.shares import divisors
from course_lib.plan.traffic import STYLES, layer_collectives, prices, tensor_time
from course_lib.plan.transformer import Shape, model
from course_lib.timing.system import System, load

# Of a GPU's dense BF16 peak; the runs of plan.tensorscaling achieve 0.39 and 0.40 on H100.
UTILISATION = 0.4
PASSES = {True: 3, False: 1}  # how often a pass reads the weights: forward; for inputs' and for weights' gradients


@dataclass(frozen=True, slots=True)
class Job:
    """One pass: `sequences` of `new_tokens` each; `training` adds the backward pass, else `context` tokens stay cached."""

    name: str
    sequences: int
    new_tokens: int
    training: bool = False
    context: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of the pass."""
        return self.sequences * self.new_tokens


JOBS = {
    "train": Job("train", 1, 8192, training=True),
    "prompt": Job("prompt", 1, 8192, context=8192),
    "write-64": Job("write-64", 64, 1, context=8192),
    "write-1": Job("write-1", 1, 1, context=8192),
}


@dataclass(frozen=True, slots=True)
class Degrees:
    """The cost of each degree, arrays (n,): seconds of a pass, bytes that one GPU sends in it, bytes that it holds.

    `message_B` is the size of each of the `n_collectives` sums of a pass (as nccl-tests counts it). `n_hosts` counts
    domains that GPUs reach without the network. `parts_B` names what memory holds; `capacity_B` is one GPU's.
    """

    model: str
    system: str
    job: Job
    style: str
    tensor: np.ndarray
    n_hosts: np.ndarray
    compute_s: np.ndarray
    communicate_s: np.ndarray
    message_B: float
    n_collectives: np.ndarray
    sent_B: np.ndarray
    parts_B: dict[str, np.ndarray]
    capacity_B: float

    @property
    def time_s(self) -> np.ndarray:
        """Seconds of the pass."""
        return self.compute_s + self.communicate_s

    @property
    def memory_B(self) -> np.ndarray:
        """Bytes that the fullest GPU holds."""
        return sum(self.parts_B.values())

    @property
    def fits(self) -> np.ndarray:
        """Whether they fit in it."""
        return self.memory_B <= self.capacity_B


def possible(shape: "Shape | str", at_most: int = 64) -> list[int]:
    """Return the degrees up to `at_most` that divide a model's heads and share or copy its key-value heads.

    >>> possible("llama3-70b"), possible("llama3-8b", 16)
    ([1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16])
    """
    shape = model(shape)
    found = []
    for t in divisors(shape.n_heads):
        try:
            kv_heads_each(shape.n_kv_heads, t)
        except CourseError:
            continue
        if t <= whole("at_most", at_most, at_least=1):
            found.append(t)
    return found


def degrees(
    shape: "Shape | str",
    system: "str | System",
    job: "str | Job" = "train",
    *,
    tensor: Sequence[int] | None = None,
    style: str = "tensor",
    gpu: str | None = None,
    utilisation: float = UTILISATION,
) -> Degrees:
    """Return what each degree costs. `job` is a name in JOBS or a Job; `gpu` the processor, the system's own where None.

    `tensor` None means all degrees that are possible on the system. Training keeps mixed-precision Adam (16 bytes a
    parameter) and the activations of a fused attention kernel; serving keeps BF16 weights and the key-value cache.
    Raises CourseError for experts, for degrees that divide no heads and for systems that are too small.

    >>> d = degrees("llama3-70b", "dgx-h100", "prompt", tensor=[1, 2, 8])
    >>> d.fits.tolist(), d.n_collectives.tolist()
    ([False, True, True], [0, 160, 160])
    >>> bool(d.time_s[0] / d.time_s[2] < 8)
    True
    """
    shape, place = model(shape), load(system)
    job = job if isinstance(job, Job) else JOBS[one_of(_("job"), job, JOBS)]
    style = one_of(_("style of slicing"), style, STYLES)
    if shape.n_experts:
        raise CourseError(_("{name} has experts; tensor slicing is priced for dense models.").format(name=shape.name))
    chip = hardware.gpu(hardware.find(gpu if gpu is not None else place.gpu))
    rate = chip.bf16_flops * finite("utilisation", utilisation, above=0)
    tensor = possible(shape, place.n_max) if tensor is None else [whole("tensor", t, at_least=1) for t in tensor]
    costs = [_one(shape, place, job, t, style, rate, chip.hbm_Bps) for t in tensor]
    compute, communicate, message_B, counts, sent_B = zip(*costs, strict=True)
    held = [_held(shape, job, t, style) for t in tensor]
    return Degrees(
        model=shape.name,
        system=place.name,
        job=job,
        style=style,
        tensor=np.array(tensor),
        n_hosts=np.array([-(-t // place.gpus_per_domain) for t in tensor]),
        compute_s=np.array(compute),
        communicate_s=np.array(communicate),
        message_B=message_B[0],
        n_collectives=np.array(counts),
        sent_B=np.array(sent_B),
        parts_B={name: np.array([h[name] for h in held]) for name in held[0]},
        capacity_B=chip.hbm_B,
    )


def _one(shape: Shape, place: System, job: Job, t: int, style: str, rate: float, hbm_Bps: float) -> tuple:
    """Seconds of computing and communicating, message, count and bytes sent for one degree."""
    found = layer_collectives(shape, job.sequences, job.new_tokens, tensor=t, style=style)
    phases = (found.forward, found.backward) if job.training else (found.forward,)
    each = {name: sum(phase.get(name, 0) for phase in phases) * shape.n_layers for phase in phases for name in phase}
    sent_B = sum(n * bus_factor(name, t) * found.message_B for name, n in each.items())
    step = tensor_time(
        shape,
        job.sequences,
        t,
        flops_per_s=rate,
        time_of=prices(place, t, style),
        seq=job.new_tokens,
        style=style,
        training=job.training,
    )
    read_s = PASSES[job.training] * _weights_B(shape, t) / hbm_Bps
    return max(step.compute_s, read_s), step.communicate_s, float(found.message_B), sum(each.values()), float(sent_B)


@functools.lru_cache(maxsize=256)
def _weights_B(shape: Shape, t: int) -> float:
    return serving(shape, 0, 0, tensor=t).weights_B


@functools.lru_cache(maxsize=256)
def _held(shape: Shape, job: Job, t: int, style: str) -> dict[str, float]:
    """Bytes that one GPU holds, by kind."""
    if not job.training:
        kept = serving(shape, job.sequences, job.context, tensor=t)
        return {"weights": kept.weights_B, "cache": float(kept.cache_B)}
    plan = Plan(
        tensor=t, batch=job.sequences, seq=job.new_tokens, recompute="selective", sequence=style == "sequence" and t > 1
    )
    kept = footprint(shape, plan)
    return {
        "weights": float(kept.weights_B[0]),
        "gradients": float(kept.grads_B[0]),
        "optimizer": float(kept.optimizer_B[0]),
        "activations": float((kept.activations_B + kept.ends_B + kept.working_B)[0]),
    }


def read_in_place_s(needed_B: float, where: "str | Pool", hbm_Bps: float) -> tuple[float, float]:
    """Return the seconds in which one GPU reads its own share of data spread over a pool, and the others' over its link.

    The own share comes from HBM at `hbm_Bps`, the rest at the pool's rate (one direction); they can overlap, so the larger
    counts. This is what a pool costs when nothing is sliced. Nobody else uses the link meanwhile.

    >>> own_s, others_s = read_in_place_s(141e9, "dgx-h100", 3.35e12)
    >>> round(own_s * 1e3, 1), round(others_s * 1e3)
    (5.3, 274)
    """
    where = pool(where)
    needed_B = finite("needed_B", needed_B, at_least=0, unit="bytes")
    own_B = needed_B / where.n_gpus
    return own_B / finite("hbm_Bps", hbm_Bps, above=0), (needed_B - own_B) / where.bandwidth_Bps
