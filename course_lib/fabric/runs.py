"""Routes of many pairs as runs of consecutive links with equal shares, and the hash that picks one among them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from course_lib.fabric.topology import Topology


@dataclass(frozen=True, slots=True, eq=False)
class Routes:
    """Routes of p pairs. Pair i uses runs start[i] … start[i+1]-1; a run is `count` links from `first` on.

    Each link of a run carries the fraction `share` of the pair's bytes. `latency_s` is the path's latency (the mean
    over its links' shares, where several paths are used at once).
    """

    start: NDArray[np.int64]  # (p+1,)
    first: NDArray[np.int64]  # (r,) first link of each run
    count: NDArray[np.int64]  # (r,) links in the run
    share: NDArray[np.float64]  # (r,) fraction of the pair's bytes on each link of the run
    latency_s: NDArray[np.float64]  # (p,)

    @property
    def n_pairs(self) -> int:
        return len(self.start) - 1

    @property
    def pair(self) -> NDArray[np.int64]:
        """(r,) the pair each run belongs to."""
        return np.repeat(np.arange(self.n_pairs), np.diff(self.start))

    def take(self, pairs: ArrayLike) -> "Routes":
        """Return the routes of some pairs, by index or by mask, in that order."""
        pairs = np.asarray(pairs)
        pairs = np.flatnonzero(pairs) if pairs.dtype == bool else pairs.astype(np.int64)
        length = np.diff(self.start)[pairs]
        start = np.concatenate([[0], np.cumsum(length)])
        runs = np.arange(start[-1]) + np.repeat(self.start[pairs] - start[:-1], length)
        return Routes(start, self.first[runs], self.count[runs], self.share[runs], self.latency_s[pairs])

    def spread(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return (pair, link, share), one entry per link: long for adaptive routes of many pairs."""
        pair = np.repeat(self.pair, self.count)
        offset = np.arange(len(pair)) - np.repeat(np.cumsum(self.count) - self.count, self.count)
        return pair, np.repeat(self.first, self.count) + offset, np.repeat(self.share, self.count)


def from_entries(
    topology: Topology, n_pairs: int, pair: NDArray, first: NDArray, count: NDArray, share: NDArray
) -> Routes:
    """Return Routes from runs that are sorted by pair; latency is the share-weighted sum.

    >>> from course_lib.fabric.registry import build
    >>> mesh, one = build("mi300x"), np.array([1])
    >>> from_entries(mesh, 2, one, np.array([0]), one, np.array([1.0])).start.tolist()
    [0, 0, 1]
    """
    start = np.concatenate([[0], np.cumsum(np.bincount(pair, minlength=n_pairs))]).astype(np.int64, copy=False)
    weight = topology.latency_s[first]
    weight *= share
    weight *= count
    latency = np.bincount(pair, weights=weight, minlength=n_pairs)
    whole = (x.astype(np.int64, copy=False) for x in (first, count))
    return Routes(start, *whole, share.astype(np.float64, copy=False), latency)


def gather(topology: Topology, n_pairs: int, pieces: list[tuple]) -> Routes:
    """Return Routes from pieces `(pair, first, count, share)` in the order of travel; within a piece pairs ascend.

    >>> from course_lib.fabric.registry import build
    >>> first_hop, second_hop = (np.array([0, 1]), [0, 2], 1, 1.0), (np.array([1]), [5], 1, 1.0)
    >>> gather(build("mi300x"), 2, [first_hop, second_hop]).first.tolist()
    [0, 2, 5]
    """
    length = np.zeros(n_pairs, np.int64)
    for pair, *_rest in pieces:
        length += np.bincount(pair, minlength=n_pairs)
    start = np.concatenate([[0], np.cumsum(length)])
    cursor = start[:-1].copy()
    first, count, share = np.empty(start[-1], np.int64), np.empty(start[-1], np.int64), np.empty(start[-1])
    for pair, piece_first, piece_count, piece_share in pieces:
        at = cursor[pair]
        if len(pair) > 1 and (pair[1:] == pair[:-1]).any():
            begins = np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]])
            at = at + np.arange(len(pair)) - np.repeat(begins, np.diff(np.r_[begins, len(pair)]))
        first[at], count[at], share[at] = piece_first, piece_count, piece_share
        cursor += np.bincount(pair, minlength=n_pairs)
    return from_entries(topology, n_pairs, np.repeat(np.arange(n_pairs), length), first, count, share)


def mix(*parts: NDArray | int) -> NDArray[np.uint64]:
    """Return a well-mixed 64-bit hash of whole numbers (splitmix64), the same on every machine.

    >>> int(mix(1, 2)) == int(mix(1, 2)), int(mix(1, 2)) == int(mix(2, 1))
    (True, False)
    """
    with np.errstate(over="ignore"):
        state = np.zeros((), np.uint64)
        for part in parts:
            state = state ^ np.asarray(part).astype(np.uint64)
            state = state + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return state
