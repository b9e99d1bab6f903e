"""Predict: the time of a collective on a system, with the algorithm and protocol that a library would choose."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.comm.meaning import bus_factor, canonical_op
from course_lib.comm.registry import algorithm_name
from course_lib.timing import constants
from course_lib.timing.extralaws import forced_laws
from course_lib.timing.ideal import ideal_laws
from course_lib.timing.laws import PROTOCOLS, Law, laws, times_s
from course_lib.timing.onedepth import CUBE
from course_lib.timing.system import System, load
from course_lib.timing.validity import Valid, validity

LATENCY = "latency"
MOST_CABLED = 256  # ranks up to which laws of a cube mesh are held against its cables


@dataclass(frozen=True, slots=True)
class Prediction:
    """What `predict` returns; every entry but `valid` is a number or word for one size, an array (s,) for an array of sizes.

    `terms` maps names to seconds that add up to `time_s`. `bottleneck` is "scale-up" or "network" where bytes over that
    fabric take most of the time, else "latency". `pieces` is the pipeline depth of an ideal time (0: no pipeline). `algbw_Bps` is 0 for
    0 bytes.
    """

    op: str
    n_ranks: int
    n_hosts: int
    message_B: float | NDArray
    time_s: float | NDArray
    algbw_Bps: float | NDArray
    busbw_Bps: float | NDArray
    algorithm: str | NDArray
    protocol: str | NDArray
    bottleneck: str | NDArray
    terms: dict[str, float | NDArray]
    valid: Valid
    pieces: int | NDArray = 0


def placed(system: System, n_ranks: int, n_hosts: int | None) -> tuple[int, int]:
    """Return (ranks, hosts) after checking that they fit the system; hosts None: as few as hold the ranks.

    >>> placed(load("dgx-h100"), 12, None)
    (12, 2)
    >>> placed(load("dgx-h100"), 12, 1)
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: 12 ranks do not fit on 1 host of dgx-h100: each has 8 GPUs. Use at least 2 hosts.
    """
    n = whole("n_ranks", n_ranks, at_least=1)
    g = system.gpus_per_host
    need = -(-n // g)
    hosts = need if n_hosts is None else whole("n_hosts", n_hosts, at_least=1)
    if need > system.hosts:
        raise CourseError(
            _("{n} ranks do not fit: {name} has {hosts} × {g} GPUs (hosts × GPUs of a host), {most} in all.").format(
                n=n, name=system.name, hosts=system.hosts, g=g, most=system.n_max
            )
        )
    if hosts < need:
        text = _("{n} ranks do not fit on {hosts} {host} of {name}: each has {g} GPUs. Use at least {need} hosts.")
        word = _("host") if hosts == 1 else _("hosts")
        raise CourseError(text.format(n=n, hosts=hosts, host=word, name=system.name, g=g, need=need))
    if hosts > n:
        raise CourseError(
            _("{hosts} hosts for {n} ranks leave hosts without a rank; use at most {n}.").format(hosts=hosts, n=n)
        )
    if hosts > system.hosts:
        raise CourseError(
            _("{name} has fewer hosts than {hosts}: {most}.").format(name=system.name, most=system.hosts, hosts=hosts)
        )
    return n, hosts


@functools.lru_cache(maxsize=512)
def candidates(op: str, system: System, n: int, n_hosts: int, column: str = "shipped") -> tuple[Law, ...]:
    """Return the laws a library would weigh, with a column of fitted constants.

    >>> sorted({law.protocol for law in candidates("all_reduce", load("dgx-a100"), 8, 1)})
    ['LL', 'LL128', 'Simple']
    """
    up = constants.load("up", system.scale_up.family, column)
    net = constants.load("net", system.scale_out.family, column) if system.scale_out else None
    found = laws(op, system, n, n_hosts, up, net)
    return tuple(_on_cables(found, op, system, n, n_hosts) if system.scale_up.family == CUBE else found)


def _on_cables(found: Sequence[Law], op: str, system: System, n: int, n_hosts: int) -> list[Law]:
    """Hold the laws of a cube mesh to what its cables carry: pairs without one meet over PCIe, and not all sets of ranks have a ring."""
    if n < 2 or n > MOST_CABLED:
        return list(found)
    best, _pieces = ideal_laws(op, system, n, n_hosts, None)
    least = min(best, key=lambda law: sum(law.per_byte_s.values())).per_byte_s
    part = max(least, key=least.get)
    held = []
    for law in found:
        short = sum(least.values()) - sum(law.per_byte_s.values())
        if short > 0:
            part_s = law.per_byte_s.get(part, 0.0) + short
            filling = max(law.kappa, 1.0) if op in ("broadcast", "reduce") else law.kappa  # a chain's, as across hosts
            law = replace(law, per_byte_s={**law.per_byte_s, part: part_s}, kappa=filling)
        held.append(law)
    return held


def predict(
    op: str,
    message_B: ArrayLike,
    system: "str | System",
    n_ranks: int,
    *,
    n_hosts: int | None = None,
    algorithm: str | None = None,
    protocol: str | None = None,
    ideal: bool = False,
    column: str = "shipped",
) -> Prediction:
    """Predict the time of a collective.

    Args:
        op: a collective in any usual spelling.
        message_B: bytes as nccl-tests counts them (the largest buffer on one rank); a number or an array (s,).
        system: a built-in name, an alias, the path of a TOML file, or a System.
        n_ranks: ranks, one GPU each.
        n_hosts: hosts they are spread over evenly; None: as few as hold them.
        algorithm: force one (ring, tree, halving-doubling, direct, in-network, hierarchical-ring …); None: the quickest
            of those a library has.
        protocol: force LL, LL128 or Simple.
        ideal: α–β of the system alone, no fitted constants: the stepped time at the best pipeline depth.
        column: constants fitted on all sweeps (`shipped`) or on the `training` part only.

    Raises:
        CourseError: unknown names (with the nearest), ranks that do not fit, negative or not finite sizes.

    Validity: `valid` says whether sizes and ranks are inside what was measured for this family of links, and whose
    constants were used. Errors against published sweeps are in docs/accuracy.md.

    >>> p = predict("all_reduce", 2**30, "dgx-h100", 8)
    >>> p.algorithm, p.protocol, 400e9 < p.busbw_Bps < 500e9
    ('in-network', 'Simple', True)
    >>> abs(sum(p.terms.values()) - p.time_s) < 1e-12
    True
    """
    op = canonical_op(op)
    sizes = finite("message_B", message_B, at_least=0, unit="B")
    place = load(system)
    if protocol is not None:
        protocol = one_of(_("protocol"), protocol, PROTOCOLS)
    if algorithm is not None:
        algorithm = algorithm_name(op, _SAID.get(str(algorithm).strip().lower().replace("_", "-"), algorithm))
    n, hosts = placed(place, n_ranks, n_hosts)
    valid = validity(op, place, n, hosts, sizes, ideal=ideal, forced=algorithm)
    if n == 1:
        return _nothing(op, sizes, hosts, valid)
    if ideal:
        if protocol is not None:
            raise CourseError(_("An ideal time has no protocol; leave {protocol} out.").format(protocol=protocol))
        found, pieces = ideal_laws(op, place, n, hosts, algorithm)
    else:
        found, pieces = candidates(op, place, n, hosts, column), None
        if algorithm is not None:
            found = forced_laws(op, algorithm, place, n, hosts, column, found)
        if protocol is not None:
            found = [law for law in found if law.protocol == protocol]
            if not found:
                raise CourseError(
                    _("{algorithm} does not run with {protocol} here; leave one of the two out.").format(
                        algorithm=algorithm or op, protocol=protocol
                    )
                )
    return _quickest(op, sizes, n, hosts, found, pieces, valid)


_SAID = {"nvls": "in-network", "sharp": "in-network", "in-network-tree": "in-network", "nvlstree": "in-network"}


def _nothing(op: str, sizes, hosts: int, valid: Valid) -> Prediction:
    zero = sizes * 0.0
    word = (lambda text: text) if np.ndim(sizes) == 0 else (lambda text: np.full(np.shape(sizes), text))
    return Prediction(op, 1, hosts, sizes, zero, zero, zero, word("none"), word("none"), word("none"), {}, valid)


def _quickest(op: str, sizes, n: int, hosts: int, found: Sequence[Law], pieces, valid: Valid) -> Prediction:
    m = np.asarray(sizes, float).reshape(-1)
    best = np.argmin(times_s(found, m), axis=0)
    terms: dict[str, NDArray] = {}
    moved = np.zeros(len(m))
    for i in np.unique(best):
        law, mine = found[i], best == i
        alpha, part = sum(law.fixed_s.values()), {}
        part |= {name: np.full(int(mine.sum()), value) for name, value in law.fixed_s.items()}
        part |= {name: value * m[mine] for name, value in law.per_byte_s.items()}
        moved[mine] = sum(law.per_byte_s.values()) * m[mine]
        if law.kappa:
            part["pipeline filling"] = 2 * law.kappa * np.sqrt(alpha * moved[mine])
        for name, value in part.items():
            terms.setdefault(name, np.zeros(len(m)))[mine] = value
    terms = {name: value for name, value in terms.items() if value.any()}
    total = sum(terms.values(), np.zeros(len(m)))
    algbw = m / total
    words = {
        name: np.array([getattr(law, name) for law in found])[best] for name in ("algorithm", "protocol", "bottleneck")
    }
    words["bottleneck"] = np.where(moved >= 0.5 * total, words["bottleneck"], LATENCY)
    depth = np.zeros(len(m), int) if pieces is None else np.asarray(pieces)[best]
    if np.ndim(sizes) == 0:
        first = lambda value: value[0].item()  # noqa: E731
        terms = {name: first(value) for name, value in terms.items()}
        words = {name: first(value) for name, value in words.items()}
        total, algbw, depth = first(total), first(algbw), first(depth)
    else:
        shape = np.shape(sizes)
        terms = {name: value.reshape(shape) for name, value in terms.items()}
        words = {name: value.reshape(shape) for name, value in words.items()}
        total, algbw, depth = total.reshape(shape), algbw.reshape(shape), depth.reshape(shape)
    return Prediction(
        op, n, hosts, sizes, total, algbw, algbw * bus_factor(op, n), *words.values(), terms, valid, depth
    )
