"""Exercise 01, PCIe or NVLink: payload of a link, flows that share a tree, staged or direct, and what ACS takes away."""

from itertools import combinations, pairwise

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries, Number, Plain
from course_lib.grading.question import Case, Misconception, Question

# q1 ------------------------------------------------------------------------------------------------------------------


def payload_rate_GBps(
    transfers_GTps: float, lanes: int, payload_bits: int, coded_bits: int, data_B: float, headers_B: float
) -> float:
    """Return GB/s of payload in one direction: lanes × rate × code ÷ 8, times the share of data in a packet."""
    return transfers_GTps * lanes * payload_bits / coded_bits / 8 * data_B / (data_B + headers_B)


def _links(rng: np.random.Generator) -> list[Case]:
    fixed = [(32, 16, 128, 130, 256, 24), (8, 1, 1, 1, 128, 24), (2.5, 16, 8, 10, 128, 28), (16, 8, 128, 130, 4096, 24)]
    fixed.append((32, 16, 128, 130, 64, 24))  # a small message: its only packet is not full
    codes = [(8, 10), (128, 130), (64, 66)]
    drawn = [
        (float(rng.integers(5, 129)) / 2, int(2 ** rng.integers(0, 5)), *codes[rng.integers(3)],
         int(2 ** rng.integers(6, 12)), int(rng.integers(12, 41)))
        for _unused in range(12)
    ]  # fmt: skip
    names = ("transfers_GTps", "lanes", "payload_bits", "coded_bits", "data_B", "headers_B")
    return [Case(dict(zip(names, row, strict=True))) for row in fixed + drawn]


def _line_GBps(transfers_GTps, lanes, payload_bits, coded_bits, data_B, headers_B):
    return transfers_GTps * lanes * payload_bits / coded_bits / 8


q1 = Question(
    id="01.q1",
    title=_("Payload rate of a link"),
    points=3,
    answer="payload_rate_GBps",
    kind="function",
    expects=Number("GB/s", tolerance=0.002),
    inputs=_links,
    reference=payload_rate_GBps,
    misconceptions=(
        Misconception(
            "headers forgotten",
            _line_GBps,
            _("That is the line rate. You forgot that each packet also carries headers_B bytes that are not data."),
        ),
        Misconception(
            "both directions",
            lambda **link: 2 * payload_rate_GBps(**link),
            _("You added both directions. A copy goes one way, and a bandwidth in this course is one direction."),
        ),
        Misconception(
            "headers subtracted from the rate",
            lambda **link: _line_GBps(**link) * (1 - link["headers_B"] / link["data_B"]),
            _(
                "You took headers_B / data_B off the rate. Headers are a share of the whole packet, and that holds data and headers."
            ),
        ),
        Misconception(
            "code forgotten",
            lambda **link: payload_rate_GBps(**link | {"payload_bits": 1, "coded_bits": 1}),
            _("You counted the packets, and forgot the line code: of coded_bits on the wire only payload_bits arrive."),
        ),
        Misconception(
            "bits for bytes",
            lambda **link: 8 * payload_rate_GBps(**link),
            _("You left out the division by eight: a transfer moves one bit on a lane, and your rate is in Gb/s."),
        ),
    ),
)

# q2 ------------------------------------------------------------------------------------------------------------------


def _hops(path: list[str]) -> list[str]:
    return [f"{a}>{b}" for a, b in pairwise(path)]


def slowest_GBps(paths: list[list[str]], link_GBps: dict[str, float]) -> float:
    """Return the rate of the slowest flow: the least over all links of rate ÷ flows on it, each direction by itself."""
    used = [hop for path in paths for hop in _hops(path)]
    return min(link_GBps[hop] / used.count(hop) for hop in used)


def _undirected(paths: list[list[str]], link_GBps: dict[str, float]) -> float:
    used = [frozenset(hop) for path in paths for hop in pairwise(path)]
    rates = {frozenset(name.split(">")): rate for name, rate in link_GBps.items()}
    return min(rates[hop] / used.count(hop) for hop in used)


def _links_of(parents: dict[str, str], narrow: dict[str, float], rate: float) -> dict[str, float]:
    both = [(f"{a}>{b}", f"{b}>{a}", narrow.get(a, rate)) for a, b in parents.items()]
    return {name: value for up, down, value in both for name in (up, down)}


_BOX = {"gpu0": "sw0", "gpu1": "sw0", "gpu2": "sw1", "gpu3": "sw1", "nic0": "sw1", "sw0": "cpu", "sw1": "cpu"}


def _way(src: str, dst: str) -> list[str]:
    """Return the names on the way in the box, turning at the lowest part that both hang on."""
    up, down = ([end] for end in (src, dst))
    for chain in (up, down):
        while chain[-1] in _BOX:
            chain.append(_BOX[chain[-1]])
    turn = next(name for name in up if name in down)
    return up[: up.index(turn) + 1] + down[: down.index(turn)][::-1]


def _first_links_GBps(paths: list[list[str]], link_GBps: dict[str, float]) -> tuple[float, float]:
    """Return what two readings of "only the first link" give: shared by all that cross it, or by those that start on it."""
    used, first = [hop for path in paths for hop in _hops(path)], [_hops(path)[0] for path in paths]
    return tuple(min(link_GBps[hop] / hops.count(hop) for hop in first) for hops in (used, first))


def _flows(rng: np.random.Generator) -> list[Case]:
    ends = ["cpu", *(name for name in _BOX if not name.startswith("sw"))]
    fixed = [
        ([("gpu0", "gpu1")], {}),
        ([("cpu", "gpu0"), ("cpu", "gpu1")], {}),
        ([("gpu0", "cpu"), ("cpu", "gpu1")], {}),  # opposite directions share nothing
        ([("gpu0", "gpu1"), ("gpu2", "gpu3")], {}),
        ([("cpu", f"gpu{i}") for i in range(4)], {"sw1": 28.4}),
        ([("gpu0", "cpu"), ("gpu1", "cpu"), ("gpu2", "gpu3")], {"gpu2": 7.1}),
        ([("gpu0", "gpu2"), ("gpu1", "gpu3"), ("gpu2", "gpu0")], {}),
    ]
    cases = []
    for _unused in range(14):
        count = int(rng.integers(2, 7))
        pairs = [tuple(str(e) for e in rng.choice(ends, 2, replace=False)) for _i in range(count)]
        narrow = {str(name): float(rng.choice([7.2, 14.4, 28.8])) for name in rng.choice(list(_BOX), 2, replace=False)}
        fixed.append((pairs, narrow))
    for pairs, narrow in fixed:
        links = _links_of(_BOX, narrow, 57.6)
        cases.append(Case({"paths": [_way(*pair) for pair in pairs], "link_GBps": links}))
    return cases


q2 = Question(
    id="01.q2",
    title=_("The bottleneck of flows in a PCIe tree"),
    points=3,
    answer="slowest_GBps",
    kind="function",
    expects=Number("GB/s"),
    inputs=_flows,
    reference=slowest_GBps,
    withholds=("course_lib.links.pcietree", "course_lib.links.paths", "course_lib.fabric"),
    misconceptions=(
        Misconception(
            "the shared uplink counted once per flow",
            lambda paths, link_GBps: min(link_GBps[hop] for path in paths for hop in _hops(path)),
            _(
                "You gave every flow the whole rate of each link. A link that two flows cross in the same direction is there once, "
                "and each of them gets half of it."
            ),
        ),
        Misconception(
            "both directions share",
            _undirected,
            _(
                "You let the two directions of a link share one rate. A link has its own wires for each direction: a flow that climbs "
                "and one that comes down do not meet."
            ),
        ),
        Misconception(
            "divided by all flows",
            lambda paths, link_GBps: min(link_GBps[hop] for path in paths for hop in _hops(path)) / len(paths),
            _("You divided by the number of all flows. Only the flows that cross a link share it."),
        ),
        Misconception(
            "only the first link",
            lambda paths, link_GBps: _first_links_GBps(paths, link_GBps)[0],
            _("You looked at the first link of each flow only. The bottleneck may be any link on its way."),
            recognise=lambda given, **case: any(Number().same(given, wrong) for wrong in _first_links_GBps(**case)),
        ),
    ),
)

# q3 ------------------------------------------------------------------------------------------------------------------

_COPY = ("message_MB", "chunks", "stage_us", "stage_GBps", "direct_us", "direct_GBps")


def _decided(staged_us: float, direct_us: float) -> dict[str, float | str]:
    return {"staged_us": staged_us, "direct_us": direct_us, "faster": "direct" if direct_us < staged_us else "staged"}


def _line_us(message_MB: float, latency_us: float, rate_GBps: float) -> float:
    return latency_us + message_MB * 1e3 / rate_GBps


def compare_copies(message_MB, chunks, stage_us, stage_GBps, direct_us, direct_GBps) -> dict[str, float | str]:
    """Return both times in µs and the faster way; n equal chunks in two equal stages need n + 1 stage times."""
    one = _line_us(message_MB / chunks, stage_us, stage_GBps)
    return _decided((chunks + 1) * one, _line_us(message_MB, direct_us, direct_GBps))


def _copies(rng: np.random.Generator) -> list[Case]:
    rows = [
        (1, 1, 8, 50, 2, 50),
        (1, 2, 8, 50, 2, 50),
        (100, 4, 8, 50, 2, 50),
        (100, 10, 8, 50, 2, 20),  # a direct path through a narrow link loses
        (0.001, 1, 8, 50, 2, 400),
        (1000, 100, 8, 50, 2, 400),
        (1000, 1, 8, 50, 2, 30),
    ]
    while len(rows) < 19:
        row = (
            float(rng.integers(1, 4000)) / 4, int(rng.integers(1, 65)), float(rng.integers(4, 41)) / 2,
            float(rng.integers(24, 240)) / 4, float(rng.integers(2, 11)) / 2, float(rng.choice([7, 14, 28, 57, 132, 396])),
        )  # fmt: skip
        found = compare_copies(*row)
        if abs(found["staged_us"] / found["direct_us"] - 1) > 0.05:  # no verdict hangs on a rounding
            rows.append(row)
    return [Case(dict(zip(_COPY, row, strict=True))) for row in rows]


def _staged_as(staged_us) -> object:
    """Return a wrong model whose direct time is right and whose staged time is `staged_us(copy)`."""

    def wrong(**copy):
        return _decided(staged_us(copy), _line_us(copy["message_MB"], copy["direct_us"], copy["direct_GBps"]))

    return wrong


def _one_chunk_us(copy: dict) -> float:
    return _line_us(copy["message_MB"] / copy["chunks"], copy["stage_us"], copy["stage_GBps"])


def _latency_once_us(copy: dict) -> tuple[float, float]:
    """Return the staged time with one latency for each of the two stages, and with one for both."""
    moving_us = (copy["chunks"] + 1) * copy["message_MB"] * 1e3 / copy["chunks"] / copy["stage_GBps"]
    return 2 * copy["stage_us"] + moving_us, copy["stage_us"] + moving_us


q3 = Question(
    id="01.q3",
    title=_("Staged or direct"),
    points=3,
    answer="compare_copies",
    kind="function",
    expects=Entries(
        {"staged_us": Number("µs"), "direct_us": Number("µs"), "faster": Choice(("staged", "direct"))}, each=False
    ),
    inputs=_copies,
    reference=compare_copies,
    withholds=("course_lib.links.paths", "course_lib.links.staging"),
    misconceptions=(
        Misconception(
            "no overlap",
            _staged_as(lambda copy: 2 * copy["chunks"] * _one_chunk_us(copy)),
            _(
                "You added the stages of all chunks. While one chunk leaves the buffer the next one enters it: the two stages "
                "work at the same time."
            ),
        ),
        Misconception(
            "one crossing",
            _staged_as(lambda copy: copy["chunks"] * _one_chunk_us(copy)),
            _(
                "You counted one crossing of PCIe. The last chunk still has to leave the buffer when it has arrived there."
            ),
        ),
        Misconception(
            "latency once",
            _staged_as(lambda copy: _latency_once_us(copy)[0]),
            _("You counted the latency of a stage once. Every chunk is a copy of its own and pays it."),
            recognise=lambda given, **copy: any(
                q3.expects.same(given, _staged_as(lambda _copy, us=us: us)(**copy)) for us in _latency_once_us(copy)
            ),
        ),
        Misconception(
            "chunks forgotten",
            _staged_as(lambda copy: 2 * _line_us(copy["message_MB"], copy["stage_us"], copy["stage_GBps"])),
            _(
                "You let the whole message wait in the buffer. It goes in chunks, and the second copy begins after the first chunk."
            ),
        ),
        Misconception(
            "direct is always faster",
            lambda **copy: compare_copies(**copy) | {"faster": "direct"},
            _(
                "Your times are right, and your choice does not follow from them: a direct path through a narrow link can be slower "
                "than two fast crossings."
            ),
        ),
    ),
)

# q4 ------------------------------------------------------------------------------------------------------------------

_NAMES = ("CPU 0", "CPU 1", "top", "left", "right", "switch 4", "switch 5")
_PARENT = (-1, -1, 0, 2, 2, 1, 1)
_SLOTS = (3, 3, 4, 4, 5, 5, 6, 6)


def _machine(rng: np.random.Generator) -> dict:
    """Return this learner's machine: eight GPUs in a random order of slots, and the switches with ACS."""
    order = [int(g) for g in rng.permutation(8)]
    names = [*_NAMES, *(f"GPU {g}" for g in order)]
    kinds = ["root", "root", *["switch"] * 5, *["gpu"] * 8]
    acs = ["top", str(rng.choice(["left", "right"])), str(rng.choice(["switch 4", "switch 5"]))]
    return {"names": names, "kinds": kinds, "parent": [*_PARENT, *_SLOTS], "acs": acs}


def _turns(names, kinds, parent) -> dict[tuple[int, int], str | None]:
    """Return for each pair of GPUs (smaller number first) the name of the part where its flow turns; None between sockets."""
    chains = {}
    for i, kind in enumerate(kinds):
        if kind == "gpu":
            chain, above = [], parent[i]
            while above >= 0:
                chain, above = [*chain, names[above]], parent[above]
            chains[int(names[i].split()[-1])] = chain
    return {(a, b): next((n for n in chains[a] if n in chains[b]), None) for a, b in combinations(sorted(chains), 2)}


def lost(names, kinds, parent, acs) -> list[tuple[int, int]]:
    """Return the pairs whose flow turns in a switch with ACS."""
    return [pair for pair, turn in _turns(names, kinds, parent).items() if turn in acs]


def _below(names, kinds, parent, acs) -> list[tuple[int, int]]:
    """Return the pairs of which both GPUs hang, near or far, below the same switch with ACS."""
    found = []
    for pair in _turns(names, kinds, parent):
        chains = []
        for gpu in pair:
            above, chain = parent[names.index(f"GPU {gpu}")], []
            while above >= 0:
                chain, above = [*chain, names[above]], parent[above]
            chains.append(chain)
        if any(name in acs for name in chains[0] if name in chains[1]):
            found.append(pair)
    return found


def _is_pairs(given) -> bool:
    return type(given) in (list, tuple) and all(
        type(pair) in (list, tuple) and len(pair) == 2 and all(type(g) is int for g in pair) for pair in given
    )


def _as_set(pairs) -> set[tuple[int, int]]:
    return {tuple(sorted(pair)) for pair in pairs}


def _accept(given, names, kinds, parent, acs) -> str:
    pairs, right = _as_set(given), set(lost(names, kinds, parent, acs))
    known = set(_turns(names, kinds, parent))
    if strange := sorted(pairs - known):
        return _("{pair} is no pair of two GPUs of this machine.").format(pair=strange[0])
    if pairs == right:
        return ""
    wrong, missing = sorted(pairs - right), sorted(right - pairs)
    if wrong:
        return _("{pair} does not lose a direct path. Where does its flow turn?").format(pair=wrong[0])
    return _("{n} of the pairs that lose their direct path are missing.").format(n=len(missing))


def _wrong_pairs(name: str, wrong, sentence: str) -> Misconception:
    return Misconception(name, wrong, sentence, recognise=lambda given, **m: _as_set(given) == set(wrong(**m)))


q4 = Question(
    id="01.q4",
    title=_("What ACS takes away"),
    points=2,
    answer="lost_pairs",
    expects=Plain(_("a list of pairs of GPU numbers such as [(0, 1), (2, 5)]"), fits=_is_pairs),
    parameters=_machine,
    reference=lost,
    accept=_accept,
    misconceptions=(
        _wrong_pairs(
            "below instead of at",
            _below,
            _(
                "You named every pair below a switch with ACS. ACS acts where a flow turns: a pair that turns in a lower switch "
                "without ACS never comes by."
            ),
        ),
        _wrong_pairs(
            "all pairs",
            lambda **m: list(_turns(m["names"], m["kinds"], m["parent"])),
            _(
                "You named all pairs. Pairs on two sockets, or under two ports of a CPU, had no direct path to lose, "
                "and others keep theirs."
            ),
        ),
        _wrong_pairs(
            "pairs that keep it",
            lambda **m: [
                pair
                for pair, turn in _turns(m["names"], m["kinds"], m["parent"]).items()
                if turn is not None and not turn.startswith("CPU") and turn not in m["acs"]
            ],
            _("You named the pairs that keep their direct path. Those that lose it are asked for."),
        ),
        _wrong_pairs(
            "only one switch between",
            lambda **m: [pair for pair in lost(**m) if _turns(m["names"], m["kinds"], m["parent"])[pair] != "top"],
            _(
                "You named only pairs that hang on the same switch. Pairs that meet in the switch above them had a direct path, too."
            ),
        ),
        _wrong_pairs(
            "pairs through the CPU",
            lambda **m: [
                pair
                for pair, turn in _turns(m["names"], m["kinds"], m["parent"]).items()
                if turn is None or turn.startswith("CPU")
            ],
            _(
                "You named the pairs that pass a CPU. They did so before, with ACS off: they have no direct path to lose."
            ),
        ),
    ),
)

QUESTIONS = (q1, q2, q3, q4)
