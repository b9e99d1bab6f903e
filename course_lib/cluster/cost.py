"""What a cluster costs a year and a million tokens: hosts, network, building, energy, people, spares, idle time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from course_lib.base.errors import CourseError, together, whole
from course_lib.base.language import _
from course_lib.cluster.inrange import finite, single
from course_lib.cluster.published import YEAR_s, known
from course_lib.fabric.clos import clos

MTOKENS = 1e6
LINES = ("hosts", "spares", "switches", "optics", "building", "electricity", "people")


@dataclass(frozen=True, slots=True)
class Bill:
    """What a cluster costs: `lines` in USD a year by name, the `purchase_usd` they rest on, `power_W` at the meter, counts."""

    n_gpus: int
    lines: dict[str, float]
    purchase_usd: float
    power_W: float
    switches: int
    modules: int
    optics_W: float

    @property
    def usd_per_year(self) -> float:
        """All lines together."""
        return sum(self.lines.values())

    @property
    def usd_per_gpu_hour(self) -> float:
        """What an hour of one GPU costs, used or not."""
        return self.usd_per_year / self.n_gpus / (YEAR_s / 3600)


def yearly_usd(price_usd: ArrayLike, years: float, interest: float):
    """Return the yearly payment that buys something over `years` at an `interest` a year (0.08 for 8 %); broadcasts over prices.

    >>> round(yearly_usd(100.0, 4, 0.0)), round(yearly_usd(100.0, 4, 0.08), 1)
    (25, 30.2)
    """
    price = finite("price_usd", price_usd, at_least=0, unit="USD")
    n, rate = single("years", years, above=0), single("interest", interest, at_least=0)
    if not (1e-3 <= n <= 1000 and rate <= 10):
        raise CourseError(
            _("{n} years at {rate} a year: at most 1,000 years and 10 (1,000 %) are expected.").format(n=n, rate=rate)
        )
    return price / n if rate == 0 else price * rate / (1 - (1 + rate) ** -n)


def bill(
    n_gpus: int,
    *,
    gpus_per_host: int = 8,
    cards_per_host: int = 8,
    oversubscription: float = 1.0,
    optical: bool = True,
    **prices: float,
) -> Bill:
    """Return what a cluster costs a year, line by line.

    Args:
        n_gpus: GPUs that work; a multiple of gpus_per_host.
        gpus_per_host: 8 for a box, 72 for a rack that is bought as one.
        cards_per_host: network cards of a host, each with one port of the network.
        oversubscription: of the leaves.
        optical: cables have an optical module for each two ends; False: passive copper.
        **prices: any number of `published.known` by its name, instead of the published or assumed one (`host_usd`,
            `switch_usd`, `optic_usd`, `optic_W`, `copper_W`, `host_W`, `switch_W`, `electricity_usd_per_kWh`, `pue`, `load_share`,
            `building_usd_per_W`, `building_years`, `life_years`, `interest`, `spare_share`, `staff_share`).

    Returns:
        `Bill`. Spares are bought and powered like the rest, and do no work.

    Raises:
        CourseError: GPUs that do not fill hosts, unknown prices (with the valid names), negative numbers, no network of this size.

    >>> b = bill(1024)
    >>> [name for name, usd in b.lines.items() if usd > 0.1 * b.usd_per_year]
    ['hosts', 'people']
    >>> round(b.usd_per_gpu_hour, 2), bill(1024, optical=False).power_W < b.power_W
    (2.18, True)
    """
    n, g = whole("n_gpus", n_gpus, at_least=1), whole("gpus_per_host", gpus_per_host, at_least=1)
    if n % g:
        text = _("{n} GPUs do not fill hosts of {g}; take {low} or {high}.")
        raise CourseError(text.format(n=n, g=g, low=n // g * g or g, high=(n // g + 1) * g))
    names = (
        "host_usd", "switch_usd", "optic_usd", "optic_W", "copper_W", "host_W", "switch_W", "electricity_usd_per_kWh",
        "pue", "load_share", "building_usd_per_W", "building_years", "life_years", "interest", "spare_share", "staff_share",
    )  # fmt: skip
    for name in prices:
        if name not in names:
            raise CourseError(_("There is no price {name}; valid: {valid}.").format(name=name, valid=", ".join(names)))
    p = {name: single(name, prices[name], at_least=0) if name in prices else known(name).value for name in names}
    if p["pue"] < 1:
        raise CourseError(_("pue is {value}; a site draws at least what its hosts draw (1).").format(value=p["pue"]))
    hosts = n // g
    net = clos(hosts, cards_per_host, oversubscription=oversubscription) if hosts > 1 else None
    switches, cables = (net.n_switches, net.n_cables) if net else (0, 0)
    modules = cables if optical else 0  # a module serves two ends, and a cable has two
    optics_W = modules * p["optic_W"] if optical else 2 * cables * p["copper_W"]
    spare_hosts = hosts * p["spare_share"]
    working_W = (hosts + spare_hosts) * p["host_W"] * p["load_share"] + switches * p["switch_W"] + optics_W
    most_W = (hosts + spare_hosts) * p["host_W"] + switches * p["switch_W"] + optics_W
    meter_W = working_W * p["pue"]
    bought = {
        "hosts": hosts * p["host_usd"],
        "spares": spare_hosts * p["host_usd"],
        "switches": switches * p["switch_usd"],
        "optics": modules * p["optic_usd"],
    }
    lines = {name: yearly_usd(usd, p["life_years"], p["interest"]) for name, usd in bought.items()}
    lines["building"] = yearly_usd(most_W * p["building_usd_per_W"], p["building_years"], p["interest"])
    lines["electricity"] = meter_W / 1000 * (YEAR_s / 3600) * p["electricity_usd_per_kWh"]
    purchase = sum(bought.values())
    lines["people"] = purchase * p["staff_share"]
    return Bill(n, {name: float(lines[name]) for name in LINES}, purchase, meter_W, switches, modules, optics_W)


def usd_per_million_tokens(usd_per_year: ArrayLike, tokens_per_s: ArrayLike, useful: ArrayLike = 1.0):
    """Return USD for a million tokens that count: cost of a year over the tokens of a year's useful time; broadcasts.

    Args:
        usd_per_year: everything, whether the machine works or not (`Bill.usd_per_year`).
        tokens_per_s: of the whole cluster while it trains or serves.
        useful: share of the time that counts (goodput, times the share of the day there is work).

    >>> round(usd_per_million_tokens(31.536e6, 1e6, 0.8), 2)
    1.25
    """
    usd = finite("usd_per_year", usd_per_year, at_least=0, unit="USD")
    rate = finite("tokens_per_s", tokens_per_s, above=0)
    share = finite("useful", useful, above=0)
    if (np.asarray(share) > 1).any():
        raise CourseError(_("useful is {value}; a share of at most 1 is expected.").format(value=useful))
    together(usd_per_year=usd, tokens_per_s=rate, useful=share)
    return usd / (rate * share * YEAR_s / MTOKENS)


def purchase_only_usd(host_usd: float, n_hosts: int, years: float, tokens_per_s: float) -> float:
    """Return what a million tokens seem to cost when only the hosts are counted and always work: the usual mistake.

    >>> b = bill(1024)
    >>> naive = purchase_only_usd(known("host_usd").value, 128, 4, 4e5)
    >>> round(usd_per_million_tokens(b.usd_per_year, 4e5, 0.9) / naive, 1)
    2.1
    """
    price, n = single("host_usd", host_usd, at_least=0), whole("n_hosts", n_hosts, at_least=1, at_most=10**9)
    return (
        price * n / (single("years", years, above=0) * YEAR_s * single("tokens_per_s", tokens_per_s, above=0)) * MTOKENS
    )


def joules_per_token(power_W: ArrayLike, tokens_per_s: ArrayLike, useful: ArrayLike = 1.0):
    """Return the energy of one token that counts, in joules, from power at the meter; broadcasts.

    >>> joules_per_token(1e6, 4e5, 0.8)
    3.125
    """
    power, rate = finite("power_W", power_W, at_least=0, unit="W"), finite("tokens_per_s", tokens_per_s, above=0)
    share = finite("useful", useful, above=0)
    together(power_W=power, tokens_per_s=rate, useful=share)
    return power / (rate * share)
