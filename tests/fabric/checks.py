"""What every set of routes has to satisfy, whatever the machine."""

import numpy as np


def assert_conserved(topology, src, dst, paths):
    """One unit leaves src and arrives at dst of every pair, and nothing is lost or made between."""
    pair, link, share = paths.spread()
    n, v = paths.n_pairs, topology.n_vertices
    assert n == len(src)
    left = np.zeros(n * v)
    np.add.at(left, pair * v + topology.src[link], share)
    np.add.at(left, pair * v + topology.dst[link], -share)
    np.add.at(left, np.arange(n) * v + src, -1.0)
    np.add.at(left, np.arange(n) * v + dst, 1.0)
    np.testing.assert_allclose(left, 0, atol=1e-12)
    assert (share > 0).all()
    assert (share <= 1 + 1e-12).all()


def all_gpu_pairs(topology):
    n = topology.n_gpus
    return np.divmod(np.arange(n * n), n)
