"""Exercise 11, leaving the rack: a network's bill, hops of a ring, colliding flows, goodput, models, digits, four faults."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.fabric.collisions import fullest_mean
from course_lib.grading.answers import Choice, Entries, Listing, Number
from course_lib.grading.bank.logs11 import FAULTS, four_logs, told
from course_lib.grading.question import Case, Misconception, Question

WITHHELD = (
    "course_lib.fabric.bill",
    "course_lib.fabric.clos",
    "course_lib.fabric.collisions",
    "course_lib.fabric.sharing.fullest_of_hashed",
    "course_lib.links.recovery",
    "course_lib.timing.acrossboxes",
)
PORTS = 64

# q1: the bill --------------------------------------------------------------------------------------------------------


def _network(n_gpus: int, down: int, up: int, *, levels: int = 3, spine_up: bool = True) -> dict[str, int]:
    if n_gpus <= PORTS:
        return {"leaves": 1, "spines": 0, "cores": 0, "cables": n_gpus}
    leaves = -(-n_gpus // down)
    if leaves <= PORTS or levels == 2:
        spines = -(-leaves * up // PORTS)
        return {"leaves": leaves, "spines": spines, "cores": 0, "cables": n_gpus + leaves * up}
    half = PORTS // 2
    spines = -(-leaves * up // half)
    cores = -(-spines * half // (PORTS if spine_up else half))
    return {"leaves": leaves, "spines": spines, "cores": cores, "cables": n_gpus + leaves * up + spines * half}


def _ports(ratio: int) -> tuple[int, int]:
    down = PORTS * ratio // (ratio + 1)
    return down, -(-down // ratio)


def network(n_gpus: int, ratio: int) -> dict[str, int]:
    """Return leaves, spines, cores and cables of a network of 64-port switches at ratio : 1.

    >>> network(4096, 1)
    {'leaves': 128, 'spines': 128, 'cores': 64, 'cables': 12288}
    """
    return _network(n_gpus, *_ports(ratio))


def _network_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        (64, 1),
        (65, 1),
        (256, 1),
        (512, 1),
        (1024, 1),
        (2048, 1),
        (2688, 2),
        (4096, 1),
        (16384, 1),
        (1024, 3),
        (16384, 7),
    ]
    rows += [(int(rng.integers(9, 2000)) * 8, int(rng.choice([1, 2, 3, 7]))) for _i in range(8)]
    return [Case({"n_gpus": n, "ratio": r}) for n, r in rows]


q1 = Question(
    id="11.q1",
    title=_("Switches and cables for N GPUs"),
    points=2,
    answer="network",
    kind="function",
    expects=Entries(Number(whole=True), each=False),
    inputs=_network_cases,
    reference=network,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "always non-blocking",
            lambda n_gpus, ratio: network(n_gpus, 1),
            _(
                "Your leaves always have as many ports up as down. At ratio : 1 fewer go up, and more cards fit on a leaf."
            ),
        ),
        Misconception(
            "the ratio turned round",
            lambda n_gpus, ratio: _network(n_gpus, *reversed(_ports(ratio))),
            _(
                "You turn the ratio round: more ports up than down. Oversubscribed means that less goes up than comes from below."
            ),
        ),
        Misconception(
            "two levels for any size",
            lambda n_gpus, ratio: _network(n_gpus, *_ports(ratio), levels=2),
            _("You stop at two levels. A spine has 64 ports, so it joins 64 leaves at most; beyond, there are cores."),
        ),
        Misconception(
            "cores split up and down",
            lambda n_gpus, ratio: _network(n_gpus, *_ports(ratio), spine_up=False),
            _("Your cores keep half of their ports for a level above. There is none: all 64 go down."),
        ),
        Misconception(
            "cables of the cards only",
            lambda n_gpus, ratio: network(n_gpus, ratio) | {"cables": n_gpus},
            _("You count one cable for each card. Every uplink between two switches is a cable, too."),
        ),
    ),
)

# q2: hops of a ring --------------------------------------------------------------------------------------------------


def _hops(
    order: Sequence[int],
    per_host: int,
    hosts_per_leaf: int,
    *,
    closed: bool = True,
    blocks: bool = True,
    rails: bool = True,
) -> dict[str, int]:
    found = {"nvlink": 0, "leaf": 0, "spine": 0}
    following = [*order[1:], order[0]] if closed else order[1:]
    for a, b in zip(order, following):  # an open ring is one shorter
        host_a, host_b = a // per_host, b // per_host
        if host_a == host_b:
            found["nvlink"] += 1
        elif (a % per_host == b % per_host or not rails) and (
            host_a // hosts_per_leaf == host_b // hosts_per_leaf or not blocks
        ):
            found["leaf"] += 1
        else:
            found["spine"] += 1
    return found


def hops(order: Sequence[int], per_host: int, hosts_per_leaf: int) -> dict[str, int]:
    """Return how many hops of a ring stay on NVLink, under one leaf, or climb to a spine.

    >>> hops([0, 8, 16, 24], 8, 2)
    {'nvlink': 0, 'leaf': 2, 'spine': 2}
    """
    return _hops(order, per_host, hosts_per_leaf)


def _hops_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        ([0, 8, 16, 24], 8, 4, "rail-aligned"),
        ([0, 8, 16, 24], 8, 2, "rail-aligned"),
        (list(range(16)), 8, 4, "rail-aligned"),
        ([0, 9, 18, 27], 8, 4, "random"),
        ([0, 1, 9, 8], 8, 4, "random"),
        ([3, 12, 4, 20, 60, 61], 8, 4, "random"),
    ]
    for _i in range(4):
        per, leaf = int(rng.choice([4, 8])), int(rng.choice([2, 4, 8]))
        hosts = leaf * int(rng.integers(2, 4))
        rail = int(rng.integers(per))
        rows.append(([h * per + rail for h in range(hosts)], per, leaf, "rail-aligned"))
        some = rng.permutation(hosts * per)[: int(rng.integers(6, hosts * per))]
        rows.append((some.tolist(), per, leaf, "random"))
    names = ("order", "per_host", "hosts_per_leaf")
    return [Case(dict(zip(names, row[:3], strict=True)), row[3]) for row in rows]


q2 = Question(
    id="11.q2",
    title=_("Rail-aligned or random: where a ring's hops go"),
    points=2,
    answer="hops",
    kind="function",
    expects=Entries(Number(whole=True), each=False),
    inputs=_hops_cases,
    reference=hops,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "a rail is one switch",
            lambda order, per_host, hosts_per_leaf: _hops(order, per_host, hosts_per_leaf, blocks=False),
            _("You keep every hop between equal numbers under one leaf. A leaf ends after hosts_per_leaf hosts."),
        ),
        Misconception(
            "a leaf for a group of hosts",
            lambda order, per_host, hosts_per_leaf: _hops(order, per_host, hosts_per_leaf, rails=False),
            _(
                "You plug all cards of a host into one leaf. On rails card i of each host is on leaf i: another number, another leaf."
            ),
        ),
        Misconception(
            "the ring left open",
            lambda order, per_host, hosts_per_leaf: _hops(order, per_host, hosts_per_leaf, closed=False),
            _("You leave the ring open. The last sends to the first: n GPUs make n hops."),
        ),
        Misconception(
            "NVLink taken for the leaf",
            lambda order, per_host, hosts_per_leaf: _through_leaf(order, per_host, hosts_per_leaf),
            _("You send through the network what stays in a host. Two GPUs of one host use NVLink."),
        ),
    ),
)


def _through_leaf(order: Sequence[int], per_host: int, hosts_per_leaf: int) -> dict[str, int]:
    right = hops(order, per_host, hosts_per_leaf)
    return {"nvlink": 0, "leaf": right["leaf"] + right["nvlink"], "spine": right["spine"]}


# q3: collisions ------------------------------------------------------------------------------------------------------


def fullest(flows: int, paths: int) -> float:
    """Return how many flows the fullest path carries on average when each flow picks one by hash."""
    return fullest_mean(flows, paths)


def _fullest_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(1, 8), (2, 2), (3, 1), (4, 4), (8, 8), (4, 16), (32, 32), (64, 16)]
    rows += [(int(rng.integers(2, 65)), int(rng.choice([2, 4, 8, 16, 32]))) for _i in range(5)]
    return [Case({"flows": k, "paths": m}) for k, m in rows]


q3 = Question(
    id="11.q3",
    title=_("The worst link under ECMP"),
    points=2,
    answer="fullest",
    kind="function",
    expects=Number(_("flows"), tolerance=0.02),
    inputs=_fullest_cases,
    reference=fullest,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "an even spread",
            lambda flows, paths: float(-(-flows // paths)),
            _("You spread the flows evenly. A hash does not look where the others went, so some meet."),
        ),
        Misconception(
            "the mean path",
            lambda flows, paths: flows / paths,
            _("You give the mean over paths. The slowest flow sits on the fullest one."),
        ),
        Misconception(
            "the mean of paths in use",
            lambda flows, paths: flows / (paths * (1 - (1 - 1 / paths) ** flows)),
            _("You give the mean over the paths that are in use. The question asks for the fullest of them."),
        ),
        Misconception(
            "all on one",
            lambda flows, paths: float(flows),
            _("You put all flows on one path. That can happen, but the question asks for the mean over hashes."),
        ),
    ),
)

# q4: goodput ---------------------------------------------------------------------------------------------------------

LINE = ("loss", "line_GBps", "round_trip_us", "packet_B")


def goodput(loss: float, line_GBps: float, round_trip_us: float, packet_B: float) -> dict[str, float]:
    """Return GB/s that count, for a card that goes back N and for one that repeats what was lost.

    >>> {k: round(v, 1) for k, v in goodput(0.01, 50, 20, 4096).items()}
    {'go_back_n': 14.4, 'selective_repeat': 49.5}
    """
    behind = line_GBps * 1e3 * round_trip_us / packet_B
    return {
        "go_back_n": line_GBps * (1 - loss) / (1 + loss * behind),
        "selective_repeat": line_GBps * (1 - loss),
    }


def _goodput_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        (0.0, 50.0, 20.0, 4096.0),
        (0.001, 50.0, 20.0, 4096.0),
        (0.01, 50.0, 20.0, 4096.0),
        (0.01, 50.0, 0.0, 4096.0),
        (0.3, 12.5, 10.0, 1024.0),
    ]
    for _i in range(8):
        rows.append(
            (
                float(f"{10 ** rng.uniform(-5, -1):.3g}"),
                float(rng.choice([12.5, 25.0, 50.0, 100.0])),
                float(rng.integers(2, 60)),
                float(rng.choice([1024.0, 4096.0])),
            )
        )
    return [Case(dict(zip(LINE, row, strict=True))) for row in rows]


def _wrong_goodput(change: Callable[[float, float], float]) -> Callable[..., dict[str, float]]:
    """Go-back-N by another rule: change(loss, behind) is its share."""

    def model(loss: float, line_GBps: float, round_trip_us: float, packet_B: float) -> dict[str, float]:
        behind = line_GBps * 1e3 * round_trip_us / packet_B
        right = goodput(loss, line_GBps, round_trip_us, packet_B)
        return right | {"go_back_n": line_GBps * change(loss, behind)}

    return model


q4 = Question(
    id="11.q4",
    title=_("Goodput of go-back-N against loss"),
    points=2,
    answer="goodput",
    kind="function",
    expects=Entries(Number("GB/s", tolerance=0.005, near_zero=1e-9), each=False),
    inputs=_goodput_cases,
    reference=goodput,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "other plugs",
            _wrong_goodput(lambda p, w: 1 - p),
            _(
                "You let both cards lose what was lost and no more, as if RoCE were InfiniBand with other plugs. A card that "
                "goes back N also repeats all that left behind the lost packet."
            ),
        ),
        Misconception(
            "loss costs nothing",
            lambda loss, line_GBps, round_trip_us, packet_B: {"go_back_n": line_GBps, "selective_repeat": line_GBps},
            _("You let a lossy line carry its full rate. What is sent twice counts once."),
        ),
        Misconception(
            "a window without a loss",
            _wrong_goodput(lambda p, w: (1 - p) ** (1 + w)),
            _("You give the chance that a whole window arrives. What arrived before the lost packet counts."),
        ),
        Misconception(
            "a straight line",
            _wrong_goodput(lambda p, w: max(0.0, 1 - p * (1 + w))),
            _(
                "You subtract a window for each lost packet from the line rate, which falls below zero. Count what is sent "
                "for each packet that counts."
            ),
        ),
    ),
)

# q5: models against a measurement ------------------------------------------------------------------------------------

MODELS = ("one card", "ring", "serial", "overlapped")
BOXES = ("boxes", "per_box", "message_B", "nvlink_GBps", "card_GBps", "measured_ms")


def _judge(
    boxes: int,
    per_box: int,
    message_B: float,
    nvlink_GBps: float,
    card_GBps: float,
    measured_ms: float,
    *,
    cards: int | None = None,
    gather: int = 2,
    shard: int | None = None,
    turned: bool = False,
) -> dict[str, Any]:
    n, c, s = boxes * per_box, cards or per_box, shard or per_box
    ring = 2 * (n - 1) / n * message_B / (card_GBps * 1e6)
    between = 2 * (boxes - 1) / boxes * message_B / s / (card_GBps * 1e6) * (per_box / c)
    inside = (per_box - 1) / per_box * message_B / (nvlink_GBps * 1e6)
    times = (ring, ring / c, gather * inside + between, between)
    out = [name for name, t in zip(MODELS, times, strict=True) if (t < measured_ms if turned else t > measured_ms)]
    return dict(zip(MODELS, times, strict=True)) | {"excluded": out}


def judge(
    boxes: int, per_box: int, message_B: float, nvlink_GBps: float, card_GBps: float, measured_ms: float
) -> dict[str, Any]:
    """Return the least ms of four models of an all-reduce, and the names of those that the measurement excludes.

    >>> judge(2, 8, 2**32, 900, 50, 11.95)["excluded"]
    ['one card', 'ring', 'serial']
    """
    return _judge(boxes, per_box, message_B, nvlink_GBps, card_GBps, measured_ms)


def _judge_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        (4, 8, 2.0**32, 900.0, 50.0, 22.05, "four boxes of eight"),
        (2, 8, 2.0**32, 900.0, 50.0, 11.95, "two boxes of eight"),
        (4, 8, 2.0**32, 900.0, 50.0, 200.0, "others"),
        (4, 8, 2.0**32, 900.0, 50.0, 10.0, "others"),
        (16, 4, 2.0**28, 300.0, 25.0, 30.0, "others"),
    ]
    for _i in range(6):
        row = (
            int(rng.choice([2, 3, 4, 8])),
            int(rng.choice([4, 8])),
            float(2 ** int(rng.integers(24, 35))),
            float(rng.choice([300.0, 450.0, 900.0])),
            float(rng.choice([12.5, 25.0, 50.0])),
        )
        times = sorted(t for t in _judge(*row, 1.0).values() if isinstance(t, float))
        k = int(rng.integers(0, 3))
        rows.append((*row, float(f"{math.sqrt(times[k] * times[k + 1]):.4g}"), "others"))
    return [Case(dict(zip(BOXES, row[:6], strict=True)), row[6]) for row in rows]


def _judging(**options: Any) -> Callable[..., dict[str, Any]]:
    return lambda boxes, per_box, message_B, nvlink_GBps, card_GBps, measured_ms: _judge(
        boxes, per_box, message_B, nvlink_GBps, card_GBps, measured_ms, **options
    )


q5 = Question(
    id="11.q5",
    title=_("Four models against a measurement"),
    points=3,
    answer="judge",
    kind="function",
    expects=Entries(
        {name: Number("ms", tolerance=0.005) for name in MODELS} | {"excluded": Listing(Choice(MODELS), ordered=False)},
        each=False,
    ),
    inputs=_judge_cases,
    reference=judge,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "one network card per host",
            _judging(cards=1),
            _(
                "You let a box send over one network card. It has a card for every GPU, and all of them send at the same time."
            ),
        ),
        Misconception(
            "excluded the wrong way",
            _judging(turned=True),
            _(
                "You exclude models that are quicker than the measurement. These are least times: a real one may be longer, never shorter."
            ),
        ),
        Misconception(
            "no way back inside",
            _judging(gather=1),
            _(
                "You leave out the all-gather. After the boxes have added up, every GPU of a box still needs the other shards."
            ),
        ),
        Misconception(
            "the whole message between boxes",
            _judging(shard=1),
            _(
                "You send the whole message over every card. After the reduce-scatter a GPU holds one shard, message/per_box."
            ),
        ),
    ),
)

# q6: digits ----------------------------------------------------------------------------------------------------------


def _bounds(text: str, unit: float = 0.5) -> tuple[float, float]:
    half = unit * 10.0 ** -len(text.partition(".")[2])
    return max(1e-6, float(text) - half), float(text) + half  # a whole unit below 0.01 is nothing


def _readings(
    one_box: str, boxes: str, message_B: float, n_ranks: int, *, unit: float = 0.5, factor: bool = True
) -> dict[str, list]:
    (a, b), (c, d) = _bounds(one_box, unit), _bounds(boxes, unit)
    moved_B = (2 * (n_ranks - 1) / n_ranks if factor else 1.0) * message_B
    return {
        "time_us": [moved_B / d / 1e3, moved_B / c / 1e3],
        "slowdown": [a / d, b / c],
    }


def readings(one_box: str, boxes: str, message_B: float, n_ranks: int) -> dict[str, list]:
    """Return the range of the time (µs) and of the slowdown that two printed bus bandwidths allow.

    >>> found = readings("1.20", "0.01", 32768, 32)
    >>> [round(v) for v in found["time_us"]], [round(v) for v in found["slowdown"]]
    ([4233, 12698], [80, 241])
    """
    return _readings(one_box, boxes, message_B, n_ranks)


def _readings_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        ("1.20", "0.01", 32768.0, 32),
        ("2.17", "0.04", 65536.0, 32),
        ("740.64", "377.34", 2.0**32, 32),
        ("1.2", "0.02", 32768.0, 32),
        ("12", "3", 2.0**20, 16),
    ]
    for _i in range(6):
        digits = int(rng.integers(0, 3))
        low = max(10.0**-digits, float(rng.uniform(0.01, 5)))
        texts = f"{low * float(rng.uniform(2, 40)):.2f}", f"{low:.{digits}f}"
        rows.append((*texts, float(2 ** int(rng.integers(15, 24))), int(rng.choice([16, 32, 64]))))
    names = ("one_box", "boxes", "message_B", "n_ranks")
    return [Case(dict(zip(names, row, strict=True))) for row in rows]


def _exact(one_box: str, boxes: str, message_B: float, n_ranks: int) -> dict[str, list]:
    return _readings(one_box, boxes, message_B, n_ranks, unit=0.0)


def _ends_paired(one_box: str, boxes: str, message_B: float, n_ranks: int) -> dict[str, list]:
    (a, b), (c, d) = _bounds(one_box), _bounds(boxes)
    pairs = sorted([a / c, b / d])
    return readings(one_box, boxes, message_B, n_ranks) | {"slowdown": pairs}


_RANGE = Listing((Number("µs", tolerance=0.005), Number("µs", tolerance=0.005)))
_FACTORS = Listing((Number(tolerance=0.005), Number(tolerance=0.005)))
q6 = Question(
    id="11.q6",
    title=_("What one printed digit allows"),
    points=1,
    answer="readings",
    kind="function",
    expects=Entries({"time_us": _RANGE, "slowdown": _FACTORS}, each=False),
    inputs=_readings_cases,
    reference=readings,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "the print is exact",
            _exact,
            _("You take the printed numbers for exact. 0.01 stands for anything that rounds to it."),
        ),
        Misconception(
            "a whole unit to either side",
            lambda one_box, boxes, message_B, n_ranks: _readings(one_box, boxes, message_B, n_ranks, unit=1.0),
            _("You allow a whole unit of the last digit to either side. Rounding moves a number by half of one."),
        ),
        Misconception(
            "bus bandwidth taken for bytes over time",
            lambda one_box, boxes, message_B, n_ranks: _readings(one_box, boxes, message_B, n_ranks, factor=False),
            _("You divide the message by the bus bandwidth. Bus bandwidth is message over time, times 2(n−1)/n."),
        ),
        Misconception(
            "low over low",
            _ends_paired,
            _("You divide low by low and high by high. The largest ratio is the highest over the lowest."),
        ),
    ),
)

# q7: four logs -------------------------------------------------------------------------------------------------------


def _mistaken(fault: str, said: str) -> Callable[..., dict[str, str]]:
    """The answer of somebody who takes one fault for another."""
    return lambda logs: {name: said if told(text) == fault else told(text) for name, text in logs.items()}


def _answers(logs: Mapping[str, str]) -> dict[str, str]:
    return {name: told(text) for name, text in logs.items()}


q7 = Question(
    id="11.q7",
    title=_("Four logs, four faults"),
    points=2,
    answer="faults",
    expects=Entries(Choice(FAULTS)),
    parameters=lambda rng: {"logs": four_logs(rng)},
    reference=_answers,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "uneven uplinks for too few",
            _mistaken("flows collide", "too few uplinks"),
            _("You call for more uplinks where some stand empty. If there were too few, all of them would be full."),
        ),
        Misconception(
            "loss for a collision",
            _mistaken("packets are lost", "flows collide"),
            _(
                "You see a collision where cards count sequence errors and timeouts. Colliding flows are slow; they lose nothing by it."
            ),
        ),
        Misconception(
            "staging for a missing card",
            _mistaken("staged in host memory", "a card is missing"),
            _("You miss a card, but all eight are listed. Look at the end of the channel lines: GDRDMA is not there."),
        ),
        Misconception(
            "a missing card for staging",
            _mistaken("a card is missing", "staged in host memory"),
            _("You see staging, but the channels say GDRDMA. Count the cards that are listed."),
        ),
    ),
)

QUESTIONS = (q1, q2, q3, q4, q5, q6, q7)
