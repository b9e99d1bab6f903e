"""How often to save: the interval of Young, the one of Daly, the exact one, and saving in the background."""

import numpy as np
from numpy.typing import ArrayLike

from course_lib.base.errors import together
from course_lib.cluster.inrange import finite


def write_s(checkpoint_B: ArrayLike, storage_Bps: ArrayLike):
    """Return the seconds to write a checkpoint of all ranks together to storage with this total rate; broadcasts.

    >>> round(write_s(16_384 * 4e9, 2e12), 1)
    32.8
    """
    size = finite("checkpoint_B", checkpoint_B, at_least=0, unit="B")
    rate = finite("storage_Bps", storage_Bps, above=0, unit="B/s")
    together(checkpoint_B=size, storage_Bps=rate)
    return size / rate


def _two(save_s: ArrayLike, between_s: ArrayLike):
    save = finite("save_s", save_s, above=0, unit="s")
    between = finite("between_s", between_s, above=0, unit="s")
    together(save_s=save, between_s=between)
    return np.asarray(save, float), np.asarray(between, float)


def _plain(value):
    return float(value) if np.ndim(value) == 0 else value


def young_s(save_s: ArrayLike, between_s: ArrayLike):
    """Return Young's interval √(2 · save · between): seconds of training between two checkpoints; broadcasts.

    Args:
        save_s: seconds that training stands still for a checkpoint.
        between_s: mean seconds between failures of the whole job.

    Validity: save_s far below between_s; then the training lost to saving equals the training lost to redoing.
    Source: Young, A First Order Approximation to the Optimum Checkpoint Interval, CACM 17 (1974).

    >>> round(young_s(30.0, 3.09 * 3600))
    817
    """
    save, between = _two(save_s, between_s)
    return _plain(np.sqrt(2 * save * between))


def daly_s(save_s: ArrayLike, between_s: ArrayLike):
    """Return Daly's interval: seconds of training between two checkpoints, good up to save_s near twice between_s; broadcasts.

    √(2δM) · (1 + √(δ/2M)/3 + (δ/2M)/9) − δ below δ = 2M, else M.
    Source: Daly, A Higher Order Estimate of the Optimum Checkpoint Interval for Restart Dumps, FGCS 22 (2006).

    >>> round(daly_s(30.0, 3.09 * 3600)), daly_s(100.0, 40.0)
    (797, 40.0)
    """
    save, between = _two(save_s, between_s)
    x = save / (2 * between)
    return _plain(np.where(x < 1, np.sqrt(2 * save * between) * (1 + np.sqrt(x) / 3 + x / 9) - save, between))


def best_s(save_s: ArrayLike, between_s: ArrayLike):
    """Return the interval that keeps most of the time for training, exactly, for failures that come at any time alike.

    With interval τ, save δ and mean time between failures M the useful share is highest where (1 − τ/M) e^(τ/M) =
    e^(−δ/M); restarts do not move it. Solved by bisection to the last digit; broadcasts.

    >>> best_s(30.0, 3.09 * 3600) - daly_s(30.0, 3.09 * 3600) < 0.1
    True
    >>> round(best_s(100.0, 40.0), 1)  # Daly's rule says 40
    38.8
    """
    save, between = _two(save_s, between_s)
    save, between = np.broadcast_arrays(save, between)
    ratio = save / between
    low, high = np.zeros(ratio.shape), np.ones(ratio.shape)
    for _round in range(80):
        y = (low + high) / 2
        # log of both sides: log(1 − y) + y against −δ/M; the left side falls from 0.
        above = np.log1p(-np.minimum(y, 1 - 1e-16)) + y > -ratio
        low, high = np.where(above, y, low), np.where(above, high, y)
    return _plain((low + high) / 2 * between)


def background_s(stall_s: ArrayLike, flush_s: ArrayLike, between_s: ArrayLike):
    """Return the best interval of asynchronous saving: training stands still for `stall_s`, then the copy flows out for `flush_s`.

    The interval is that of the short stall, but no shorter than the flush: a new copy has to wait for the last one.
    What a failure costs more is the lateness in `goodput.useful`. Broadcasts.

    >>> background_s(1.0, 30.0, 3.09 * 3600) < best_s(30.0, 3.09 * 3600)
    True
    >>> background_s(0.01, 30.0, 3600.0)
    30.0
    """
    flush = finite("flush_s", flush_s, at_least=0, unit="s")
    best = best_s(stall_s, between_s)
    together(stall_s=stall_s, flush_s=flush, between_s=between_s)
    return _plain(np.maximum(best, flush))
