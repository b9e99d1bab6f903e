"""Who shares a link with whom: bytes on every link, max–min fair rates, the fullest link, flows that meet by chance."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import CourseError, finite, whole
from course_lib.base.language import _
from course_lib.fabric.cuts import path_Bps
from course_lib.fabric.routes import Routes
from course_lib.fabric.topology import Topology

MAX_ENTRIES = 30_000_000
MAX_SHARERS = 4096


def loads(topology: Topology, paths: Routes, message_B: ArrayLike) -> NDArray[np.float64]:
    """Return (n_links,) bytes on every link when each pair sends message_B.

    Args:
        topology: the machine.
        paths: routes of p pairs.
        message_B: one size, or (p,) sizes; fractions of a byte are fine.

    Raises:
        CourseError: negative or not finite sizes, or not as many as pairs.

    >>> from course_lib.fabric.routes import routes
    >>> from course_lib.fabric.scaleup import nvswitch_box
    >>> box = nvswitch_box("hgx-h100", 8, (5, 4, 4, 5), 25e9)
    >>> loads(box, routes(box, 0, 7), 18.0)[:8:2].tolist()
    [5.0, 4.0, 4.0, 5.0]
    """
    given = np.asarray(finite("message_B", message_B, at_least=0))
    if given.ndim > 1 or (given.ndim == 1 and given.size not in (1, paths.n_pairs)):
        raise CourseError(
            _("message_B holds {n} sizes for {p} pairs; give one, or one for each.").format(
                n=given.size, p=paths.n_pairs
            )
        )
    bytes_per_pair = np.broadcast_to(given, paths.n_pairs)
    weight = bytes_per_pair[paths.pair] * paths.share
    single = paths.count == 1
    if single.all():
        return np.bincount(paths.first, weights=weight, minlength=topology.n_links).astype(float)  # of nothing, counts
    load = np.bincount(paths.first[single], weights=weight[single], minlength=topology.n_links).astype(float)
    # Wide runs are few kinds (one per leaf or pod): sum each kind once, then lay it over its links.
    wide = ~single
    width = int(paths.count.max()) + 1
    runs, which = np.unique(paths.first[wide] * width + paths.count[wide], return_inverse=True)
    first, count = runs // width, runs % width
    summed = np.bincount(which, weights=weight[wide], minlength=len(runs))
    link = np.repeat(first, count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    load += np.bincount(link, weights=np.repeat(summed, count), minlength=topology.n_links)
    return load


def busiest(topology: Topology, load_B: ArrayLike) -> tuple[int, float]:
    """Return (link, seconds): the link that takes longest to carry its load, and how long; the first among equals.

    >>> from course_lib.fabric.patterns import incast
    >>> from course_lib.fabric.registry import build
    >>> from course_lib.fabric.routes import routes
    >>> from course_lib.fabric.topology import link_name
    >>> box = build("hgx-h100")
    >>> link, time_s = busiest(box, loads(box, routes(box, *incast(8, 7)), 450e9))
    >>> link_name(box, link), round(time_s, 9)
    ('nvswitch 0 → gpu 7', 7.0)
    """
    load = np.atleast_1d(finite("load_B", load_B, at_least=0))
    if len(load) != topology.n_links:
        raise CourseError(
            _("load_B holds {n} numbers; {name} has {links} links.").format(
                n=len(load), name=topology.name, links=topology.n_links
            )
        )
    if topology.n_links == 0:
        raise CourseError(_("{name} has no links.").format(name=topology.name))
    time_s = load / topology.bandwidth_Bps
    # Links that are equal but for rounding: name the first.
    link = int(np.flatnonzero(time_s >= time_s.max() * (1 - 1e-12))[0])
    return link, float(time_s[link])


def max_min_rates(topology: Topology, paths: Routes) -> NDArray[np.float64]:
    """Return (p,) fair rates in bytes per second: no flow can get more without a slower or equal one getting less.

    All rates grow together; when a link is full, the flows over it stop growing (progressive filling).

    Args:
        topology: the machine.
        paths: routes of p flows; a flow over several paths keeps their proportions.

    Returns:
        Rates of the flows alone and without end; inf for a flow from a vertex to itself, which uses no link.

    Raises:
        CourseError: routes spread over more than 30 million links (take fewer flows, or a choice of one path).

    Validity: flows that last long and a fair transport. Real cards share by packets, and some starve.

    >>> from course_lib.fabric.patterns import incast
    >>> from course_lib.fabric.registry import build
    >>> from course_lib.fabric.routes import routes
    >>> box = build("hgx-h100")
    >>> (max_min_rates(box, routes(box, *incast(8, 7))) / 1e9).round(1).tolist()
    [64.3, 64.3, 64.3, 64.3, 64.3, 64.3, 64.3]
    """
    if int(paths.count.sum()) > MAX_ENTRIES:
        raise CourseError(
            _("These routes name {n} links; fair rates are found for at most {most}.").format(
                n=int(paths.count.sum()), most=MAX_ENTRIES
            )
        )
    flow, link, share = paths.spread()
    rate = np.full(paths.n_pairs, np.inf)
    # Only links that some flow uses, numbered anew.
    used, link = np.unique(link, return_inverse=True)
    room = topology.bandwidth_Bps[used].copy()
    while len(flow):
        weight = np.bincount(link, weights=share, minlength=len(used))
        fair = np.divide(np.maximum(room, 0), weight, out=np.full(len(used), np.inf), where=weight > 0)
        least = np.full(paths.n_pairs, np.inf)
        np.minimum.at(least, flow, fair[link])
        # A link that is the tightest of all its flows will fill first, wherever else they go: all such links at once.
        tightest = np.full(len(used), np.inf)
        np.minimum.at(tightest, link, least[flow])
        full = tightest >= fair * (1 - 1e-12)
        stopped = np.zeros(paths.n_pairs, bool)
        stopped[flow[full[link]]] = True
        rate[stopped] = least[stopped]
        gone = stopped[flow]
        room -= np.bincount(link[gone], weights=share[gone] * rate[flow[gone]], minlength=len(used))
        flow, link, share = flow[~gone], link[~gone], share[~gone]
    return rate


def sharers(topology: Topology, paths: Routes) -> NDArray[np.int64]:
    """Return (p, p) on how many links each two flows meet; the diagonal is how many links a flow uses.

    >>> from course_lib.fabric.registry import build
    >>> from course_lib.fabric.routes import routes
    >>> tree = build("pcie-8")
    >>> sharers(tree, routes(tree, [0, 1, 6], [2, 3, 7])).tolist()
    [[4, 2, 0], [2, 4, 0], [0, 0, 2]]
    """
    if paths.n_pairs > MAX_SHARERS:
        raise CourseError(
            _("A table of {n} × {n} flows is too large; at most {most}.").format(n=paths.n_pairs, most=MAX_SHARERS)
        )
    flow, link, _share = paths.spread()
    used, link = np.unique(link, return_inverse=True)
    table = np.zeros((paths.n_pairs, paths.n_pairs), np.int64)
    for part in range(0, len(used), 4096):  # links in slices keep the incidence small
        here = (link >= part) & (link < part + 4096)
        on = np.zeros((paths.n_pairs, min(4096, len(used) - part)), np.float32)
        on[flow[here], link[here] - part] = 1
        table += (on @ on.T).astype(np.int64)
    return table


def slowed_by(topology: Topology, paths: Routes) -> NDArray[np.float64]:
    """Return (p,) how many times slower each flow is among all of them than alone, by max–min fair rates (at least 1).

    >>> from course_lib.fabric.registry import build
    >>> from course_lib.fabric.routes import routes
    >>> tree = build("pcie-8")
    >>> slowed_by(tree, routes(tree, [0, 1, 6], [2, 3, 7])).round(6).tolist()
    [2.0, 2.0, 1.0]
    """

    alone, fair = path_Bps(topology, paths), max_min_rates(topology, paths)
    return np.where(
        np.isfinite(alone), np.where(np.isfinite(alone), alone, 1) / np.where(np.isfinite(fair), fair, 1), 1.0
    )


def fullest_of_hashed(n_flows: int, n_paths: int, *, trials: int = 1000, seed: int = 0) -> NDArray[np.int64]:
    """Return (trials,) how many flows meet on the fullest of n paths when each picks one by hash.

    The even share is n_flows / n_paths; the mean over trials, divided by it, is how much ECMP costs the slowest flow.

    >>> worst = fullest_of_hashed(32, 32)
    >>> float(worst.mean().round(1)), int(worst.min()) >= 1
    (3.5, True)
    """
    k, m = whole("n_flows", n_flows, at_least=0), whole("n_paths", n_paths, at_least=1)
    t = whole("trials", trials, at_least=1, at_most=100_000)
    if t * max(k, m) > MAX_ENTRIES:
        raise CourseError(_("{t} trials of {k} flows on {m} paths are too many; take fewer.").format(t=t, k=k, m=m))
    picked = np.random.default_rng(whole("seed", seed, at_least=0)).integers(m, size=(t, k))
    counts = np.bincount((picked + m * np.arange(t)[:, None]).ravel(), minlength=t * m)
    return counts.reshape(t, m).max(1)
