"""One benchmark or the whole load: a mix of calls with neighbours and stragglers, priced on a system."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from course_lib.base.errors import CourseError, one_of, whole
from course_lib.base.language import _
from course_lib.base.units import GiB, KiB, MiB
from course_lib.cluster.inrange import finite
from course_lib.comm.meaning import canonical_op
from course_lib.timing.system import System, load
from course_lib.timing.tuning import predict


@dataclass(frozen=True, slots=True)
class Call:
    """A collective that a step makes `times` times: bytes as nccl-tests counts them, ranks one GPU each."""

    op: str
    message_B: float
    n_ranks: int
    times: float = 1.0


@dataclass(frozen=True, slots=True)
class MixTime:
    """Seconds of communication in one step: the fabric's `call_s` (calls,) with repeats, and `late_s` for waiting on the slowest rank."""

    call_s: NDArray[np.float64]
    late_s: float
    outside: tuple[str, ...]

    @property
    def total_s(self) -> float:
        """All of it."""
        return float(self.call_s.sum()) + self.late_s


@dataclass(frozen=True, slots=True)
class Ranking:
    """Designs by name: the single benchmark (bytes per second, higher wins) and the mix (seconds, lower wins), and both winners."""

    benchmark_Bps: dict[str, float]
    mix_s: dict[str, float]
    wins_benchmark: str
    wins_mix: str


MIXES: Mapping[str, tuple[Call, ...]] = {
    # 64 GPUs: tensor parallel in eights, gradients over all.
    "dense training": (
        Call("all_reduce", 64 * MiB, 8, 128),
        Call("reduce_scatter", 1 * GiB, 64, 2),
        Call("all_gather", 1 * GiB, 64, 2),
    ),
    # The same with experts spread over all 64.
    "expert training": (
        Call("all_reduce", 64 * MiB, 8, 64),
        Call("all_to_all", 64 * MiB, 64, 128),
        Call("reduce_scatter", 1 * GiB, 64, 2),
        Call("all_gather", 1 * GiB, 64, 2),
    ),
    # One token of many sequences: small messages, many of them.
    "decoding": (Call("all_reduce", 256 * KiB, 8, 160), Call("all_to_all", 512 * KiB, 64, 116)),
}


def mix(name: str) -> tuple[Call, ...]:
    """Return a named mix of calls for 64 GPUs ("dense training", "expert training", "decoding").

    >>> [c.op for c in mix("decoding")]
    ['all_reduce', 'all_to_all']
    """
    return MIXES[one_of(_("mix"), name, MIXES)]


def variant(
    system: "str | System", name: str, *, cards: int | None = None, oversubscription: float | None = None
) -> System:
    """Return a system under a new name with another number of network cards per host or another oversubscription.

    >>> variant("dgx-b200", "thin", cards=2).scale_out.nics_per_host
    2
    """
    base = load(system)
    if base.scale_out is None:
        raise CourseError(_("{name} has no network to change.").format(name=base.name))
    out = base.scale_out
    if cards is not None:
        out = dataclasses.replace(out, nics_per_host=whole("cards", cards, at_least=1))
    if oversubscription is not None:
        out = dataclasses.replace(out, oversubscription=finite("oversubscription", oversubscription, at_least=1))
    return dataclasses.replace(base, name=name, scale_out=out)


def benchmark_Bps(
    system: "str | System", op: str = "all_reduce", message_B: float = 8 * GiB, n_ranks: int = 8
) -> float:
    """Return the one number of a data sheet: the bus bandwidth of a large collective in one box.

    >>> 400e9 < benchmark_Bps("dgx-h100") < 500e9
    True
    """
    return predict(op, message_B, system, n_ranks).busbw_Bps


def mix_time(
    system: "str | System", calls: Sequence[Call], *, neighbours: float = 0.0, lateness_s: float = 0.0
) -> MixTime:
    """Return the communication time of one step of a mix.

    Args:
        system: name, TOML path or System.
        calls: what a step sends, one after another.
        neighbours: share of the network's bandwidth that other jobs take (0 … below 1). The inside of a box is not shared.
        lateness_s: mean lateness of a rank at a collective; with exponential lateness the slowest of n comes
            lateness · (1 + 1/2 + … + 1/n) late, and all wait.

    Returns:
        `MixTime`; `outside` holds a sentence for every call outside what was measured.

    Raises:
        CourseError: unknown collectives, ranks that do not fit, shares of 1 or more.

    >>> alone = mix_time("dgx-h100", mix("expert training"))
    >>> alone.total_s < mix_time("dgx-h100", mix("expert training"), neighbours=0.5).total_s
    True
    """
    place = load(system)
    taken, late = finite("neighbours", neighbours, at_least=0), finite("lateness_s", lateness_s, at_least=0, unit="s")
    if taken >= 1:
        raise CourseError(_("neighbours is {value}; a share below 1 is expected.").format(value=taken))
    if not calls:
        raise CourseError(_("The mix is empty; give at least one call."))
    if taken and place.scale_out is not None:
        rate = place.scale_out.bandwidth_Bps * (1 - taken)
        place = dataclasses.replace(place, scale_out=dataclasses.replace(place.scale_out, bandwidth_Bps=rate))
    times, waiting, outside = [], 0.0, []
    for call in calls:
        found = predict(canonical_op(call.op), call.message_B, place, call.n_ranks)
        often = finite("times", call.times, at_least=0)
        times.append(found.time_s * often)
        waiting += often * late * float((1 / np.arange(1, call.n_ranks + 1)).sum())
        if not found.valid.inside:
            outside.append(f"{call.op}, {call.n_ranks}: {found.valid.reason}")
    return MixTime(np.array(times), waiting, tuple(outside))


def rank(
    designs: "Mapping[str, str | System]",
    calls: Sequence[Call],
    *,
    neighbours: "float | Mapping[str, float]" = 0.0,
    lateness_s: float = 0.0,
) -> Ranking:
    """Return both rankings of designs: by one large all-reduce in a box, and by the whole mix.

    `neighbours` is one share for all designs or one for each name. Raises CourseError for fewer than two designs.

    >>> fast_box = variant("dgx-b200", "B200, 2 cards", cards=2)
    >>> r = rank({"B200, 2 cards": fast_box, "H100, 8 cards": "dgx-h100"}, mix("expert training"))
    >>> r.wins_benchmark, r.wins_mix
    ('B200, 2 cards', 'H100, 8 cards')
    """
    if len(designs) < 2:
        raise CourseError(_("Give at least two designs to rank."))
    share = neighbours if isinstance(neighbours, Mapping) else dict.fromkeys(designs, neighbours)
    one = {name: benchmark_Bps(system) for name, system in designs.items()}
    all_of_it = {
        name: mix_time(system, calls, neighbours=share.get(name, 0.0), lateness_s=lateness_s).total_s
        for name, system in designs.items()
    }
    return Ranking(one, all_of_it, max(one, key=one.get), min(all_of_it, key=all_of_it.get))
