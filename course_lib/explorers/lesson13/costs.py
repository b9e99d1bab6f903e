"""Lesson 13: what a cluster and its tokens cost."""

from functools import lru_cache

from course_lib.cluster import cost
from course_lib.cluster.published import known
from course_lib.explorers.lesson13.job import tokens_per_s_per_gpu
from course_lib.figures import paying


@lru_cache(maxsize=8)
def bill(n_gpus: int = 16384) -> cost.Bill:
    """Return what a year of a cluster of 8-GPU hosts costs.

    >>> round(bill().usd_per_gpu_hour, 1)
    2.3
    """
    return cost.bill(n_gpus)


def bill_picture(n_gpus: int = 16384):
    """Return the lines of that bill.

    >>> len(bill_picture().data)
    1
    """
    return paying.bill(bill(n_gpus).lines, n_gpus)


def usd_per_million(useful: float, n_gpus: int = 16384) -> float:
    """Return what a million trained tokens of Llama 3 405B cost with this share of useful time.

    >>> usd_per_million(0.5) > 1.7 * usd_per_million(0.9)
    True
    """
    return cost.usd_per_million_tokens(bill(n_gpus).usd_per_year, n_gpus * tokens_per_s_per_gpu(), useful)


def purchase_only(n_gpus: int = 16384) -> float:
    """Return what it seems to cost when the hosts are the only cost and never stop.

    >>> purchase_only() < usd_per_million(1.0)
    True
    """
    years = known("life_years").value
    return cost.purchase_only_usd(known("host_usd").value, n_gpus // 8, years, n_gpus * tokens_per_s_per_gpu())


def energy_J(useful: float, n_gpus: int = 16384) -> float:
    """Return the joules of one trained token that stays, at the meter.

    >>> round(energy_J(0.93))
    10
    """
    return cost.joules_per_token(bill(n_gpus).power_W, n_gpus * tokens_per_s_per_gpu(), useful)
