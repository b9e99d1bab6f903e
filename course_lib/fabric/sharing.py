"""Who shares a link with whom: bytes on every link, fair rates, and the patterns of traffic that show it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.base.errors import finite
from course_lib.fabric.routes import Routes
from course_lib.fabric.topology import Topology


def loads(topology: Topology, paths: Routes, message_B: ArrayLike) -> NDArray[np.float64]:
    """Return (n_links,) bytes on every link when each pair sends message_B (one number, or one per pair).

    >>> from course_lib.fabric.routes import routes
    >>> from course_lib.fabric.scaleup import nvswitch_box
    >>> box = nvswitch_box("hgx-h100", 8, (5, 4, 4, 5), 25e9)
    >>> loads(box, routes(box, 0, 7), 18.0)[:8:2].tolist()
    [5.0, 4.0, 4.0, 5.0]
    """
    bytes_per_pair = np.broadcast_to(finite("message_B", message_B, at_least=0), paths.n_pairs)
    weight = bytes_per_pair[paths.pair] * paths.share
    single = paths.count == 1
    if single.all():
        return np.bincount(paths.first, weights=weight, minlength=topology.n_links)
    load = np.bincount(paths.first[single], weights=weight[single], minlength=topology.n_links)
    # Wide runs are few kinds (one per leaf or pod): sum each kind once, then lay it over its links.
    wide = ~single
    width = int(paths.count.max()) + 1
    runs, which = np.unique(paths.first[wide] * width + paths.count[wide], return_inverse=True)
    first, count = runs // width, runs % width
    summed = np.bincount(which, weights=weight[wide], minlength=len(runs))
    link = np.repeat(first, count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    load += np.bincount(link, weights=np.repeat(summed, count), minlength=topology.n_links)
    return load
