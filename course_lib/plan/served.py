"""How a model is laid out on the GPUs that serve it, and what each of them holds: weights, experts, key-value cache.

Attention and dense MLPs are cut over `tensor` ranks. A model with experts puts whole experts on `expert` ranks (with copies where
they do not divide), and attention then has expert / tensor replicas; `expert` 1 cuts the experts over `tensor` too.
"""

from dataclasses import dataclass, replace

import numpy as np

from course_lib.base import hardware
from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.plan.footprint import layer_params
from course_lib.plan.memory import kv_token_B
from course_lib.plan.pools import Fit, gb
from course_lib.plan.transformer import Shape, model
from course_lib.timing.system import System, load

ELEMENTS = {0.5: "fp4", 1.0: "fp8", 2.0: "bf16"}
MOST_EXPERTS = 4096


@dataclass(frozen=True, slots=True)
class Layout:
    """Ranks that share a model, and bytes of what they hold.

    `tensor` ranks cut attention and dense layers, `expert` ranks share the experts and are a multiple of `tensor`. `weight_B` is
    2 (BF16), 1 (FP8) or 0.5 (FP4, of experts; the rest stays at 1); `cache_element_B` bytes of a cached number. `host_share` of
    the experts lies in the host's memory and is read over its link. `reserve_B` stays free.
    """

    tensor: int = 1
    expert: int = 1
    weight_B: float = 1
    cache_element_B: float = 2
    host_share: float = 0.0
    reserve_B: float = 8e9

    @property
    def n_ranks(self) -> int:
        """GPUs of one copy of the model."""
        return max(self.tensor, self.expert)

    @property
    def rest_B(self) -> float:
        """Bytes of a weight that is not an expert's."""
        return max(1.0, self.weight_B)


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes on one GPU: weights that every rank of its kind has, its experts, cache of each token of a request on it."""

    dense_B: float
    experts_B: float
    slots: int
    in_host_B: float
    cache_token_B: float
    capacity_B: float

    @property
    def weights_B(self) -> float:
        """All weights in its HBM."""
        return self.dense_B + self.experts_B - self.in_host_B


def slots(n_experts: int, expert: int) -> tuple[int, int]:
    """Return how many experts each of `expert` ranks holds, and how many of all places hold a second copy.

    >>> slots(256, 64), slots(256, 72)
    ((4, 0), (4, 32))
    """
    n, e = whole("n_experts", n_experts, at_least=1), whole("expert", expert, at_least=1)
    if e > MOST_EXPERTS:
        raise CourseError(_("{e} ranks are too many for {n} experts; use at most {n}.").format(e=e, n=n))
    if e > n:
        raise CourseError(
            _("{n} experts cannot be shared by {e} ranks without a rank that has none; use at most {n}.").format(
                n=n, e=e
            )
        )
    each = -(-n // e)
    return each, each * e - n


def checked(shape: "Shape | str", layout: Layout) -> tuple[Shape, Layout]:
    """Return the shape and the layout after checking that they go together; sentences name the nearest that do.

    >>> checked("deepseek-v3", Layout(tensor=3, expert=8))
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: 128 attention heads do not divide by 3 tensor-parallel ranks. The nearest that do: 2 or 4.
    """
    shape = model(shape)
    t, e = whole("tensor", layout.tensor, at_least=1), whole("expert", layout.expert, at_least=1)
    layer_params(shape, t, 1)
    finite("weight_B", layout.weight_B)
    if float(layout.weight_B) not in ELEMENTS:
        raise CourseError(
            _("weight_B is {given}; 2 (BF16), 1 (FP8) and 0.5 (FP4 experts) are priced.").format(given=layout.weight_B)
        )
    finite("cache_element_B", layout.cache_element_B, above=0)
    finite("reserve_B", layout.reserve_B, at_least=0)
    if not 0 <= finite("host_share", layout.host_share) <= 1:
        raise CourseError(_("host_share is {given}; it is a share, from 0 to 1.").format(given=layout.host_share))
    if not shape.n_experts:
        if e > 1:
            layer_params(shape, 1, e)
        if layout.host_share:
            raise CourseError(_("{name} has no experts to keep in the host's memory.").format(name=shape.name))
        return shape, layout
    slots(shape.n_experts, e)
    if e > 1 and e % t:
        near = sorted({t * (e // t), t * (e // t + 1)} - {0})
        raise CourseError(
            _("{e} expert-parallel ranks are no multiple of {t} tensor-parallel ranks. The nearest: {near}.").format(
                e=e, t=t, near=_(" or ").join(map(str, near))
            )
        )
    return shape, layout


def parts(shape: Shape, layout: Layout) -> tuple[float, float, float, float]:
    """Return parameters on one rank: attention of a layer, dense MLP of a layer, one expert, and the ends of the model.

    >>> attention, dense, expert, ends = parts(model("deepseek-v3"), Layout(expert=64))
    >>> round(expert / 1e6, 1), round(attention / 1e6)
    (44.0, 187)
    """
    t = layout.tensor
    attention, dense, _experts = layer_params(shape, t, 1)
    cut = t if layout.expert == 1 else 1
    mats = 3 if shape.gated else 2
    one = mats * shape.hidden * shape.expert_ffn / cut if shape.n_experts else 0.0
    ends = (2 - shape.tied) * shape.vocab * shape.hidden / t
    return attention, dense, one, ends


def held(shape: "Shape | str", layout: Layout, gpu: str) -> Held:
    """Return what one GPU holds under a layout.

    >>> h = held("deepseek-v3", Layout(expert=64), "gb200")
    >>> h.slots, round(h.weights_B / 1e9, 1)
    (4, 27.3)
    """
    shape, layout = checked(shape, layout)
    attention, dense, one, ends = parts(shape, layout)
    each = slots(shape.n_experts, layout.expert)[0] if shape.n_experts else 0
    layers = shape.n_expert_layers
    always = shape.n_layers * attention + (shape.n_layers - layers) * dense + ends
    always += layers * (shape.hidden * shape.n_experts + shape.n_shared * one)
    experts_B = layers * each * one * layout.weight_B
    return Held(
        dense_B=always * layout.rest_B,
        experts_B=experts_B,
        slots=each,
        in_host_B=experts_B * layout.host_share,
        cache_token_B=float(kv_token_B(shape, layout.tensor, layout.cache_element_B)),
        capacity_B=hardware.gpu(hardware.find(gpu)).hbm_B,
    )


def most_requests(shape: "Shape | str", layout: Layout, gpu: str, context: int) -> int:
    """Return how many requests of `context` tokens fit on all ranks together; 0 where not even the weights fit.

    >>> most_requests("deepseek-v3", Layout(expert=64), "gb200", 4096) > 64 * 256
    True
    """
    shape, layout = checked(shape, layout)
    kept = held(shape, layout, gpu)
    free = kept.capacity_B - layout.reserve_B - kept.weights_B
    replicas = layout.n_ranks // layout.tensor
    return max(0, int(free // (kept.cache_token_B * whole("context", context, at_least=1)))) * replicas


def fits(
    shape: "Shape | str", layout: Layout, gpu: str, requests: int, context: int, *, n_gpus: int | None = None
) -> Fit:
    """Say whether `requests` of `context` tokens fit, and if not by how many bytes and what would fix it.

    `n_gpus` is how many GPUs there are to spread experts over.

    >>> fits("deepseek-v3", Layout(expert=8), "gb200", 64, 4096).fits
    True
    >>> fits("deepseek-v3", Layout(expert=8, weight_B=2), "b200", 64, 4096).sentence.split(":")[0]
    'A GPU would hold 200 GB and may hold 172 GB'
    """
    shape, layout = checked(shape, layout)
    requests, context = whole("requests", requests, at_least=0), whole("context", context, at_least=0)
    kept = held(shape, layout, gpu)
    need = _needs(kept, layout, requests, context)
    room = kept.capacity_B - layout.reserve_B
    if room <= 0:
        raise CourseError(
            _("{reserve} are to stay free, and the GPU has {all}.").format(
                reserve=gb(layout.reserve_B), all=gb(kept.capacity_B)
            )
        )
    if need <= room:
        text = _("A GPU holds {need} and may hold {room}: {left} are left.")
        return Fit(True, need, room, (), text.format(need=gb(need), room=gb(room), left=gb(room - need)))
    fixes = []
    for name, other in _changes(shape, layout, n_gpus):
        try:
            other_need = _needs(held(shape, other, gpu), other, requests, context)
        except CourseError:
            continue
        if other_need <= room:
            fixes.append(_("{name} ({need})").format(name=name, need=gb(other_need)))
    if context and (fewer := most_requests(shape, layout, gpu, context)):
        fixes.append(_("{n} requests at a time").format(n=f"{fewer:,}"))
    text = _("A GPU would hold {need} and may hold {room}: {missing} too many.").format(
        need=gb(need), room=gb(room), missing=gb(need - room)
    )
    if fixes:
        text += _(" What would fix it: {fixes}.").format(fixes=_("; ").join(fixes[:5]))
    else:
        text += _(" No single change of ranks or formats mends that: take a GPU with more memory, or more GPUs.")
    return Fit(False, need, room, tuple(fixes), text)


def _needs(kept: Held, layout: Layout, requests: int, context: int) -> float:
    """Bytes on the fullest GPU: requests are shared out over the replicas of attention, rounded up."""
    replicas = layout.n_ranks // layout.tensor
    return kept.weights_B + -(-requests // replicas) * context * kept.cache_token_B


def _changes(shape: Shape, layout: Layout, n_gpus: int | None) -> list[tuple[str, Layout]]:
    """Layouts that need less memory, cheapest first."""
    found = []
    if layout.cache_element_B > 1:
        found.append((_("a cache in FP8"), replace(layout, cache_element_B=1)))
    if layout.weight_B > 1:
        found.append((_("weights in FP8"), replace(layout, weight_B=1)))
    most = 1024 if n_gpus is None else whole("n_gpus", n_gpus, at_least=1)
    if shape.n_experts:
        for e in (8, 16, 32, 64, 72, 128, 256):
            if layout.expert < e <= min(shape.n_experts, most) and not e % layout.tensor:
                found.append((_("{n} expert-parallel ranks").format(n=e), replace(layout, expert=e)))
    for t in (2, 4, 8, 16):
        if layout.tensor < t <= most and (layout.expert == 1 or not layout.expert % t):
            found.append((_("{n} tensor-parallel ranks").format(n=t), replace(layout, tensor=t)))
    if shape.n_experts and layout.weight_B > 0.5:
        found.append((_("experts in FP4"), replace(layout, weight_B=0.5)))
    if shape.n_experts and not layout.host_share:
        found.append((_("half of the experts in the host's memory"), replace(layout, host_share=0.5)))
    return found


def placed_on(system: "str | System", layout: Layout, gpu: str | None) -> tuple[System, str]:
    """Return the loaded system and the name of its processor, or of the one asked for.

    >>> placed_on("gb200-nvl72", Layout(), None)[1]
    'gb200'
    """
    place = load(system)
    if layout.n_ranks > place.n_max:
        raise CourseError(
            _("The layout has {n} ranks and {name} {most} GPUs.").format(
                n=layout.n_ranks, name=place.name, most=place.n_max
            )
        )
    try:
        return place, hardware.find(gpu if gpu is not None else place.gpu, "gpu")
    except CourseError as error:
        if gpu is not None:
            raise
        text = _("{name} names no processor that is known here ({gpu}): say which with gpu=. {why}")
        raise CourseError(text.format(name=place.name, gpu=place.gpu, why=error)) from None


def peak_flops(gpu: str, element_B: float) -> float:
    """Return a GPU's dense peak (FLOP/s) for weights of this many bytes, or of the next wider format that it has.

    >>> peak_flops("gb200", 1) / 1e15, peak_flops("h100", 0.5) == peak_flops("h100", 1)
    (5.0, True)
    """
    chip = hardware.gpu(gpu)
    kind = ELEMENTS[float(element_B)] if float(element_B) in ELEMENTS else one_of(_("format"), element_B, ())
    found = {"fp4": chip.fp4_flops or chip.fp8_flops, "fp8": chip.fp8_flops, "bf16": chip.bf16_flops}[kind]
    return found or chip.bf16_flops


def host_Bps(gpu: str) -> float:
    """Return the rate at which a GPU copies from its host's memory, one direction (bytes/s), measured where it was.

    >>> round(host_Bps("gb200") / 1e9), round(host_Bps("b200") / 1e9)
    (372, 58)
    """
    from course_lib.links.linerate import payload_Bps

    name = hardware.gpu(gpu).host_link
    if name is None:
        raise CourseError(_("No link of {gpu} to its host is known here.").format(gpu=gpu))
    try:
        return hardware.value(name, "copy_Bps")
    except CourseError:
        return float(np.asarray(payload_Bps(name)))
