"""Which group crosses which link: what each kind of group sends in a step, and what a cut between hosts costs.

Validity: communication that waits for nothing and hides behind nothing; stages of equal layers.
"""

from dataclasses import dataclass

from course_lib.base.errors import whole
from course_lib.base.language import _
from course_lib.comm.meaning import bus_factor
from course_lib.plan.footprint import Plan, footprint
from course_lib.plan.orders import chunks_for
from course_lib.plan.traffic import handoffs, layer_collectives
from course_lib.plan.transformer import Shape, model
from course_lib.timing.tuning import predict


@dataclass(frozen=True, slots=True)
class Group:
    """A kind of group in a step: how often a GPU communicates in it, with what message, and the bytes that it sends in all."""

    name: str
    n_ranks: int
    op: str
    count: int
    message_B: float
    sent_B: float


def groups(shape: "Shape | str", plan: Plan) -> tuple[Group, ...]:
    """Return the groups of a plan with more than one rank, busiest kind first: tensor, pipeline, data.

    Bytes are what one GPU of a middle stage sends in one step. Activations and gradients have 16 bits; gradients are
    summed once. Raises CourseError where layers, heads or chunks do not divide.

    >>> [(g.name, g.count, round(g.sent_B / 1e9)) for g in groups("llama3-70b", Plan(tensor=8, pipeline=4, data=8, n_micro=32))]
    [('tensor', 2560, 601), ('pipeline', 64, 9), ('data', 1, 7)]
    """
    shape = model(shape)
    found = []
    if plan.tensor > 1:
        style = "sequence" if plan.sequence else "tensor"
        each = layer_collectives(shape, plan.batch, plan.seq, tensor=plan.tensor, style=style)
        layers = chunks_for(shape.n_layers, plan.pipeline, plan.chunks) * plan.chunks
        names = {
            name: (each.forward[name] + each.backward[name]) * layers * whole("n_micro", plan.n_micro, at_least=1)
            for name in each.forward
        }
        message_B = float(each.message_B)
        sent_B = sum(count * bus_factor(name, plan.tensor) * message_B for name, count in names.items())
        found.append(Group("tensor", plan.tensor, " + ".join(names), sum(names.values()), message_B, float(sent_B)))
    if plan.pipeline > 1:
        sent = handoffs(shape, plan)
        found.append(Group("pipeline", plan.pipeline, "send_recv", sent.sends, sent.message_B, sent.sent_B))
    if plan.data > 1:
        held = footprint(shape, plan).n_params
        message_B = 2.0 * float(held[len(held) // 2])
        found.append(
            Group("data", plan.data, "all_reduce", 1, message_B, float(bus_factor("all_reduce", plan.data)) * message_B)
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Cut:
    """A model spread over hosts one way: how many times it waits for the network in a forward pass, and the seconds of each."""

    name: str
    count: int
    message_B: float
    each_s: float
    latency_s: float

    @property
    def total_s(self) -> float:
        """All of them, one after the other."""
        return self.count * self.each_s

    @property
    def latency_share(self) -> float:
        """The part of the time that no bandwidth shortens."""
        return self.latency_s / self.each_s


def _waiting(terms: dict) -> float:
    """Seconds of a prediction that do not depend on bytes: launching, and the steps of the algorithm."""
    return float(sum(t for name, t in terms.items() if name == "launch" or name.endswith("steps")))


def cuts(shape: "Shape | str", tokens: int, n_hosts: int, system: str = "dgx-h100") -> tuple[Cut, Cut]:
    """Return what a forward pass of `tokens` spends on communication, one GPU on each of `n_hosts`: layers sliced, or staged.

    Sliced ("tensor"): two all-reduces in each layer. Staged ("pipeline"): one hand-off at each boundary. Both carry the
    same message, all activations between two layers; times are `predict`'s.

    >>> sliced, staged = cuts("llama3-70b", 1, 8)
    >>> sliced.count, staged.count, bool(sliced.total_s > 20 * staged.total_s), bool(sliced.latency_share > 0.8)
    (160, 7, True, True)
    """
    shape, n = model(shape), whole("n_hosts", n_hosts, at_least=2)
    chunks_for(shape.n_layers, n)
    each = layer_collectives(shape, 1, whole("tokens", tokens, at_least=1), tensor=n)
    message_B = float(each.message_B)
    found = []
    for name, op, ranks, count in (
        (_("sliced"), "all_reduce", n, sum(each.forward.values()) * shape.n_layers),
        (_("staged"), "send_recv", 2, n - 1),
    ):
        p = predict(op, message_B, system, ranks, n_hosts=ranks)
        found.append(Cut(name, count, message_B, float(p.time_s), _waiting(p.terms)))
    return found[0], found[1]
