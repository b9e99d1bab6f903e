"""Exercise A: four logs to diagnose: a slow box, copies between pairs, a run that never was, a cluster."""

import numpy as np

from course_lib.base.language import _
from course_lib.comm.meaning import bus_factor
from course_lib.grading.answers import Choice, Entries, Number
from course_lib.grading.question import Misconception, Question
from course_lib.machine.writelog import nccl_tests, peer_test

VERDICTS = ("healthy", "finding", "cannot tell")
CAUSES = (
    "a link is down", "peer access is off", "peer copies are redirected", "the sweep is too short", "ranks never joined",
    "the network", "all-to-all is broken", "none",
)  # fmt: skip

# q1: a box whose GPUs do not reach each other ------------------------------------------------------------------------

_GPUS = {"NVIDIA A100-SXM4-80GB": (12, 25.0), "NVIDIA H100 80GB HBM3": (18, 25.0), "NVIDIA H800": (8, 25.0)}


def _slow_box(rng: np.random.Generator) -> dict:
    gpu = list(_GPUS)[int(rng.integers(len(_GPUS)))]
    plateau = float(rng.uniform(12.0, 26.0)) * 1e9
    sizes = 2.0 ** np.arange(13, 34)
    times = (float(rng.uniform(40, 90)) * 1e-6 + sizes * 1.75 / plateau) * np.exp(rng.normal(0, 0.01, sizes.size))
    way = "node-1:{pid}:4{i}88 [{i}] NCCL INFO Channel 00 : {i}[{i}] -> {j}[{j}] via SHM/direct/direct"
    debug = [way.format(pid=4100 + 7 * i, i=i, j=(i + 1) % 8) for i in range(8)]
    links, link_GBps = _GPUS[gpu]
    log = nccl_tests("all_reduce", sizes, times, 8, gpu, debug=debug)
    return {"log": log, "links": links, "link_GBps": link_GBps}


def _largest(log: str, column: int) -> float:
    """The number in a column of the last row of a table of nccl-tests."""
    rows = [line.split() for line in log.splitlines() if line.strip() and line.split()[0].isdigit()]
    return float(rows[-1][column])


def _box(log: str, links: int, link_GBps: float) -> dict:
    busbw = _largest(log, 7)
    return {
        "busbw_GBps": busbw, "link_GBps": links * link_GBps, "share": busbw / (links * link_GBps),
        "verdict": "finding", "cause": "peer access is off",
    }  # fmt: skip


def _average(log: str, links: int, link_GBps: float) -> dict:
    average = float(next(line for line in log.splitlines() if "Avg bus bandwidth" in line).split(":")[1])
    return _box(log, links, link_GBps) | {"busbw_GBps": average, "share": average / (links * link_GBps)}


def _both_directions(log: str, links: int, link_GBps: float) -> dict:
    right = _box(log, links, link_GBps)
    return right | {"link_GBps": 2 * right["link_GBps"], "share": right["share"] / 2}


q1 = Question(
    id="A.q1",
    title=_("A slow box: plateau, link, share, verdict and cause"),
    points=3,
    answer="slow_box",
    expects=Entries(
        {
            "busbw_GBps": Number("GB/s", tolerance=0.03),
            "link_GBps": Number("GB/s"),
            "share": Number(tolerance=0.03),
            "verdict": Choice(VERDICTS),
            "cause": Choice(CAUSES),
        }
    ),
    parameters=_slow_box,
    reference=_box,
    misconceptions=(
        Misconception(
            "the footer's average",
            _average,
            _(
                "You took the average of the footer. It is over all sizes, most of them small; the result is at the large end."
            ),
        ),
        Misconception(
            "both directions of the link",
            _both_directions,
            _("You compare with both directions of the links together. A bus bandwidth is one direction."),
        ),
        Misconception(
            "a link is down",
            lambda **given: _box(**given) | {"cause": "a link is down"},
            _(
                "You think that a link is down. One of many links down costs its share, not nine tenths. Read the debug lines: "
                "by what way do the channels go?"
            ),
        ),
        Misconception(
            "algorithm bandwidth",
            lambda log, links, link_GBps: (
                _box(log, links, link_GBps)
                | {"busbw_GBps": _largest(log, 6), "share": _largest(log, 6) / (links * link_GBps)}
            ),
            _("That is the column algbw. Compare a link with busbw, the column beside it."),
        ),
        Misconception(
            "healthy",
            lambda **given: _box(**given) | {"verdict": "healthy"},
            _("You call a box healthy that reaches a small part of one direction of its links. Look at the share."),
        ),
    ),
)

# q2: copies between pairs --------------------------------------------------------------------------------------------


def _pairs(rng: np.random.Generator) -> dict:
    n = int(rng.integers(3, 5))
    off = rng.uniform(11.0, 22.5) * np.exp(rng.normal(0, 0.02, (n, n)))
    on = rng.uniform(1.4, 3.4) * np.exp(rng.normal(0, 0.08, (n, n)))
    for matrix in (off, on):
        np.fill_diagonal(matrix, rng.uniform(600, 800))
    return {"log": peer_test("NVIDIA RTX A6000", off, on)}


def _matrices(log: str) -> tuple[np.ndarray, np.ndarray]:
    """The two matrices of a log of p2pBandwidthLatencyTest, without and with peer access."""
    found, rows = [], None
    for line in log.splitlines():
        if "Bandwidth" in line and "Matrix" in line:
            rows = []
            found.append(rows)
        elif rows is not None and line.split() and line.split()[0].isdigit():
            rows.append([float(v) for v in line.split()[1:]])
    return np.array(found[0]), np.array(found[1])


def _pair_answer(log: str) -> dict:
    off, on = _matrices(log)
    away = ~np.eye(len(off), dtype=bool)
    off_GBps, on_GBps = float(np.median(off[away])), float(np.median(on[away]))
    return {
        "off_GBps": off_GBps, "on_GBps": on_GBps, "ratio": on_GBps / off_GBps,
        "verdict": "finding", "cause": "peer copies are redirected",
    }  # fmt: skip


def _with_diagonal(log: str) -> dict:
    off, on = _matrices(log)
    means = float(off.mean()), float(on.mean())
    return _pair_answer(log) | {"off_GBps": means[0], "on_GBps": means[1], "ratio": means[1] / means[0]}


def _changed(log: str) -> dict:
    right = _pair_answer(log)
    return right | {"off_GBps": right["on_GBps"], "on_GBps": right["off_GBps"], "ratio": 1 / right["ratio"]}


q2 = Question(
    id="A.q2",
    title=_("Copies between pairs, with peer access and without"),
    points=3,
    answer="pairs",
    expects=Entries(
        {
            "off_GBps": Number("GB/s", tolerance=0.03),
            "on_GBps": Number("GB/s", tolerance=0.03),
            "ratio": Number(tolerance=0.05),
            "verdict": Choice(VERDICTS),
            "cause": Choice(CAUSES),
        }
    ),
    parameters=_pairs,
    reference=_pair_answer,
    misconceptions=(
        Misconception(
            "the diagonal counted",
            _with_diagonal,
            _(
                "Your rates hold the diagonal. A GPU that copies to itself uses its own memory and no link; leave it out."
            ),
        ),
        Misconception(
            "tables changed",
            _changed,
            _("You have changed the two tables. Read their titles: Disabled is without peer access, Enabled with it."),
        ),
        Misconception(
            "no peer access",
            lambda log: _pair_answer(log) | {"cause": "peer access is off"},
            _(
                "You think that peer access is off. The connectivity matrix holds ones everywhere: the pairs may reach each other, "
                "and do so by a detour."
            ),
        ),
        Misconception(
            "a link is down",
            lambda log: _pair_answer(log) | {"cause": "a link is down"},
            _(
                "You think that a link is down. The staged copies use the same slots and are fast; only the direct ones are slow."
            ),
        ),
    ),
)

# q3: ranks that never joined -----------------------------------------------------------------------------------------


def _never_joined(rng: np.random.Generator) -> dict:
    n = int(2 ** rng.integers(1, 4))
    sizes = 2.0 ** np.arange(20, 26)
    times = (8e-6 + sizes * 2 / rng.uniform(1.0e12, 1.6e12)) * np.exp(rng.normal(0, 0.2, sizes.size))
    return {"log": nccl_tests("all_reduce", sizes, times, n, "NVIDIA H100 80GB HBM3", alone=True), "started": n}


def _alone(log: str, started: int) -> dict:
    return {
        "ranks_in_a_job": 1,
        "jobs": started,
        "busbw_GBps": None,
        "verdict": "cannot tell",
        "cause": "ranks never joined",
    }


q3 = Question(
    id="A.q3",
    title=_("A run that is too fast"),
    points=3,
    answer="too_fast",
    expects=Entries(
        {
            "ranks_in_a_job": Number(whole=True),
            "jobs": Number(whole=True),
            "verdict": Choice(VERDICTS),
            "cause": Choice(CAUSES),
        }
    ),
    parameters=_never_joined,
    reference=lambda log, started: {k: v for k, v in _alone(log, started).items() if k != "busbw_GBps"},
    misconceptions=(
        Misconception(
            "one job of all ranks",
            lambda log, started: {
                "ranks_in_a_job": started,
                "jobs": 1,
                "verdict": "cannot tell",
                "cause": "ranks never joined",
            },
            _(
                "You count one job with all processes in it. Look at the list of devices: which rank does each line name?"
            ),
        ),
        Misconception(
            "healthy because fast",
            lambda log, started: {"ranks_in_a_job": 1, "jobs": started, "verdict": "healthy", "cause": "none"},
            _(
                "You call it healthy because the times are short. They are times of a copy inside one GPU; nothing crossed a link."
            ),
        ),
        Misconception(
            "a slow network",
            lambda log, started: {"ranks_in_a_job": 1, "jobs": started, "verdict": "finding", "cause": "the network"},
            _(
                "You read the bus bandwidth of 0.00 as a slow network. It is zero because (n − 1)/n is zero for one rank."
            ),
        ),
        Misconception(
            "a short sweep",
            lambda log, started: {
                "ranks_in_a_job": 1,
                "jobs": started,
                "verdict": "cannot tell",
                "cause": "the sweep is too short",
            },
            _("Larger messages would not help here. Each size stands there several times: who printed it?"),
        ),
    ),
)

# q4: two collectives on a cluster ------------------------------------------------------------------------------------


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
    got = _largest(all_reduce_log, 7), _largest(all_to_all_log, 7)
    return {
        "all_reduce_limit_GBps": caps[0], "all_to_all_limit_GBps": caps[1],
        "all_reduce_share": got[0] / caps[0], "all_to_all_share": got[1] / caps[1],
        "verdict": "finding", "cause": "the network",
    }  # fmt: skip


def _same_limit(**given) -> dict:
    right = _two(**given)
    limit = right["all_reduce_limit_GBps"]
    return right | {"all_to_all_limit_GBps": limit, "all_to_all_share": _largest(given["all_to_all_log"], 7) / limit}


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

QUESTIONS = (q1, q2, q3, q4)
