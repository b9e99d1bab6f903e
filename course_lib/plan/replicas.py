"""What one replica of a transformer computes and reduces: its tensors in the order of the backward pass, or its layers.

`plan.sharding` and `plan.zero` take lists of times and bytes; this module makes them from a model's shape. Times are
operations over one rate: validity as in `plan.transformer.flops`, and every product is taken to run equally well.
"""

from dataclasses import dataclass

import numpy as np

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.plan.sharding import Event, Overlap
from course_lib.plan.transformer import Shape, flops, model, params


@dataclass(frozen=True, slots=True)
class Work:
    """Pieces of a pass in some order (L,): names, layer (−1 the head, n_layers the embedding), seconds, gradient bytes."""

    names: tuple[str, ...]
    layer: np.ndarray
    forward_s: np.ndarray
    backward_s: np.ndarray
    gradient_B: np.ndarray

    @property
    def compute_s(self) -> float:
        """Seconds of one forward and one backward pass, recomputing included."""
        return float(self.forward_s.sum() + self.backward_s.sum())


def _pieces(shape: Shape) -> list[tuple[str, int, float]]:
    """Tensors of one layer, first to last of the forward pass: name, parameters, share of the layer's products."""
    counted, h, bias = params(shape), shape.hidden, int(shape.bias)
    out = shape.n_heads * shape.head_size * h + bias * h
    mats = 3 if shape.gated else 2
    down = h * shape.ffn + bias * h
    pieces = [
        (_("norm"), counted.norms / 2, 0.0),
        (_("queries, keys, values"), counted.attention - out, 0.0),
        (_("attention output"), out, 0.0),
        (_("norm"), counted.norms / 2, 0.0),
        (_("MLP up"), counted.mlp - down, 0.0),
        (_("MLP down"), down, 0.0),
    ]
    q = h * shape.head_size * (shape.n_heads + 2 * shape.n_kv_heads)
    products = (0.0, q, out - bias * h, 0.0, (mats - 1) * h * shape.ffn, h * shape.ffn)
    return [(name, size, float(weight)) for (name, size, _unused), weight in zip(pieces, products, strict=True)]


def _plain(shape: "Shape | str") -> Shape:
    shape = model(shape)
    if shape.kv_rank or shape.n_experts:
        raise CourseError(
            _("{name} has experts or latent attention; replicas are split for plain transformers only.").format(
                name=shape.name
            )
        )
    return shape


def tensors(
    shape: "Shape | str",
    tokens: object,
    flops_per_s: object,
    *,
    seq: object = None,
    element_B: object = 2,
    recompute: str = "none",
) -> Work:
    """Return the tensors of a replica in the order in which its backward pass finishes their gradients: head first.

    `tokens` is what one replica works on, in sequences of `seq`; `element_B` bytes for each gradient on the wire. Each
    layer gives six tensors (biases with their matrix, the two numbers of a norm together). A tied head has no gradient
    of its own: it is finished with the embedding, last of all. Raises CourseError for models with experts.

    >>> work = tensors("gpt2-1.5b", 8192, 400e12)
    >>> len(work.names), work.names[1], work.names[-1], round(float(work.gradient_B.sum()) / 1e9, 2)
    (290, 'layer 48, MLP down', 'embedding', 3.12)
    """
    shape = _plain(shape)
    tokens = finite("tokens", tokens, above=0)
    seq = min(float(finite("seq", shape.seq if seq is None else seq, at_least=1)), float(tokens))
    rate = finite("flops_per_s", flops_per_s, above=0, unit="operations/s")
    size_B = finite("element_B", element_B, above=0, unit="bytes")
    counted, n = params(shape), shape.n_layers
    done = flops(shape, tokens / seq, seq, recompute=recompute)
    head_flops = 2 * tokens * shape.hidden * shape.vocab
    layer_forward = (done.forward - head_flops) / n
    layer_backward = 2 * layer_forward + done.recompute / n
    pieces = _pieces(shape)
    # attention scores belong to no tensor; their time goes to queries, keys and values, whose gradients wait for them
    weights = np.array([p[2] for p in pieces])
    core = layer_forward - 2 * tokens * weights.sum()
    forward = 2 * tokens * weights + core * np.array([0, 1, 0, 0, 0, 0])
    share = forward / forward.sum()
    back = pieces[::-1]
    names, layer, f, b, sizes = (
        [_("head")],
        [-1],
        [head_flops],
        [2 * head_flops],
        [float(counted.head + counted.norms / 2)],
    )
    name, sizes_of_layer = _("layer {number}, {piece}"), [p[1] for p in back]
    for number in range(n, 0, -1):
        names += [name.format(number=number, piece=p[0]) for p in back]
        layer += [n - number] * len(back)
    f += (layer_forward * share[::-1]).tolist() * n
    b += (layer_backward * share[::-1]).tolist() * n
    sizes += sizes_of_layer * n
    names.append(_("embedding"))
    layer.append(n)
    f.append(0.0)
    b.append(0.0)
    sizes.append(float(counted.embedding))
    return Work(tuple(names), np.array(layer), np.array(f) / rate, np.array(b) / rate, np.array(sizes) * size_B)


def layers(
    shape: "Shape | str",
    tokens: object,
    flops_per_s: object,
    *,
    seq: object = None,
    element_B: object = 2,
    recompute: str = "none",
) -> Work:
    """Return embedding, layers and head of a replica in forward order: the units that ZeRO-3 (FSDP) gathers and drops.

    Arguments and errors as in `tensors`. `gradient_B` is also what an all-gather of the unit's parameters delivers.

    >>> work = layers("llama3-8b", 16384, 300e12)
    >>> len(work.names), work.names[0], work.names[-1]
    (34, 'embedding', 'head')
    """
    small = tensors(shape, tokens, flops_per_s, seq=seq, element_B=element_B, recompute=recompute)
    units = np.unique(small.layer)
    columns = small.forward_s, small.backward_s, small.gradient_B
    sums = [np.array([part[small.layer == u].sum() for u in units])[::-1] for part in columns]
    n = len(units) - 2
    names = (_("embedding"), *(_("layer {number}").format(number=i + 1) for i in range(n)), _("head"))
    return Work(names, units[::-1], *sums)


def bars(work: Work, timeline: Overlap) -> tuple[Event, ...]:
    """Return the bars of a backward pass for a figure: one for each layer on "compute", one for each bucket on "network".

    `work` is from `tensors`, `timeline` from `sharding.overlap` with its backward times and gradients.

    >>> from course_lib.plan.sharding import overlap
    >>> work = tensors("gpt2-1.5b", 8192, 400e12)
    >>> drawn = bars(work, overlap(work.backward_s, work.gradient_B, 1e9, lambda m: m / 40e9))
    >>> [sum(e.lane == lane for e in drawn) for lane in ("compute", "network")]
    [49, 3]
    """
    if len(work.layer) != len(timeline.layer_end_s):
        raise CourseError(
            _("The pass has {n} tensors and the timeline {m}.").format(n=len(work.layer), m=len(timeline.layer_end_s))
        )
    drawn, begin = [], 0.0
    last = np.append(np.flatnonzero(np.diff(work.layer)), len(work.layer) - 1)  # of each layer, in order
    for i, end in zip(last.tolist(), timeline.layer_end_s[last].tolist()):
        if end > begin:
            drawn.append(Event("compute", work.names[i].split(",")[0], begin, end))
        begin = end
    name = _("bucket {number}")
    for k, (start, finish) in enumerate(zip(timeline.start_s.tolist(), timeline.finish_s.tolist())):
        drawn.append(Event("network", name.format(number=k + 1), start, finish))
    return tuple(drawn)


def balance_tokens(
    flops_per_s: object, bus_Bps: object, n_ranks: object, *, element_B: object = 2
) -> np.ndarray | float:
    """Return the tokens for each replica at which its backward pass lasts as long as the all-reduce of its gradients.

    With N parameters the pass takes 4·N·tokens / `flops_per_s` and the all-reduce 2(n−1)/n · N·`element_B` / `bus_Bps`
    (its bus bandwidth): N cancels. Attention scores and latencies are left out. Broadcasts.

    >>> float(balance_tokens(400e12, 400e9, 1000))
    999.0
    """
    flops_per_s = finite("flops_per_s", flops_per_s, above=0, unit="operations/s")
    bus_Bps = finite("bus_Bps", bus_Bps, above=0, unit="bytes/s")
    n_ranks = finite("n_ranks", n_ranks, at_least=1)
    return (n_ranks - 1) / n_ranks * finite("element_B", element_B, above=0) / 2 * flops_per_s / bus_Bps
