"""Judge one sweep: expected against measured at every size, with the arithmetic, the bounds and the verdict."""

import numpy as np
from numpy.typing import ArrayLike

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.base.units import say_bytes, say_rate, say_share
from course_lib.comm.meaning import bus_factor, canonical_op
from course_lib.machine.judging.bounds import network_bounds
from course_lib.machine.judging.causes import Case, ranked
from course_lib.machine.judging.links import BOUND_SLACK, against_bounds, link_arithmetic, link_limit, wire_in_switch
from course_lib.machine.judging.shape import LARGE_B, shape_of
from course_lib.machine.judging.suspect import suspected
from course_lib.machine.records import CANNOT_TELL, FINDING, HEALTHY, Finding, Suspected, Sweep
from course_lib.timing.system import System, load
from course_lib.timing.system import names as system_names
from course_lib.timing.tuning import predict

ENOUGH_INSIDE, ENOUGH_ACROSS = 0.75, 0.6  # of the prediction; across hosts it is less sure
TOO_FAST = 1.35  # of the prediction: the system is another, or its family is hardly measured
SLOW_START = 4.0  # small messages this many times slower than predicted are worth a word


def judge(
    op: str,
    message_B: ArrayLike,
    time_s: ArrayLike,
    n_ranks: int,
    *,
    system: "str | System | None" = None,
    n_hosts: int | None = None,
    host_Bps: float | None = None,
    facts: tuple = (),
    candidates: tuple[str, ...] = (),
    links_per_pair: int | None = None,
    link_Bps: float | None = None,
    nvlink: bool | None = None,
    near_nic: bool = False,
) -> Sweep:
    """Judge a measured sweep.

    Args:
        op: the collective.
        message_B: (s,) bytes above 0, as nccl-tests counts them.
        time_s: (s,) seconds.
        n_ranks: ranks.
        system: what it ran on (name, TOML file or System); None: unknown, only the shape is judged.
        n_hosts: hosts; None: as few as hold the ranks.
        host_Bps: rate of all network cards of a host, one direction; overrides that of the system.
        facts: what the log's debug lines say.
        candidates: systems that fit what was read; if all give the same verdict, it stands.
        links_per_pair: NVLinks between two GPUs of a mesh, where a matrix says so.
        link_Bps: one direction of one NVLink, where known.
        nvlink: whether the GPUs have NVLink; None: as the system says.
        near_nic: whether GPU and card share a PCIe switch.

    Raises:
        CourseError: unknown names, sizes and times that do not go together.

    Validity: healthy means at least 75 % of the predicted bus bandwidth at the largest sizes inside one host, 60 % across hosts.

    >>> made = judge("all_reduce", [2**20, 2**28, 2**30], [60e-6, 2.1e-3, 8.2e-3], 8, system="dgx-a100")
    >>> made.status, made.algorithm.name
    ('healthy', 'ring')
    """
    op, n = canonical_op(op), whole("n_ranks", n_ranks, at_least=2)
    shape = shape_of(message_B, time_s, float(bus_factor(op, n)))
    place = None if system is None else load(system)
    sizes, findings, notes, arithmetic = shape.message_B, [], list(shape.said), []
    expected, why_not = _expected(op, sizes, place, n, n_hosts, host_Bps)
    if why_not:
        notes.append(why_not)
    hosts = n_hosts or (expected.n_hosts if expected is not None else None)
    ratio = None if expected is None else shape.busbw_Bps / np.maximum(expected.busbw_Bps, 1e-30)
    end = None
    large = sizes >= max(LARGE_B, sizes[-1] / 4)
    if ratio is not None and large.any():
        end = float(np.median(ratio[large]))
    algorithm = suspected(op, n, hosts, shape, place, facts)
    rate = host_Bps
    if rate is None and place is not None and place.scale_out is not None and hosts and hosts > place.hosts_per_domain:
        rate = place.scale_out.nics_per_host * place.scale_out.bandwidth_Bps
    bounds = network_bounds(op, n, hosts, rate) if rate and hosts and hosts > 1 else []
    arithmetic += [b.arithmetic for b in bounds]
    best = shape.plateau_Bps
    tree = False
    if bounds and best is not None:
        limits = {b.name: b.busbw_Bps for b in bounds}
        tree = against_bounds(best, limits, bounds, hosts, findings, arithmetic)
        if tree and algorithm.name in ("unknown", "ring"):
            over = _("{best} is more than a ring gets through {rate} a host").format(
                best=say_rate(best), rate=say_rate(rate)
            )
            algorithm = Suspected("tree" if hosts == 2 else "in-network or tree", over)
    wire = wire_in_switch(op, n, place, hosts, algorithm, best, arithmetic)
    link_arithmetic(op, n, place, hosts, best, links_per_pair, link_Bps, arithmetic, wire)
    enough = ENOUGH_INSIDE if hosts in (None, 1) else ENOUGH_ACROSS
    for k in shape.dips:
        before = float(shape.busbw_Bps[:k].max())
        text = _("bandwidth collapses at {size}: {rate}, after {before} at smaller sizes")
        findings.append(
            Finding(
                "dip", text.format(size=say_bytes(sizes[k]), rate=say_rate(shape.busbw_Bps[k]), before=say_rate(before))
            )
        )
    early = shape.rising and end is not None and 0.35 <= end < enough  # the end of the rise was not measured
    if end is not None and end < enough and not early:
        text = _("{op} reaches {share} of what is expected at the largest sizes ({measured} of {expected})")
        at = int(np.flatnonzero(large)[-1])
        findings.append(
            Finding(
                "below-expected",
                text.format(
                    op=op,
                    share=say_share(end),
                    measured=say_rate(shape.busbw_Bps[at]),
                    expected=say_rate(expected.busbw_Bps[at]),
                ),
            )
        )
    if shape.rising:
        text = _("still rising at {size}: run larger sizes (-e 8G) before calling it the limit")
        notes.append(text.format(size=say_bytes(sizes[-1])))
    if best is None:
        notes.append(_("no size of 1 MiB or more: nothing can be said about bandwidth"))
    link = link_limit(op, n, place, hosts)
    if link is not None and shape.peak_Bps > BOUND_SLACK * link:
        text = _(
            "{peak} is more than the links of a GPU let through on {name} (at most {link}): are system, ranks and numbers right?"
        )
        words = text.format(peak=say_rate(shape.peak_Bps), name=place.name, link=say_rate(link))
        findings.append(Finding("above-bound", words))
    elif end is not None and end > TOO_FAST:
        text = _("{times:.1f} times what is expected on {name}: another machine, or one the prediction is too low for")
        notes.append(text.format(times=end, name=place.name))
    ring = _ring_ratio(op, sizes, place, n, hosts, shape, large, host_Bps)
    facts_off = any(f.code in ("no GPUDirect RDMA", "multicast failed") for f in facts)
    near_ring = (
        end is not None
        and end < 0.87
        and ring is not None
        and expected is not None
        and "in-network" in expected.algorithm
    )
    case = Case(
        op, n, hosts, shape, place, end, ring, None if expected is None else float(expected.busbw_Bps[-1]), algorithm, facts,
        (place is not None and place.scale_up.kind != "pcie") if nvlink is None else nvlink, near_nic,
    )  # fmt: skip
    causes = ranked(case) if findings or facts_off or near_ring or end is None else ()
    if findings:
        status = FINDING
    elif end is not None or (bounds and best is not None and (tree or best >= 0.6 * bounds[0].busbw_Bps)):
        status = HEALTHY
    else:
        status = CANNOT_TELL
    if end is None and expected is None and place is None and candidates and not findings and best is not None:
        status, more = _by_candidates(op, n, hosts, shape, candidates, large, enough)
        notes.append(more)
        if status == FINDING:
            findings.append(Finding("below-expected", more))
    elif bounds and end is None and best is not None and best < 0.6 * bounds[0].busbw_Bps:
        text = _("{op} reaches {share} of the limit of the network ({best} of {cap})")
        share = best / bounds[0].busbw_Bps
        findings.append(
            Finding(
                "below-network",
                text.format(op=op, share=say_share(share), best=say_rate(best), cap=say_rate(bounds[0].busbw_Bps)),
            )
        )
        status = FINDING
    if status == CANNOT_TELL and hosts is not None and hosts > 1 and best is not None and not bounds:
        met = {f.code for f in facts}
        if "via sockets" in met and "via InfiniBand" not in met:
            text = _("the log says that the hosts exchange data over TCP sockets, and {op} reaches {best}")
            findings.append(Finding("over-sockets", text.format(op=op, best=say_rate(best))))
            status = FINDING
    if place is None and not candidates and best is not None and hosts in (None, 1):
        like = _alike(op, n, shape, large)
        if like:
            notes.append(_("the large sizes fit the prediction of: {names}").format(names=", ".join(like)))
    if expected is not None:
        notes.append(expected.valid.reason)
        small = sizes <= 32768
        if small.any() and float(np.median(shape.time_s[small] / expected.time_s[small])) > SLOW_START:
            text = _(
                "small messages take {times:.1f} times what is expected: look at launch latency, CPU clocks and placement"
            )
            notes.append(text.format(times=float(np.median(shape.time_s[small] / expected.time_s[small]))))
    return Sweep(
        op, n, hosts, sizes, shape.time_s, sizes / shape.time_s, shape.busbw_Bps,
        None if expected is None else expected.time_s, None if expected is None else expected.busbw_Bps, ratio,
        None if shape.dips else shape.fit, shape.regime, best, shape.peak_Bps, shape.rising, shape.dips, algorithm,
        None if place is None else place.name, candidates, {b.name: b.busbw_Bps for b in bounds}, wire,
        tuple(arithmetic), status, tuple(findings), causes, tuple(notes),
    )  # fmt: skip


def _expected(op, sizes, place: System | None, n: int, n_hosts: int | None, host_Bps: float | None):
    if place is None:
        return None, ""
    try:
        made = predict(op, sizes, place, n, n_hosts=n_hosts)
    except CourseError as error:
        return None, _("no expectation: {why}").format(why=error)
    out = place.scale_out
    if host_Bps is not None and made.n_hosts > place.hosts_per_domain and out is not None:
        own = out.nics_per_host * out.bandwidth_Bps
        if abs(host_Bps / own - 1) > 0.05:
            text = _("{name} has cards of {own} a host, the machine {given}: no prediction, only bounds.")
            return None, text.format(name=place.name, own=say_rate(own), given=say_rate(host_Bps))
    return made, ""


def _ring_ratio(op, sizes, place, n, hosts, shape, large, host_Bps) -> float | None:
    if place is None or op != "all_reduce" or not place.scale_up.in_network_reduction or not large.any():
        return None
    try:
        ring = predict(op, sizes, place, n, n_hosts=hosts, algorithm="ring")
    except CourseError:
        return None
    return float(np.median((shape.busbw_Bps / ring.busbw_Bps)[large]))


def _by_candidates(op, n, hosts, shape, candidates, large, enough) -> tuple[str, str]:
    """Judge under every system that fits; the verdict stands where all agree."""
    found = {}
    for name in candidates:
        try:
            made = predict(op, shape.message_B, name, n, n_hosts=hosts)
        except CourseError:
            continue
        found[name] = float(np.median((shape.busbw_Bps / np.maximum(made.busbw_Bps, 1e-30))[large]))
    if not found:
        return CANNOT_TELL, _("no system that fits what was read has these ranks; name it with --system")
    shares = ", ".join(f"{name} {say_share(share)}" for name, share in found.items())
    if all(share >= enough for share in found.values()):
        return HEALTHY, _("as expected on every system that fits what was read: {shares} of the prediction").format(
            shares=shares
        )
    if all(share < (0.35 if shape.rising else enough) for share in found.values()):
        return FINDING, _("below what is expected on every system that fits what was read: {shares}").format(
            shares=shares
        )
    return CANNOT_TELL, _("depends on the system: {shares} of the prediction; name it with --system").format(
        shares=shares
    )


def _alike(op, n, shape, large) -> list[str]:
    """Return built-in systems whose prediction is within 10 % at the largest sizes, the nearest first: a hint, no verdict."""
    found = []
    for name in system_names():
        place = load(name)
        if n > place.gpus_per_domain:
            continue
        made = predict(op, shape.message_B, place, n)
        share = float(np.median((shape.busbw_Bps / np.maximum(made.busbw_Bps, 1e-30))[large]))
        if 0.9 <= share <= 1.1:
            found.append((abs(share - 1), name))
    return [name for _far, name in sorted(found)[:5]]
