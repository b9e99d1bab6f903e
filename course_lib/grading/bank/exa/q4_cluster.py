"""Question A.q4: two collectives on a cluster."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.comm.meaning import bus_factor
from course_lib.grading.answers import Choice, Entries, Number
from course_lib.grading.bank.exa.logs import CAUSES, VERDICTS, largest
from course_lib.grading.question import Misconception, Question
from course_lib.machine.writelog import nccl_tests


def _cluster(rng: np.random.Generator) -> dict:
    hosts, per_host = int(rng.integers(3, 13)), 4
    card_Gbps = float(rng.choice([100, 200, 400]))
    n, share = hosts * per_host, float(rng.uniform(0.24, 0.4))
    card = card_Gbps / 8 * 1e9
    sizes = 2.0 ** np.arange(24, 33)
    logs = {}
    limits = {"all_reduce": card, "all_to_all": card / per_host * (n - 1) / (n - per_host)}
    for op, limit in limits.items():
        got = limit * share * float(rng.uniform(0.92, 1.08))
        times = (3e-4 + sizes * float(bus_factor(op, n)) / got) * np.exp(rng.normal(0, 0.01, sizes.size))
        logs[f"{op}_log"] = nccl_tests(op, sizes, times, n, "NVIDIA A100-SXM4-80GB", per_host=per_host)
    return logs | {"hosts": hosts, "per_host": per_host, "card_Gbps": card_Gbps}


def _two(all_reduce_log: str, all_to_all_log: str, hosts: int, per_host: int, card_Gbps: float) -> dict:
    n, card = hosts * per_host, card_Gbps / 8
    caps = card, card / per_host * (n - 1) / (n - per_host)
    got = largest(all_reduce_log, 7), largest(all_to_all_log, 7)
    return {
        "all_reduce_limit_GBps": caps[0], "all_to_all_limit_GBps": caps[1],
        "all_reduce_share": got[0] / caps[0], "all_to_all_share": got[1] / caps[1],
        "verdict": "finding", "cause": "the network",
    }  # fmt: skip


def _same_limit(**given) -> dict:
    right = _two(**given)
    limit = right["all_reduce_limit_GBps"]
    return right | {"all_to_all_limit_GBps": limit, "all_to_all_share": largest(given["all_to_all_log"], 7) / limit}


def _limited(factor) -> Callable[..., dict]:
    """Return the answer of somebody whose limit of the all-to-all is a GPU's share of the card, times a factor of n and M."""

    def wrong(**given) -> dict:
        n, m = given["hosts"] * given["per_host"], given["per_host"]
        limit = given["card_Gbps"] / 8 / m * factor(n, m)
        return _two(**given) | {
            "all_to_all_limit_GBps": limit,
            "all_to_all_share": largest(given["all_to_all_log"], 7) / limit,
        }

    return wrong


def _bits(**given) -> dict:
    right = _two(**given)
    return (
        right
        | {name: right[name] * 8 for name in ("all_reduce_limit_GBps", "all_to_all_limit_GBps")}
        | {name: right[name] / 8 for name in ("all_reduce_share", "all_to_all_share")}
    )


def _a_card_each(**given) -> dict:
    right, k = _two(**given), given["per_host"]
    return (
        right
        | {name: right[name] * k for name in ("all_reduce_limit_GBps", "all_to_all_limit_GBps")}
        | {name: right[name] / k for name in ("all_reduce_share", "all_to_all_share")}
    )


def _algorithm_bandwidth(**given) -> dict:
    right = _two(**given)
    return {
        f"{op}_share": largest(given[f"{op}_log"], 6) / right[f"{op}_limit_GBps"] for op in ("all_reduce", "all_to_all")
    }


q4 = Question(
    id="A.q4",
    title=_("All-reduce and all-to-all on one card a host"),
    points=3,
    answer="cluster",
    expects=Entries(
        {
            "all_reduce_limit_GBps": Number("GB/s"),
            "all_to_all_limit_GBps": Number("GB/s"),
            "all_reduce_share": Number(tolerance=0.03),
            "all_to_all_share": Number(tolerance=0.03),
            "verdict": Choice(VERDICTS),
            "cause": Choice(CAUSES),
        }
    ),
    parameters=_cluster,
    reference=_two,
    misconceptions=(
        Misconception(
            "one limit for both",
            _same_limit,
            _(
                "You hold both collectives against the same limit. In an all-to-all most of what every GPU sends leaves its host, "
                "and all GPUs of a host share the card."
            ),
        ),
        Misconception(
            "all-to-all is broken",
            lambda **given: _two(**given) | {"cause": "all-to-all is broken"},
            _(
                "You blame the all-to-all. Compare the two shares: it is as far below its own limit as the all-reduce is."
            ),
        ),
        Misconception(
            "healthy because alike",
            lambda **given: {"verdict": "healthy", "cause": "none"},
            _(
                "You call it healthy, since both are alike. Both are far below six tenths of what the network lets through."
            ),
        ),
        Misconception(
            "algorithm bandwidth",
            _algorithm_bandwidth,
            _("You read the column algbw. A limit of the bus bandwidth is held against busbw."),
        ),
        Misconception(
            "all of a message leaves the host",
            _limited(lambda n, m: 1.0),
            _(
                "You let all of a message leave the host. A part of it stays inside, so the limit is (n − 1)/(n − M) times as high."
            ),
        ),
        Misconception(
            "upside down",
            _limited(lambda n, m: (n - m) / (n - 1)),
            _(
                "You multiply by the share that leaves the host. The less of it leaves, the higher the limit: it divides."
            ),
        ),
        Misconception(
            "bits for bytes",
            _bits,
            _("Your limits are eight times too large: the card's rate is in Gb/s, a bus bandwidth in GB/s."),
        ),
        Misconception(
            "a card for every GPU",
            _a_card_each,
            _("You give every GPU a card of its own. These hosts have one, which their GPUs share."),
        ),
    ),
)
