"""Time = α + m/β: when a message waits for latency, and when for bandwidth."""

import numpy as np

from course_lib.base.errors import CourseError, finite, together, whole
from course_lib.base.language import _

# Where time per byte comes from: latency below a tenth of the half size, bandwidth above ten of them, both in between.
REGIMES = ("latency", "mixed", "bandwidth")
REGIME_FACTOR = 10.0
# What overflows is refused in words by `_plain`, so NumPy need not warn.
QUIET = np.errstate(over="ignore", divide="ignore")


def _checked(message_B, latency_s, bandwidth_Bps):
    checked = {
        "message_B": finite("message_B", message_B, at_least=0, unit="bytes"),
        "latency_s": finite("latency_s", latency_s, at_least=0, unit="s"),
        "bandwidth_Bps": finite("bandwidth_Bps", bandwidth_Bps, above=0, unit="bytes per second"),
    }
    together(**checked)
    return tuple(checked.values())


def _plain(result):
    if not np.isfinite(result).all():
        raise CourseError(_("The result is too large for a number: look at the units of the arguments."))
    return float(result) if np.ndim(result) == 0 else result


@QUIET
def time_s(message_B, latency_s, bandwidth_Bps):
    """Return the time of one message in seconds: latency_s + message_B / bandwidth_Bps.

    Arguments are scalars or arrays that broadcast: message_B ≥ 0 (bytes; zero costs the latency), latency_s ≥ 0,
    bandwidth_Bps > 0 (bytes per second, one direction). Raises CourseError otherwise. Holds for one message at a time
    on an idle link; real links leave the line where protocols change. Source: Hockney, Parallel Computing 20 (1994).

    >>> time_s(0, 2e-6, 450e9), round(time_s(900e3, 2e-6, 450e9) * 1e6, 3)
    (2e-06, 4.0)
    """
    message_B, latency_s, bandwidth_Bps = _checked(message_B, latency_s, bandwidth_Bps)
    return _plain(latency_s + np.divide(message_B, bandwidth_Bps))


@QUIET
def rate_Bps(message_B, latency_s, bandwidth_Bps):
    """Return message_B / time in bytes per second; below bandwidth_Bps, and half of it at the half size.

    Zero bytes move at no rate: 0 is returned (a message of zero bytes without latency has no rate either).

    >>> rate_Bps(900e3, 2e-6, 450e9) / 1e9, rate_Bps(0, 0, 450e9)
    (225.0, 0.0)
    """
    time = np.asarray(time_s(message_B, latency_s, bandwidth_Bps))
    message = np.broadcast_to(message_B, time.shape)
    return _plain(np.divide(message, time, out=np.zeros(time.shape), where=message > 0))


@QUIET
def half_size_B(latency_s, bandwidth_Bps):
    """Return the message that reaches half of the bandwidth, in bytes: latency_s · bandwidth_Bps.

    >>> half_size_B(2e-6, 450e9)
    900000.0
    """
    _message, latency_s, bandwidth_Bps = _checked(0, latency_s, bandwidth_Bps)
    return _plain(np.multiply(latency_s, bandwidth_Bps))


@QUIET
def latency_share(message_B, latency_s, bandwidth_Bps):
    """Return the part of a message's time that is latency, from 0 to 1: latency_s / time; half at the half size.

    Shapes and errors as in `time_s`. A message of zero bytes over a link without latency takes no time: 0 is returned.

    >>> latency_share(900e3, 2e-6, 450e9), latency_share(0, 2e-6, 450e9)
    (0.5, 1.0)
    """
    time = np.asarray(time_s(message_B, latency_s, bandwidth_Bps))
    latency = np.broadcast_to(np.asarray(latency_s, dtype=float), time.shape)
    return _plain(np.divide(latency, time, out=np.zeros(time.shape), where=time > 0))


@QUIET
def regime(message_B, latency_s, bandwidth_Bps):
    """Return "latency", "mixed" or "bandwidth": text for a scalar, an array of text for arrays.

    Below a tenth of the half size at least 91 % of the time is latency; above ten half sizes at least 91 % is bytes over
    bandwidth; the two bounds themselves count as mixed. Without latency every message is bandwidth.

    >>> regime(1024, 2e-6, 450e9), regime(900e3, 2e-6, 450e9), regime(1e9, 2e-6, 450e9)
    ('latency', 'mixed', 'bandwidth')
    """
    message_B, latency_s, bandwidth_Bps = _checked(message_B, latency_s, bandwidth_Bps)
    half = np.multiply(latency_s, bandwidth_Bps)
    index = np.where(
        np.less(message_B, half / REGIME_FACTOR), 0, np.where(np.greater(message_B, half * REGIME_FACTOR), 2, 1)
    )
    index = np.where(np.equal(half, 0), 2, index)
    found = np.asarray(REGIMES)[index]
    return str(found) if np.ndim(found) == 0 else found


@QUIET
def many_s(message_B, count, latency_s, bandwidth_Bps):
    """Return the time of `count` messages of message_B each, one after the other: count · latency + count · message / bandwidth.

    `count` is a whole number of at least 0 (or an array of them); zero messages take no time.

    >>> round(many_s(1e3, 1000, 2e-6, 450e9) * 1e6, 1), round(time_s(1e6, 2e-6, 450e9) * 1e6, 1)
    (2002.2, 4.2)
    """
    if np.ndim(count) == 0:
        count = whole("count", count, at_least=0)
    else:
        given = finite("count", count, at_least=0)
        for wrong in given[given != np.floor(given)].flat[:1]:
            whole("count", float(wrong))
        count = given
    together(count=count, message_B=message_B, latency_s=latency_s, bandwidth_Bps=bandwidth_Bps)
    return _plain(np.multiply(count, time_s(message_B, latency_s, bandwidth_Bps)))


@QUIET
def crossover_B(latency_a_s, bandwidth_a_Bps, latency_b_s, bandwidth_b_Bps):
    """Return the message size at which two links take the same time, in bytes; 0 where one is at least as good at every size.

    Below it the link with less latency is faster, above it the one with more bandwidth.

    >>> round(crossover_B(1e-6, 50e9, 2e-6, 400e9))
    57143
    """
    _m, latency_a_s, bandwidth_a_Bps = _checked(0, latency_a_s, bandwidth_a_Bps)
    _m, latency_b_s, bandwidth_b_Bps = _checked(0, latency_b_s, bandwidth_b_Bps)
    shape = together(
        latency_a_s=latency_a_s,
        bandwidth_a_Bps=bandwidth_a_Bps,
        latency_b_s=latency_b_s,
        bandwidth_b_Bps=bandwidth_b_Bps,
    )
    more_latency = np.asarray(np.subtract(latency_b_s, latency_a_s))
    less_per_byte = np.asarray(np.divide(1.0, bandwidth_a_Bps) - np.divide(1.0, bandwidth_b_Bps))
    more_latency, less_per_byte = np.broadcast_to(more_latency, shape), np.broadcast_to(less_per_byte, shape)
    meets = more_latency * less_per_byte > 0
    return _plain(np.divide(more_latency, less_per_byte, out=np.zeros(shape), where=meets))
