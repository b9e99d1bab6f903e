"""A design as an object that models price: parts, placement, precision, spares, checkpoints → claims for the gates.

Nobody types what a design reaches. A design says what is bought and how it is run; latency, tokens a second, goodput and cost come
from `plan.serving`, `timing.tuning`, `cluster.goodput` and `cluster.cost`. By day the pool serves one model, by night it trains another.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from course_lib.base.errors import CourseError, one_of
from course_lib.base.language import _
from course_lib.base.units import GiB
from course_lib.cluster import checkpoints, cost, goodput
from course_lib.cluster.catalogue import Item, item
from course_lib.cluster.claims import Claim, Claims
from course_lib.cluster.loadmix import variant
from course_lib.cluster.proposal import PRECISIONS, Proposal, proposal
from course_lib.cluster.published import DAY_s, fleet, known
from course_lib.cluster.quantities import MEASURES
from course_lib.cluster.reliability import host_rate_per_s
from course_lib.plan import expertruns, servedruns
from course_lib.plan.pools import Fit
from course_lib.plan.served import Layout, fits, most_requests
from course_lib.plan.serving import decode
from course_lib.plan.transformer import model, params
from course_lib.timing.tuning import predict

REFERENCE = "fp8"  # the model is published in it, so answers in it are what quality is compared with
STATE_B = 14  # bytes a parameter in a checkpoint: weights of 2, and 12 of the optimizer
REPAIR_s = DAY_s


@dataclass(frozen=True, slots=True)
class Work:
    """What the pool is for. By day it serves `model` with `context` tokens before each new one, `tokens_per_s` at the busy hour.

    `busy` is the share of the year it does so. By night it trains `student` whole; `bucket_B` is the largest all-reduce of its
    gradients.
    """

    model: str = "deepseek-v3"
    context: int = 4096
    tokens_per_s: float = 80_000.0
    busy: float = 0.5
    student: str = "llama3-70b"
    bucket_B: float = 1 * GiB


@dataclass(frozen=True, slots=True)
class Priced:
    """What the models say of a design, in SI units. `usd_per_mtoken` counts tokens that are asked for and delivered, no others.

    `outside` holds a sentence for every reason why predictions of serving may not decide, `all_reduce_known` says it of the other;
    `fit` says whether a copy fits its GPUs.
    """

    proposal: Proposal
    item: Item
    fit: Fit
    copies: int
    latency_s: float
    tokens_per_s: float
    all_reduce_s: float
    goodput: float
    between_s: float
    best_interval_s: float
    usd_per_mtoken: float
    bill: cost.Bill
    quality_loss: float | None
    outside: tuple[str, ...]
    all_reduce_known: bool


@cache
def margin() -> float:
    """Return what the least favourable published run of decoding reached of its prediction; every claim is cut by it.

    >>> 0.5 < margin() < 1
    True
    """
    seen = [run.measured_per_s / run.model_per_s for run in servedruns.served() if run.phase == "decode"]
    return min(1.0, *seen)


@cache
def measured_ranks(system: str) -> int:
    """Return the most GPUs of a system on which experts were measured, exchanged or served; 0 if nobody published any.

    >>> measured_ranks("gb200-nvl72"), measured_ranks("gb300-nvl72")
    (48, 0)
    """
    runs = [run.n_ranks for run in expertruns.runs() if run.system == system]
    return max([0, *runs, *(run.n_gpus for run in servedruns.served() if run.system == system)])


def _copies(part: Item, working: int, ranks: int) -> int:
    """Copies that the working hosts carry: whole ones in every domain, or across boxes where one needs more than a domain."""
    place = part.system
    if ranks > place.gpus_per_domain:
        return working * place.gpus_per_host // ranks
    full, rest = divmod(working, place.hosts_per_domain)
    return full * (place.gpus_per_domain // ranks) + rest * place.gpus_per_host // ranks


def price(given: Proposal | Mapping, work: Work | None = None) -> Priced:
    """Return what the models say of a design for some work (None: the brief's).

    Raises CourseError for designs that are none (see `proposal`), and where not even one copy of the model has its GPUs. A copy that
    does not fit in memory is priced all the same; `fit` says so and `claims` refuses it.

    Validity: `plan.serving` (decoding, nothing overlapped, cut by `margin`), `timing.tuning` (one all-reduce), failures at the rate of
    the Llama 3 run for every part, a repair of a day, the restart of a published cluster, storage that grows with the GPUs as theirs.

    >>> placed = dict(cards=8, tensor=1, expert=8, requests=1024)
    >>> found = price(dict(part="b200-box", units=4, spares=1, precision="fp8", interval_s=72e3, **placed))
    >>> found.fit.fits, found.copies, 0.02 < found.latency_s < 0.06
    (True, 3, True)
    """
    return _price(proposal(given), work or Work())


@lru_cache(maxsize=4096)
def _price(p: Proposal, work: Work) -> Priced:
    part = item(p.part)
    system = variant(part.system, part.system.name, cards=p.cards)
    working = part.hosts_per_unit * p.units - p.spares
    layout = Layout(tensor=p.tensor, expert=p.expert, weight_B=PRECISIONS[p.precision])
    n_gpus = working * system.gpus_per_host
    if layout.n_ranks > n_gpus:
        text = _("One copy needs {ranks} GPUs, and {n} work (bought less spares). Take more units, or fewer ranks.")
        raise CourseError(text.format(ranks=layout.n_ranks, n=n_gpus))
    copies = _copies(part, working, layout.n_ranks)
    if not copies:
        text = _("A copy of {ranks} GPUs fits into no domain whole; the working hosts have {n}. Take fewer ranks.")
        raise CourseError(text.format(ranks=layout.n_ranks, n=n_gpus))
    step = decode(work.model, system, layout, p.requests, work.context)
    fit = fits(work.model, layout, system.gpu, p.requests, work.context, n_gpus=n_gpus)
    rate = copies * float(step.tokens_per_s) * margin()
    if n_gpus > 1:
        reduce = predict("all_reduce", work.bucket_B, system, n_gpus)
        reduce_s, known_reduce = float(reduce.time_s), reduce.valid.inside
    else:
        reduce_s, known_reduce = 0.0, True
    between_s = 1 / (host_rate_per_s() * n_gpus / fleet("llama3-405b").gpus_per_host)
    save_s = _save_s(work.student, n_gpus)
    restart_s = known("restart-lablup").value
    present = 1 - goodput.waiting(between_s, REPAIR_s, p.spares)
    kept = present * goodput.useful(between_s, p.interval_s, save_s, restart_s).useful
    bill = _bill(part, p.units, p.cards)
    sold = min(rate, work.tokens_per_s)
    serves = work.busy * present * math.exp(-restart_s / between_s)
    return Priced(
        p,
        part,
        fit,
        copies,
        float(step.step_s) / margin(),
        rate,
        reduce_s,
        float(kept),
        between_s,
        float(checkpoints.best_s(save_s, between_s)),
        float(cost.usd_per_million_tokens(bill.usd_per_year, sold, serves)),
        bill,
        0.0 if PRECISIONS[p.precision] >= PRECISIONS[REFERENCE] else None,
        tuple(_outside(part, layout.n_ranks)),
        known_reduce and part.status != "announced",
    )


def _save_s(student: str, n_gpus: int) -> float:
    """Seconds of a checkpoint: the student's state over storage that each GPU has its share of, as in the Llama 3 cluster."""
    storage_Bps = known("storage").value * n_gpus / fleet("llama3-405b").gpus
    return float(checkpoints.write_s(STATE_B * params(model(student)).total, storage_Bps))


def _bill(part: Item, units: int, cards: int) -> cost.Bill:
    """The bill of all units; spares are among them, so none are added."""
    return cost.bill(
        units * part.gpus,
        gpus_per_host=part.gpus,
        cards_per_host=cards * part.hosts_per_unit,
        host_usd=part.price.value,
        host_W=part.power.value,
        spare_share=0.0,
    )


def _outside(part: Item, ranks: int) -> list[str]:
    """Why predictions of serving on this part may not decide."""
    found, seen = [], measured_ranks(part.system.name)
    if part.status == "announced":
        found.append(_("{title} is announced: nobody outside has measured one.").format(title=part.title))
    elif not seen:
        found.append(_("No measurement of experts on {title} was published.").format(title=part.title))
    elif ranks > seen:
        text = _("Experts on {title} were measured on up to {seen} GPUs, and a copy has {ranks}.")
        found.append(text.format(title=part.title, seen=seen, ranks=ranks))
    return found


def claims(priced: Priced, name: str = "", reason: str = "", would_change_my_mind: str = "") -> Claims:
    """Return a priced design as `cluster.gates.check` takes it: every number predicted, with its validity.

    Precision below the published one makes no claim about quality: there a person needs a measurement. Raises CourseError with
    the sentence of the fit where a copy does not fit in memory.

    >>> from course_lib.cluster.gates import check
    >>> placed = dict(cards=8, tensor=1, expert=8, requests=1024)
    >>> d = dict(part="b200-box", units=4, spares=1, precision="fp4", interval_s=72e3, **placed)
    >>> sorted(claims(price(d)).claims)[:2], "quality_loss" in claims(price(d)).claims
    (['all_reduce_time', 'budget'], False)
    """
    if not priced.fit.fits:
        raise CourseError(_("This design does not fit in memory. {why}").format(why=priced.fit.sentence))
    inside, note = not priced.outside, " ".join(priced.outside)
    shipping = priced.item.status != "announced"
    values = {
        "token_latency": (priced.latency_s, inside),
        "tokens_per_s": (priced.tokens_per_s, inside),
        "all_reduce_time": (priced.all_reduce_s, priced.all_reduce_known),
        "goodput": (priced.goodput, shipping),
        "cost_per_million_tokens": (priced.usd_per_mtoken, inside),
        "budget": (priced.bill.purchase_usd, shipping),
        "power": (priced.bill.power_W, shipping),
    }
    found = {k: Claim(MEASURES[k], v, "predicted", ok, "" if ok else note) for k, (v, ok) in values.items()}
    if priced.quality_loss is not None:
        found["quality_loss"] = Claim(MEASURES["quality_loss"], priced.quality_loss, "measured", True, "")
    return Claims(name or priced.item.title, reason, would_change_my_mind, found)


def requests_that_fit(part: str, tensor: int, expert: int, precision: str, work: Work | None = None) -> int:
    """Return how many requests one copy holds at most; 0 where not even the weights fit.

    >>> requests_that_fit("b200-box", 1, 8, "bf16"), requests_that_fit("b200-box", 1, 8, "fp8") > 1000
    (0, True)
    """
    work = work or Work()
    weight_B = PRECISIONS[one_of(_("precision"), precision, PRECISIONS)]
    return most_requests(
        work.model, Layout(tensor=tensor, expert=expert, weight_B=weight_B), item(part).system.gpu, work.context
    )
