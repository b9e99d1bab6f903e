"""One layer of experts at every expert-parallel degree: computing, waiting, and the largest degree that keeps a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from course_lib.base import hardware
from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.base.scale import say_time
from course_lib.plan.experts import exchange
from course_lib.plan.served import ELEMENTS, peak_flops, slots
from course_lib.plan.serving import COMPUTE_SHARE, MEMORY_SHARE
from course_lib.plan.transformer import Shape, model
from course_lib.timing.system import System, load

JOBS = ("decode", "train")
PASSES = 3  # forward, gradients of inputs, gradients of weights
STATE_B = 16  # bytes of a trained parameter with its gradient and Adam's state


@dataclass(frozen=True, slots=True)
class Layers:
    """A layer at each degree, arrays (n,): seconds of computing, dispatch and combine; bytes of experts on each GPU, all layers.

    `domains` is over how many scale-up domains the ranks lie. Training counts forward and backward.
    """

    model: str
    system: str
    job: str
    tokens: int
    degree: np.ndarray
    domains: np.ndarray
    compute_s: np.ndarray
    dispatch_s: np.ndarray
    combine_s: np.ndarray
    experts_B: np.ndarray
    capacity_B: float

    @property
    def exchange_s(self) -> np.ndarray:
        """Dispatch and combine."""
        return self.dispatch_s + self.combine_s

    @property
    def time_s(self) -> np.ndarray:
        """The layer, nothing hidden."""
        return self.compute_s + self.exchange_s

    @property
    def fits(self) -> np.ndarray:
        """Whether a GPU has room for the experts alone."""
        return self.experts_B <= self.capacity_B


def layers(
    shape: "Shape | str",
    system: "str | System",
    degree: Sequence[int],
    tokens: int,
    *,
    job: str = "decode",
    way: str | None = None,
    gpu: str | None = None,
    weight_B: float | None = None,
    imbalance: float = 1.0,
) -> Layers:
    """Return one layer of experts at each expert-parallel degree, with `tokens` on every GPU.

    `job` "decode" reads the visited experts' weights from HBM (FP8) and exchanges with low-latency kernels; "train" multiplies
    forward and backward in BF16 and exchanges four times with throughput kernels. `way` chooses other kernels. Shared experts
    and attention are not part of it. Raises CourseError for models without experts and degrees that leave a rank without one.

    >>> rack = layers("deepseek-v3", "gb200-nvl72", [8, 64], 128)
    >>> boxes = layers("deepseek-v3", "dgx-b200", [8, 64], 128, gpu="gb200")
    >>> bool(rack.time_s[1] < rack.time_s[0] < boxes.time_s[1]), boxes.domains.tolist()
    (True, [1, 8])
    """
    shape, place = model(shape), load(system)
    job = one_of(_("job"), job, JOBS)
    tokens = whole("tokens", tokens, at_least=1)
    if not shape.n_experts:
        raise CourseError(_("{name} has no experts.").format(name=shape.name or _("This model")))
    training = job == "train"
    way = way or ("throughput" if training else "low-latency")
    weight_B = float(finite("weight_B", (2 if training else 1) if weight_B is None else weight_B, above=0))
    if weight_B not in ELEMENTS:
        raise CourseError(_("weight_B is {given}; 2, 1 and 0.5 are priced.").format(given=weight_B))
    imbalance = finite("imbalance", imbalance, at_least=1)
    chip_name = hardware.find(gpu if gpu is not None else place.gpu, "gpu")
    chip = hardware.gpu(chip_name)
    degree = [whole("degree", e, at_least=1) for e in degree]
    one = (3 if shape.gated else 2) * shape.hidden * shape.expert_ffn
    each = np.array([slots(shape.n_experts, e)[0] for e in degree], float)
    n = np.array(degree, float)
    hit = shape.n_experts / n * (1 - (1 - shape.n_active / shape.n_experts) ** (tokens * n))
    copies = tokens * shape.n_active * imbalance
    flops_s = 2 * one * copies / (peak_flops(chip_name, weight_B) * COMPUTE_SHARE)
    read_s = one * weight_B * hit / (chip.hbm_Bps * MEMORY_SHARE)
    compute_s = np.maximum(flops_s, read_s) * (PASSES if training else 1)
    element = {"dispatch": 2.0 if training else None, "combine": None}
    times = {
        phase: np.array(
            [
                float(
                    exchange(
                        tokens, place, e, phase, shape=shape, way=way, element_B=element[phase], imbalance=imbalance
                    ).time_s
                )
                for e in degree
            ]
        )
        for phase in element
    }
    if training:  # the backward pass of a dispatch is a combine, and the other way round
        times = dict.fromkeys(times, times["dispatch"] + times["combine"])
    return Layers(
        model=shape.name,
        system=place.name,
        job=job,
        tokens=tokens,
        degree=np.array(degree),
        domains=np.array([max(1, -(-e // place.gpus_per_domain)) for e in degree]),
        compute_s=compute_s,
        dispatch_s=times["dispatch"],
        combine_s=times["combine"],
        experts_B=shape.n_expert_layers * each * one * (STATE_B if training else weight_B),
        capacity_B=chip.hbm_B,
    )


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest degree in time (0: none), its time, and the sentence that says so."""

    degree: int
    time_s: float
    sentence: str


def largest_degree(found: Layers, target_s: float) -> Largest:
    """Return the largest degree whose layer keeps within `target_s`; small degrees may miss it too, for they read more weights.

    >>> found = layers("deepseek-v3", "dgx-b200", [8, 16, 32, 64], 128, gpu="gb200")
    >>> largest_degree(found, 300e-6).degree, largest_degree(found, 1e-6).degree
    (8, 0)
    """
    target_s = finite("target_s", target_s, above=0, unit="s")
    fine = np.flatnonzero(found.time_s <= target_s)
    if not fine.size:
        i = int(np.argmin(found.time_s))
        text = _("No degree keeps within {target}; the quickest, {n}, takes {time}, {more} too long.")
        return Largest(
            0,
            float(found.time_s[i]),
            text.format(
                target=say_time(target_s),
                n=int(found.degree[i]),
                time=say_time(float(found.time_s[i])),
                more=say_time(float(found.time_s[i]) - target_s),
            ),
        )
    i = int(fine[np.argmax(found.degree[fine])])
    text = _("{n} GPUs can share the experts within {target}: {time}.")
    return Largest(
        int(found.degree[i]),
        float(found.time_s[i]),
        text.format(n=int(found.degree[i]), target=say_time(target_s), time=say_time(float(found.time_s[i]))),
    )
