"""Filling: how full the links are while transfers come and go, the fullest link and the longest way after every change."""

import numpy as np
from numpy.typing import NDArray

from course_lib.fabric.bundles import Ways
from course_lib.fabric.routes import Routes
from course_lib.fabric.topology import Topology


class OnLinks:
    """Loads of all links while transfers come and go; knows the fullest link and the longest way after every change.

    The fullest of 1,024 links at a time is kept, so that a change costs what it touches and not all links.
    """

    BITS = 10
    SPARSE = 64  # fewer than one transfer for so many links: sums are made by sorting, not by a table of all links

    def __init__(self, topology: Topology, paths: Routes, weight, away) -> None:
        self.start, self.first, self.count, self.away = paths.start, paths.first, paths.count, away
        self.part = np.repeat(weight, np.diff(paths.start)) * paths.share
        blocks = (topology.n_links >> self.BITS) + 1
        self.inverse = 1 / topology.bandwidth_Bps
        self.load = np.zeros(topology.n_links)
        self.second = np.zeros((blocks, 1 << self.BITS))
        self.top = np.zeros(blocks)
        self.latencies, self.which = np.unique(paths.latency_s, return_inverse=True)
        self.active = np.zeros(len(self.latencies), np.int64)
        self.crossing = 0
        self.begun: dict[int, tuple] = {}  # what began together most often ends together

    def enter(self, some: slice) -> None:
        """Add transfers, a slice of them."""
        loads = self.bytes_of(some)
        self.change(some, loads, 1)
        self.begun[some.start] = some.stop, loads

    def leave(self, some: slice | NDArray) -> None:
        """Take transfers away, a slice of them or their numbers."""
        known = self.begun.pop(some.start, None) if isinstance(some, slice) else None
        self.change(some, known[1] if known and known[0] == some.stop else self.bytes_of(some), -1)

    def bytes_of(self, some: slice | NDArray) -> tuple[NDArray, NDArray]:
        """Return (links, bytes per byte of message) of transfers; a link may come twice."""
        if isinstance(some, slice):
            runs: slice | NDArray = slice(self.start[some.start], self.start[some.stop])
        else:
            length = np.diff(self.start)[some]
            before = np.cumsum(length) - length
            runs = np.arange(length.sum()) + np.repeat(self.start[some] - before, length)
        first, count, part = self.first[runs], self.count[runs], self.part[runs]
        links, loads = [np.zeros(0, np.int64)], [np.zeros(0)]  # a way from a vertex to itself has no links
        for width in np.flatnonzero(np.bincount(count)):
            # Wide runs begin at few places: each place is summed once, then laid over its links.
            mine = count == width
            places, lump = self._summed(first[mine], part[mine])
            links.append((places[:, None] + np.arange(width)).ravel())
            loads.append(np.repeat(lump, width))
        return np.concatenate(links), np.concatenate(loads)

    def _summed(self, first: NDArray, part: NDArray) -> tuple[NDArray, NDArray]:
        if len(first) * self.SPARSE > len(self.load):
            lump = np.bincount(first, part)
            places = np.flatnonzero(lump)
            return places, lump[places]
        places, which = np.unique(first, return_inverse=True)
        return places, np.bincount(which, part, len(places))

    def change(self, some: slice | NDArray, loads: tuple[NDArray, NDArray], sign: int) -> None:
        """Add transfers with their `bytes_of` (sign 1), or take them away (−1)."""
        self.active += sign * np.bincount(self.which[some], minlength=len(self.active))
        self.crossing += sign * int(np.count_nonzero(self.away[some]))
        links, part = loads
        np.add.at(self.load, links, sign * part)
        self.second.reshape(-1)[links] = self.load[links] * self.inverse[links]
        blocks = np.flatnonzero(np.bincount(links >> self.BITS, minlength=len(self.top)))
        self.top[blocks] = self.second[blocks].max(axis=1)

    def span(self) -> tuple[float, float, int, bool]:
        """Return (longest latency, seconds per byte on the fullest link, that link, whether anything leaves its host)."""
        active = np.flatnonzero(self.active)
        if not active.size:
            return 0.0, 0.0, 0, False
        block = int(np.argmax(self.top))
        inner = int(np.argmax(self.second[block]))
        second = float(self.second[block, inner])
        return float(self.latencies[active[-1]]), second, (block << self.BITS) + inner, self.crossing > 0


class OnBundles:
    """The same over bundles of links that fill alike; what every transfer adds is known, a column for each stretch of a way.

    Links are divided into groups of 256, and the fullest of each group is kept.
    """

    BITS = 8
    FEW = 32  # more than one transfer for so many bundles: all groups are looked at anew

    def __init__(self, found: Ways) -> None:
        self.pieces, self.link, self.away = found.pieces, found.link, found.away
        blocks = (len(found.link) >> self.BITS) + 1
        self.second = np.zeros(blocks << self.BITS)
        self.top = np.zeros(blocks)
        order = np.argsort(found.latency_s)
        self.latencies, self.active = found.latency_s[order], np.zeros(len(order), np.int64)
        self.which = np.argsort(order)[found.latency_class]
        self.crossing = 0

    def enter(self, some: slice) -> None:
        """Add transfers, a slice of them."""
        self._change(some, 1)

    def leave(self, some: slice | NDArray) -> None:
        """Take transfers away, a slice of them or their numbers."""
        self._change(some, -1)

    def _change(self, some: slice | NDArray, sign: int) -> None:
        self.active += sign * np.bincount(self.which[some], minlength=len(self.active))
        self.crossing += sign * int(np.count_nonzero(self.away[some]))
        add = np.add.at if sign > 0 else np.subtract.at
        n = some.stop - some.start if isinstance(some, slice) else len(some)
        touched = None if n * self.FEW > len(self.second) else np.zeros(len(self.top), bool)
        for piece in self.pieces:
            here = _rows(piece.which, some)
            bundle = piece.bundle[here]
            add(self.second, bundle, piece.part[here])
            if touched is not None:
                touched[bundle >> self.BITS] = True
        blocks = slice(None) if touched is None else np.flatnonzero(touched)
        self.top[blocks] = self.second.reshape(-1, 1 << self.BITS)[blocks].max(axis=1)

    def span(self) -> tuple[float, float, int, bool]:
        """Return (longest latency, seconds per byte on the fullest link, that link, whether anything leaves its host)."""
        active = np.flatnonzero(self.active)
        if not active.size:
            return 0.0, 0.0, 0, False
        block = int(np.argmax(self.top)) << self.BITS
        fullest = block + int(np.argmax(self.second[block : block + (1 << self.BITS)]))
        return (
            float(self.latencies[active[-1]]), float(self.second[fullest]), int(self.link[fullest]), self.crossing > 0
        )  # fmt: skip


def _rows(which: NDArray | None, some: slice | NDArray) -> slice | NDArray:
    """Return the rows of a piece that belong to some transfers."""
    if which is None:
        return some
    if isinstance(some, slice):
        return slice(*np.searchsorted(which, (some.start, some.stop)).tolist())
    return np.flatnonzero(np.isin(which, some))
