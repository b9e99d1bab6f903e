"""Ranks as an array: tensor × context × data × pipeline in a chosen order, and which wires each kind of group crosses.

Experts fold over the tensor × context × data ranks of a stage: the same ranks, counted expert-tensor × expert × replicas
of experts.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, one_of, whole
from course_lib.base.language import _
from course_lib.plan.reach import check_room, offsets, reach, shared, used_per_domain
from course_lib.plan.shares import nearest
from course_lib.timing.system import System, load

ORDER = "tp-cp-ep-dp-pp"
AXES = {"tp": "tensor", "cp": "context", "ep": "expert", "dp": "data", "pp": "pipeline"}
#: Kinds of group by name: the axes that differ inside one. "gradient" sums gradients of everything but experts.
GROUPS = {
    "tensor": ("tensor",),
    "context": ("context",),
    "pipeline": ("pipeline",),
    "data": ("data",),
    "gradient": ("context", "data"),
    "expert_tensor": ("expert_tensor",),
    "expert": ("expert",),
    "expert_data": ("expert_data",),
}


def order_of(order: str) -> tuple[str, ...]:
    """Return an order, fastest axis first, as a tuple; axes that are left out come last, before the pipeline.

    >>> order_of("tp-cp-ep-dp-pp"), order_of("tp-pp")
    (('tp', 'cp', 'ep', 'dp', 'pp'), ('tp', 'cp', 'ep', 'dp', 'pp'))
    >>> order_of("tp-dq")
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: There is no axis 'dq'. The nearest: dp.
    """
    if not isinstance(order, str):
        raise CourseError(
            _("order is {order!r}; text such as {example} is expected.").format(order=order, example=ORDER)
        )
    return _order_of(order)


@functools.lru_cache(maxsize=256)
def _order_of(order: str) -> tuple[str, ...]:
    words = order.strip().lower().replace(",", "-").replace("_", "-").split("-")
    words = [one_of(_("axis"), word, AXES) for word in words]
    twice = [word for word in words if words.count(word) > 1]
    if twice:
        raise CourseError(_("The order {order} names {axis} twice.").format(order=order, axis=twice[0]))
    missing = [word for word in ORDER.split("-") if word not in words]
    tail = [words.pop()] if words[-1] == "pp" and missing else []
    return tuple(words + missing + tail)


@dataclass(frozen=True, slots=True)
class Layout:
    """How many ranks of each kind, and in which order they are counted (fastest axis first, Megatron-LM's by default).

    `data` replicas hold everything but experts; `expert` ranks share out the experts of a layer, each cut by
    `expert_tensor`; `expert_data` replicas of them fill the rest of tensor × context × data.

    >>> Layout(tensor=8, pipeline=8, data=16).n_ranks
    1024
    >>> Layout(tensor=2, data=32, expert=64).expert_data
    1
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: int = 1
    context: int = 1
    expert_tensor: int = 1
    order: str = ORDER

    def __post_init__(self):
        """Refuse counts that are not whole, and experts that do not fold into the ranks of a stage."""
        for name in ("tensor", "pipeline", "data", "expert", "context", "expert_tensor"):
            object.__setattr__(self, name, whole(name, getattr(self, name), at_least=1))
        order_of(self.order)
        ranks, asked = self.tensor * self.context * self.data, self.expert * self.expert_tensor
        if ranks % self.expert_tensor:
            choices = _(" or ").join(str(n) for n in sorted(nearest(ranks, self.expert_tensor)))
            raise CourseError(
                _(
                    "{k} ranks that cut an expert do not divide the {n} ranks of a stage. The nearest that do: {choices}."
                ).format(k=self.expert_tensor, n=ranks, choices=choices)
            )
        if ranks % asked:
            choices = _(" or ").join(str(n) for n in sorted(nearest(max(ranks // self.expert_tensor, 1), self.expert)))
            raise CourseError(
                _(
                    "{ep} expert-parallel ranks of {et} each do not divide the {n} ranks of a stage "
                    "(tensor × context × data). The nearest that do: {choices}."
                ).format(ep=self.expert, et=self.expert_tensor, n=ranks, choices=choices)
            )

    @property
    def n_ranks(self) -> int:
        """GPUs of the layout."""
        return self.tensor * self.pipeline * self.data * self.context

    @property
    def expert_data(self) -> int:
        """Replicas of every expert."""
        return self.tensor * self.context * self.data // (self.expert * self.expert_tensor)

    def axes(self, experts: bool = False) -> tuple[tuple[str, int, int], ...]:
        """Return (axis, size, stride) of every axis, fastest first; with `experts` as experts count the same ranks.

        >>> Layout(tensor=4, pipeline=2, data=8).axes()
        (('tensor', 4, 1), ('context', 1, 4), ('data', 8, 4), ('pipeline', 2, 32))
        """
        found, stride = [], 1
        for word in order_of(self.order):
            if experts:
                name = {"tp": "expert_tensor", "ep": "expert", "dp": "expert_data", "pp": "pipeline"}.get(word)
            else:
                name = None if word == "ep" else AXES[word]
            if name is not None:
                found.append((name, getattr(self, name), stride))
                stride *= getattr(self, name)
        return tuple(found)

    def strides(self, group: str) -> tuple[tuple[int, int], ...]:
        """Return (size, stride) of the axes that differ inside a kind of group.

        >>> Layout(tensor=8, data=4).strides("data")
        ((4, 8),)
        """
        names = GROUPS[group if group in GROUPS else one_of(_("kind of group"), group, GROUPS)]
        axes = self.axes(group.startswith("expert"))
        return tuple((size, stride) for name, size, stride in axes if name in names)

    def groups(self, group: str) -> NDArray[np.int64]:
        """Return (groups, size) ranks: every group of a kind, its ranks in order.

        >>> Layout(tensor=2, pipeline=2, data=2).groups("pipeline").tolist()
        [[0, 4], [1, 5], [2, 6], [3, 7]]
        """
        inside = offsets(self.strides(group))
        names = GROUPS[group]
        others = tuple((s, d) for name, s, d in self.axes(group.startswith("expert")) if name not in names)
        return np.sort(offsets(others))[:, None] + inside

    def coordinates(self, axis: str) -> NDArray[np.int64]:
        """Return (n_ranks,) where each rank stands on an axis.

        >>> Layout(tensor=2, pipeline=2, data=2).coordinates("data").tolist()
        [0, 0, 1, 1, 0, 0, 1, 1]
        """
        one_of(_("axis"), axis, [name for name in GROUPS if name != "gradient"])
        ((size, stride),) = self.strides(axis)
        return np.arange(self.n_ranks) // stride % size


@dataclass(frozen=True, slots=True)
class Span:
    """What the traffic of one kind of group crosses; `bandwidth_Bps` is one GPU's share of it, one direction.

    `crosses` is "host" (stays inside one), "domain" (between hosts of one NVLink domain) or "network".
    """

    axis: str
    n_ranks: int
    n_groups: int
    n_hosts: int
    ranks_per_host: int
    n_domains: int
    ranks_per_domain: int
    crosses: str
    link: str
    bandwidth_Bps: float


def spans(layout: Layout, system: "System | str") -> tuple[Span, ...]:
    """Return, for every kind of group with more than one rank, what its traffic crosses on a system.

    Raises CourseError where the ranks do not fit the system.

    >>> [(s.axis, s.n_ranks, s.crosses) for s in spans(Layout(tensor=8, pipeline=8, data=16), "dgx-a100")]
    [('tensor', 8, 'host'), ('pipeline', 8, 'network'), ('data', 16, 'network')]
    """
    place, n = load(system), layout.n_ranks
    check_room(n, place)
    per_domain = used_per_domain(place, n)
    found = []
    for axis in GROUPS:
        if axis.startswith("expert") and layout.expert * layout.expert_tensor == 1:
            continue  # no experts are spread: their replicas are those of the rest
        if axis == "gradient" and layout.context == 1:
            continue  # the same ranks as "data"
        strides = layout.strides(axis)
        at = reach(strides, place.gpus_per_host, per_domain, n)
        if at.n_ranks == 1:
            continue
        up, out = place.scale_up, shared(place, False).scale_out
        crosses = "host" if at.n_hosts == 1 else "domain" if at.n_domains == 1 else "network"
        rate_Bps = up.bandwidth_Bps if crosses != "network" else out.bandwidth_Bps / out.oversubscription
        words = {
            "host": _("{kind} inside a host").format(kind=up.kind),
            "domain": _("{kind} of a domain of {n} GPUs").format(kind=up.kind, n=place.gpus_per_domain),
            "network": _("network between {d} {places}, {k} of the group in each").format(
                d=at.n_domains,
                places=_("hosts") if place.hosts_per_domain == 1 else _("domains"),
                k=at.ranks_per_domain,
            ),
        }
        found.append(
            Span(
                axis,
                at.n_ranks,
                n // at.n_ranks,
                at.n_hosts,
                at.ranks_per_host,
                at.n_domains,
                at.ranks_per_domain,
                crosses,
                words[crosses],
                rate_Bps,
            )
        )
    return tuple(found)


def data_of(gpus: int, tensor: int, pipeline: int, context: int = 1) -> int:
    """Return the replicas that `gpus` hold, or raise a CourseError with the nearest legal plans.

    >>> data_of(1024, 8, 8)
    16
    >>> try:
    ...     data_of(1000, 8, 8)
    ... except CourseError as error:
    ...     print(str(error)[:85])
    1000 GPUs do not divide into tensor 8 × pipeline 8 × context 1 = 64 ranks. The neares
    """
    gpus = whole("gpus", gpus, at_least=1)
    t, p, c = (
        whole(name, n, at_least=1) for name, n in (("tensor", tensor), ("pipeline", pipeline), ("context", context))
    )
    one = t * p * c
    if gpus % one == 0:
        return gpus // one
    low = gpus // one * one
    counts = _(" or ").join(str(n) for n in (low, low + one) if n)
    said = _(
        "{gpus} GPUs do not divide into tensor {t} × pipeline {p} × context {c} = {one} ranks. The nearest: {counts} GPUs"
    )
    text = said.format(gpus=gpus, t=t, p=p, c=c, one=one, counts=counts)
    if gpus % (t * c) == 0:
        near = _(" or ").join(str(n) for n in sorted(nearest(gpus // (t * c), p)))
        text += _(", or pipeline {near} (tensor {t}, context {c})").format(near=near, t=t, c=c)
    elif gpus % t == 0:
        near = _(" or ").join(str(n) for n in sorted(nearest(gpus // t, c)))
        text += _(", or context {near} (tensor {t})").format(near=near, t=t)
    else:
        near = _(" or ").join(str(n) for n in sorted(nearest(gpus, t)))
        text += _(", or tensor {near}").format(near=near)
    raise CourseError(text + ".")
