"""Lesson 06: a small block to slice, four ways to spend two GPUs, and the explorer of tensor-parallel degrees on a box."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course_lib.base import hardware
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate, say_time
from course_lib.explorers.controls import Choice, CountSlider
from course_lib.explorers.explorer import Explorer
from course_lib.figures.degrees import time_and_memory
from course_lib.plan.degrees import JOBS, UTILISATION, Degrees, degrees, read_in_place_s
from course_lib.plan.footprint import serving
from course_lib.plan.pools import gb
from course_lib.plan.traffic import StepTime, prices, tensor_time
from course_lib.plan.transformer import Shape

MODEL = "llama3-70b"
DEGREES = (1, 2, 4, 8, 16, 32, 64)
# system, processor (None: the system's own), colour of its scale-up links
BOXES = {
    "h100": ("dgx-h100", None, "nvlink"),
    "h100-pcie": ("pcie5-box", "h100", "pcie"),
    "b200": ("dgx-b200", None, "nvlink"),
    "nvl72": ("gb200-nvl72", None, "nvlink"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What the explorer shows: the costs of all degrees on a box, and which one is chosen."""

    box: str
    found: Degrees
    chosen: int

    @property
    def here(self) -> int:
        """The place of the chosen degree in the arrays."""
        return int(np.flatnonzero(self.found.tensor == self.chosen)[0])

    @property
    def faster(self) -> float:
        """How many times as fast as one GPU."""
        return float(self.found.time_s[0] / self.found.time_s[self.here])

    @property
    def share(self) -> float:
        """The part of the time that is communication."""
        return float(self.found.communicate_s[self.here] / self.found.time_s[self.here])


@lru_cache(maxsize=32)
def _found(box: str, job: str) -> Degrees:
    system, gpu, _role = BOXES[box]
    return degrees(MODEL, system, job, tensor=DEGREES, gpu=gpu)


def read_degree(tensor: int, box: str, job: str) -> Reading:
    """Return the costs of every degree of Llama 3 70B for a job in a box, the degree `tensor` chosen.

    >>> reading = read_degree(8, "h100", "prompt")
    >>> 6 < reading.faster < 7, bool(reading.found.fits[reading.here])
    (True, True)
    """
    return Reading(box, _found(box, job), tensor)


def _role(box: str, hosts: int) -> str:
    return BOXES[box][2] if hosts == 1 else "network"


def _gpu_title(box: str) -> str:
    return {"b200": "B200", "nvl72": "GB200"}.get(box, "H100")


def _jobs() -> dict[str, str]:
    return {
        "train": _("train on {n:,} tokens").format(n=JOBS["train"].tokens),
        "prompt": _("read a prompt of {n:,} tokens").format(n=JOBS["prompt"].tokens),
        "write-64": _("write a token for {n} requests").format(n=JOBS["write-64"].sequences),
        "write-1": _("write a token for one request"),
    }


def _title(reading: Reading) -> str:
    if reading.chosen == 1:
        return _("One GPU takes {time} for a pass, and communicates with nobody: 0 bytes").format(
            time=say_time(float(reading.found.time_s[0]))
        )
    return _("{n} GPUs: {faster} × as fast as one; {share} % of the time they communicate").format(
        n=reading.chosen, faster=say_number(reading.faster, 2), share=say_number(100 * reading.share, 2)
    )


def _draw(reading: Reading):
    found = reading.found
    return time_and_memory(
        found.tensor.tolist(),
        found.compute_s,
        found.communicate_s,
        found.memory_B,
        found.capacity_B,
        chosen=reading.chosen,
        roles=[_role(reading.box, int(h)) for h in found.n_hosts],
        title=_title(reading),
        gpu=_gpu_title(reading.box),
        what=_("Llama 3 70B, {job}.").format(job=_jobs()[found.job.name]),
    )


def _equation(reading: Reading) -> tuple[str, str]:
    found, i = reading.found, reading.here
    return (
        _("time = computing ÷ n + all-reduces × time of one"),
        _("time = {a} + {k} × {b} = {c}").format(
            a=say_time(float(found.compute_s[i])),
            k=int(found.n_collectives[i]),
            b=say_time(float(found.communicate_s[i] / max(found.n_collectives[i], 1))),
            c=say_time(float(found.time_s[i])),
        ),
    )


def _sentence(reading: Reading) -> str:
    found, i = reading.found, reading.here
    need, have = float(found.memory_B[i]), found.capacity_B
    if need <= have:
        memory = _("{need} of {have} are filled in each GPU.").format(need=gb(need), have=gb(have))
    else:
        memory = _("It does not fit: {need} for a GPU of {have}, {missing} too many.").format(
            need=gb(need), have=gb(have), missing=gb(need - have)
        )
    best = int(np.argmin(found.time_s))
    if reading.chosen > found.tensor[best]:
        speed = _("More GPUs than {n} make it slower here: what computing saves, waiting for sums costs.").format(
            n=int(found.tensor[best])
        )
    elif i and found.n_hosts[i] > 1:
        speed = _("The slices lie in {n} hosts, and every sum waits for the network.").format(n=int(found.n_hosts[i]))
    elif i and reading.share > 0.5:
        speed = _("More than half of the time is communication.")
    elif i:
        speed = _("All slices are in reach of each other without the network.")
    else:
        return memory
    sent = _("Each all-reduce sums {size}, and a GPU sends {sent} in all.").format(
        size=say_bytes(found.message_B), sent=say_bytes(float(found.sent_B[i]))
    )
    return f"{memory} {sent} {speed}"


def tensor_degree() -> Explorer:
    """Return the explorer: how many GPUs share every layer of Llama 3 70B, in which box, for which job.

    >>> tensor_degree().figure.layout.title.text[:6]
    '8 GPUs'
    """
    return Explorer(
        read_degree,
        _draw,
        question=_("How many GPUs should share every layer of Llama 3 70B?"),
        equation=_equation,
        sentence=_sentence,
        tensor=CountSlider(
            _("GPUs that share every layer"), 1, 64, 8, counts=DEGREES, help=_("the tensor-parallel degree")
        ),
        box=Choice(
            _("box"),
            (
                (_("8 × H100, NVLink"), "h100"),
                (_("8 × H100, PCIe 5 alone"), "h100-pcie"),
                (_("8 × B200, NVLink"), "b200"),
                (_("72 × GB200, NVLink"), "nvl72"),
            ),
            "h100",
        ),
        job=Choice(_("job"), tuple((text, name) for name, text in _jobs().items()), "prompt"),
    )


@dataclass(frozen=True, slots=True)
class TwoGpus:
    """One GPU against two over several links: what the links are called, their colours, and the times."""

    names: tuple[str, ...]
    roles: tuple[str, ...]
    alone: StepTime
    two: tuple[StepTime, ...]

    @property
    def gains(self) -> tuple[float, ...]:
        """How many times as fast as one GPU, over each link."""
        return tuple(self.alone.total_s / t.total_s for t in self.two)

    @property
    def columns(self) -> tuple:
        """Names, computing, communication, colours and one GPU's time, as the figure takes them."""
        return self.names, [t.compute_s for t in self.two], [t.communicate_s for t in self.two], self.roles, self.alone.total_s  # fmt: skip


def two_over_links(shape: "Shape | str", tokens: int, *, training: bool = False) -> TwoGpus:
    """Return a pass of `tokens` on one H100, and on two over NVLink, over PCIe 5, and over the network cards of two hosts.

    >>> two = two_over_links("llama3-8b", 8192)
    >>> two.names, bool(two.two[0].total_s < two.alone.total_s)
    (('NVLink 4', 'PCIe 5', 'a 400 Gb/s card'), True)
    """
    links = (
        (_("NVLink 4"), "nvlink", "dgx-h100", 1),
        (_("PCIe 5"), "pcie", "pcie5-box", 1),
        (_("a 400 Gb/s card"), "network", "dgx-h100", 2),
    )
    work = {"flops_per_s": UTILISATION * hardware.gpu("h100").bf16_flops, "seq": tokens, "training": training}
    return TwoGpus(
        names=tuple(name for name, _role, _system, _hosts in links),
        roles=tuple(role for _name, role, _system, _hosts in links),
        alone=tensor_time(shape, 1, 1, **work),
        two=tuple(
            tensor_time(shape, 1, 2, time_of=prices(system, 2, n_hosts=hosts), **work)
            for _name, _role, system, hosts in links
        ),
    )


def remote_or_sliced(degree: int = 8) -> tuple[str, str]:
    """Return two lines about one token of Llama 3 70B: weights read where they lie in a box, and each GPU reading its slice.

    >>> pooled, sliced = remote_or_sliced()
    >>> pooled.startswith("one GPU reads"), sliced.startswith("8 GPUs read")
    (True, True)
    """
    weights_B, h100 = serving(MODEL, 0, 0).weights_B, hardware.gpu("h100")
    _own_s, others_s = read_in_place_s(weights_B, "dgx-h100", h100.hbm_Bps)
    found = read_degree(degree, "h100", "write-1")
    i, box_Bps = found.here, hardware.link("nvlink4").line_Bps
    pooled = _("one GPU reads {all} where they lie, most of them at {rate}: {time}").format(
        all=gb(weights_B), rate=say_rate(box_Bps), time=say_time(others_s)
    )
    sliced = _(
        "{n} GPUs read {each} each from their own HBM at {rate}: {read}, and wait {wait} for {k} sums of {size}"
    ).format(
        n=degree,
        each=gb(weights_B / degree),
        rate=say_rate(h100.hbm_Bps),
        read=say_time(float(found.found.compute_s[i])),
        wait=say_time(float(found.found.communicate_s[i])),
        k=int(found.found.n_collectives[i]),
        size=say_bytes(found.found.message_B),
    )
    return pooled, sliced
