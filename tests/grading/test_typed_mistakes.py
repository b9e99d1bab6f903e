"""Wrong answers of exercises 00 to 02 as learners type them: each is met by the sentence of its misconception.

The bank's own test calls the wrong models; people write the same mistake in another form, round, and break ties their way.
"""

import pytest

from course_lib.grading import bank, check, parameters

PAYLOAD = "def payload_GBps(transfers_GTps, lanes, payload_bits, coded_bits):\n    return "
RATE = "def payload_rate_GBps(transfers_GTps, lanes, payload_bits, coded_bits, data_B, headers_B):\n    return "
WIRE = "transfers_GTps * lanes * payload_bits / coded_bits / 8"
FLOWS = "def slowest_GBps(paths, link_GBps):\n"
SHARES = (
    FLOWS
    + """    used = [f"{a}>{b}" for p in paths for a, b in zip(p, p[1:])]
    ways = [[link_GBps[u] / used.count(u) for u in (f"{a}>{b}" for a, b in zip(p, p[1:]))] for p in paths]
    return """
)
COPIES = """def compare_copies(message_MB, chunks, stage_us, stage_GBps, direct_us, direct_GBps):
    one = stage_us + message_MB * 1000 / chunks / stage_GBps
    d = direct_us + message_MB * 1000 / direct_GBps
    s = {}
    return {{"staged_us": s, "direct_us": d, "faster": {}}}
"""
FASTER = "'direct' if d < s else 'staged'"
TURNS = """m = parameters("01.q4")
gpus = {n: i for i, n in enumerate(m["names"]) if n.startswith("GPU")}
def above(i):
    p = m["parent"][i]
    return [] if p < 0 else [m["names"][p], *above(p)]
ways = {(int(a[4:]), int(b[4:])): [n for n in above(gpus[a]) if n in above(gpus[b])] for a in gpus for b in gpus if a < b}
lost_pairs = """
FIT = """import numpy as np
def fit_line(message_KB, time_us, weight):
    x, y, w = (np.array(v, float) for v in (message_KB, time_us, weight))
    xm, ym = (w * x).sum() / w.sum(), (w * y).sum() / w.sum()
    s = (w * (x - xm) * (y - ym)).sum() / (w * (x - xm) ** 2).sum()
    a = ym - s * xm
"""
MYSTERY = """import numpy as np
from course_lib.links.calibrate import fit
link = parameters("02.q2")
m, t = np.array(link["message_B"]), np.array(link["time_us"]) * 1e-6
f = fit(m, t)
a, b, h = f.latency_s * 1e6, f.bandwidth_Bps / 1e9, f.half_size_B / 1e3
{}
mystery = {{"latency_us": a, "bandwidth_GBps": b, "half_KB": h}}
"""
WAYS = """def two_ways(count, message_KB, latency_us, bandwidth_GBps, pack_GBps):
    all_KB = count * message_KB
    move = all_KB / bandwidth_GBps
    small, large = {}, {}
    return small, large, "small" if small {} large else "large"
"""
PACKED, MANY = "all_KB / pack_GBps + latency_us + move", "count * latency_us + move"
REGIMES = """regimes = {{}}
for i, m in parameters("02.q4")["messages"].items():
    half, size = m["latency_us"] * m["bandwidth_GBps"], m["size_KB"]
    regimes[i] = {}
"""


def repaired(**wrong):
    return f"repaired = { ({'A': 1.8, 'B': 450, 'C': 64, 'D': 50, 'E': 142.2} | wrong)!r}"


def direction(number, word):
    right = dict(enumerate(["one", "both", "one", "one", "both", "both", "both", "one"], 1))
    return f"direction = {right | {number: word}!r}"


TYPED = [
    ("00.q1", "bits for bytes", PAYLOAD + "transfers_GTps * lanes * payload_bits / coded_bits"),
    ("00.q1", "code forgotten", PAYLOAD + "transfers_GTps * lanes / 8"),
    ("00.q1", "code upside down", PAYLOAD + "transfers_GTps * lanes / 8 * (coded_bits / payload_bits)"),
    ("00.q1", "both directions", PAYLOAD + "2 * " + WIRE),
    ("00.q1", "one lane", PAYLOAD + "transfers_GTps * payload_bits / coded_bits / 8"),
    (
        "00.q1",
        "overhead of the payload",
        PAYLOAD + "transfers_GTps * lanes / 8 * (2 - coded_bits / payload_bits)",
    ),
    ("00.q2", "factor 1000", repaired(A=1800)),
    ("00.q2", "factor 1000", repaired(E=0.142)),
    ("00.q2", "per link for per GPU", repaired(B=25)),
    ("00.q2", "per link for per GPU", repaired(E=2560)),
    ("00.q2", "both directions for one", repaired(B=900)),
    ("00.q2", "both directions for one", repaired(C=128)),
    ("00.q2", "both directions for one", repaired(D=100)),
    ("00.q2", "both directions for one", repaired(E=71.1)),
    ("00.q2", "one direction halved", repaired(C=32)),
    ("00.q2", "one direction halved", repaired(D=25)),
    ("00.q2", "after the code", repaired(C=63)),
    ("00.q2", "both directions of one link", repaired(B=50)),
    ("00.q2", "one direction for both", repaired(A=0.9)),
    ("00.q2", "a measured copy", repaired(B=396)),
    ("00.q2", "a measured copy", repaired(C=55.4)),
    ("00.q2", "bits for bytes", repaired(D=400)),
    ("00.q3", "headline read as one direction", direction(2, "one")),
    ("00.q3", "network port read as both", direction(3, " Both ")),
    ("00.q3", "sum of two copies read as one direction", direction(5, "one")),
    ("00.q3", "a measured copy read as both", direction(8, "both")),
    ("00.q4", "GiB for GB", "b = parameters('00.q4')\nben_GBps = round(b['moved_GiB'] / b['time_s'], 1)"),
    ("00.q4", "the wrong way round", "b = parameters('00.q4')\nben_GBps = b['moved_GiB'] / 1.0737 / b['time_s']"),
    ("00.q4", "1024 once", "b = parameters('00.q4')\nben_GBps = b['moved_GiB'] * 1.024 / b['time_s']"),
    ("01.q1", "headers forgotten", RATE + WIRE),
    ("01.q1", "both directions", RATE + f"2 * {WIRE} * data_B / (data_B + headers_B)"),
    ("01.q1", "headers subtracted from the rate", RATE + f"{WIRE} * (data_B - headers_B) / data_B"),
    ("01.q1", "code forgotten", RATE + "transfers_GTps * lanes / 8 * data_B / (data_B + headers_B)"),
    ("01.q1", "bits for bytes", RATE + f"8 * {WIRE} * data_B / (data_B + headers_B)"),
    ("01.q1", "one lane", RATE + WIRE.replace("* lanes ", "") + " * data_B / (data_B + headers_B)"),
    (
        "01.q1",
        "code upside down",
        RATE + "transfers_GTps * lanes * coded_bits / payload_bits / 8 * data_B / (data_B + headers_B)",
    ),
    ("01.q1", "packet upside down", RATE + f"{WIRE} * (data_B + headers_B) / data_B"),
    ("01.q1", "nothing taken off", RATE + "transfers_GTps * lanes / 8"),
    ("01.q2", "only the first link", SHARES + "min(shares[-1] for shares in ways)"),
    ("01.q2", "links crossed one after the other", SHARES + "min(1 / sum(1 / s for s in shares) for shares in ways)"),
    (
        "01.q2",
        "links crossed one after the other",
        FLOWS + "    return min(1 / sum(1 / link_GBps[f'{a}>{b}'] for a, b in zip(p, p[1:])) for p in paths)",
    ),
    (
        "01.q2",
        "a switch shared as a whole",
        FLOWS + "    passed = [part for p in paths for part in p]\n"
        "    return min(link_GBps[f'{a}>{b}'] / max(passed.count(a), passed.count(b)) for p in paths for a, b in zip(p, p[1:]))",
    ),
    (
        "01.q2",
        "the narrowest link by the most flows",
        SHARES + "min(link_GBps[u] for u in used) / max(map(used.count, used))",
    ),
    ("01.q2", "the fastest flow", SHARES + "max(min(shares) for shares in ways)"),
    ("01.q2", "all flows together", SHARES + "sum(min(shares) for shares in ways)"),
    (
        "01.q2",
        "the shared uplink counted once per flow",
        FLOWS + "    return min(link_GBps[a + '>' + b] for p in paths for a, b in zip(p, p[1:]))",
    ),
    (
        "01.q2",
        "both directions share",
        FLOWS + "    used = [frozenset(hop) for p in paths for hop in zip(p, p[1:])]\n"
        "    return min(link_GBps[f'{a}>{b}'] / used.count(frozenset((a, b))) for p in paths for a, b in zip(p, p[1:]))",
    ),
    (
        "01.q2",
        "divided by all flows",
        FLOWS + "    return min(link_GBps[a + '>' + b] for p in paths for a, b in zip(p, p[1:])) / len(paths)",
    ),
    (
        "01.q2",
        "only the first link",
        FLOWS + "    firsts = [p[0] + '>' + p[1] for p in paths]\n"
        "    return min(link_GBps[f] / firsts.count(f) for f in firsts)",
    ),
    ("01.q3", "no overlap", COPIES.format("2 * chunks * one", FASTER)),
    ("01.q3", "one crossing", COPIES.format("chunks * one", FASTER)),
    ("01.q3", "one crossing", COPIES.format("stage_us + message_MB * 1000 / stage_GBps", FASTER)),
    ("01.q3", "latency once", COPIES.format("2 * stage_us + (chunks + 1) * (one - stage_us)", FASTER)),
    ("01.q3", "latency once", COPIES.format("stage_us + (chunks + 1) * (one - stage_us)", FASTER)),
    ("01.q3", "chunks forgotten", COPIES.format("2 * (stage_us + message_MB * 1000 / stage_GBps)", FASTER)),
    ("01.q3", "direct is always faster", COPIES.format("(chunks + 1) * one", "'direct'")),
    (
        "01.q3",
        "milliseconds for microseconds",
        COPIES.format("(chunks + 1) * (stage_us + message_MB / chunks / stage_GBps)", FASTER),
    ),
    (
        "01.q3",
        "milliseconds for microseconds",
        COPIES.replace("message_MB * 1000 / direct", "message_MB / direct").format("(chunks + 1) * one", FASTER),
    ),
    (
        "01.q3",
        "the second crossing starts too soon",
        COPIES.format("2 * stage_us + message_MB * 1000 / stage_GBps", FASTER),
    ),
    ("01.q3", "the second crossing starts too soon", COPIES.format("chunks * one + stage_us", FASTER)),
    (
        "01.q3",
        "every chunk the whole message",
        COPIES.format("(chunks + 1) * (stage_us + message_MB * 1000 / stage_GBps)", FASTER),
    ),
    (
        "01.q3",
        "the direct copy in chunks",
        COPIES.replace("d = direct_us", "d = chunks * direct_us").format("(chunks + 1) * one", FASTER),
    ),
    ("01.q3", "the word turned round", COPIES.format("(chunks + 1) * one", "'direct' if d > s else 'staged'")),
    ("01.q4", "below instead of at", TURNS + "[p for p, w in ways.items() if any(n in m['acs'] for n in w)]"),
    ("01.q4", "all pairs", TURNS + "list(ways)"),
    (
        "01.q4",
        "pairs that keep it",
        TURNS + "[p for p, w in ways.items() if w and not w[0].startswith('CPU') and w[0] not in m['acs']]",
    ),
    (
        "01.q4",
        "only one switch between",
        TURNS + "[[b, a] for (a, b), w in ways.items() if w and w[0] in m['acs'] and w[0] != 'top']",
    ),
    ("01.q4", "pairs through the CPU", TURNS + "[p for p, w in ways.items() if not w or w[0].startswith('CPU')]"),
    (
        "01.q4",
        "every direct path",
        TURNS + "[p for p, w in ways.items() if w and not w[0].startswith('CPU')]",
    ),
    ("02.q1", "slope for bandwidth", FIT + "    return a, s"),
    ("02.q1", "weights ignored", FIT + "    s, a = np.polyfit(x, y, 1)\n    return a, 1 / s"),
    ("02.q1", "weights squared", FIT + "    s, a = np.polyfit(x, y, 1, w=w)\n    return a, 1 / s"),
    (
        "02.q1",
        "first and last point",
        FIT + "    s = (y[-1] - y[0]) / (x[-1] - x[0])\n    return y[0] - s * x[0], 1 / s",
    ),
    ("02.q1", "the two in the other order", FIT + "    return 1 / s, a"),
    ("02.q1", "slope and intercept as np.polyfit gives them", FIT + "    return s, a"),
    (
        "02.q1",
        "means without weights",
        FIT.replace("(w * x).sum() / w.sum(), (w * y).sum() / w.sum()", "x.mean(), y.mean()") + "    return a, 1 / s",
    ),
    ("02.q1", "means without weights", FIT + "    return y.mean() - s * x.mean(), 1 / s"),
    ("02.q1", "a line through zero", FIT + "    return 0.0, (w * x * x).sum() / (w * x * y).sum()"),
    (
        "02.q2",
        "equal weights",
        MYSTERY.format("s, a = np.polyfit(m, t, 1)\na, b, h = a * 1e6, 1e-9 / s, a / s / 1e3"),
    ),
    ("02.q2", "average of the rates", MYSTERY.format("b = np.mean(m / t) / 1e9")),
    ("02.q2", "time at the half-size", MYSTERY.format("a = 2 * a")),
    ("02.q2", "half of the half-size", MYSTERY.format("h = h / 2")),
    ("02.q2", "latency over bandwidth", MYSTERY.format("h = a / b")),
    ("02.q2", "slope for bandwidth", MYSTERY.format("b = 1 / b")),
    ("02.q3", "bandwidth only", WAYS.format("move", "all_KB / pack_GBps + move", "<=")),
    ("02.q3", "bandwidth only", WAYS.format("move", "move", "<")),
    ("02.q3", "latency once", WAYS.format("latency_us + move", PACKED, "<=")),
    ("02.q3", "latency once", WAYS.format("latency_us + move", PACKED, "<")),
    ("02.q3", "packing is free", WAYS.format(MANY, "latency_us + move", "<=")),
    ("02.q3", "packing is free", WAYS.format(MANY, "latency_us + move", "<")),
    (
        "02.q3",
        "latency of every small message in the large one",
        WAYS.format(MANY, "all_KB / pack_GBps + count * latency_us + move", "<="),
    ),
    (
        "02.q3",
        "latency of every small message in the large one",
        WAYS.format(MANY, "all_KB / pack_GBps + count * latency_us + move", "<"),
    ),
    ("02.q3", "the word turned round", WAYS.format(MANY, PACKED, ">")),
    (
        "02.q3",
        "the two times exchanged",
        WAYS.format(MANY, PACKED, "<=").replace("return small, large,", "return large, small,"),
    ),
    ("02.q3", "packing while sending", WAYS.format(MANY, "latency_us + max(all_KB / pack_GBps, move)", "<=")),
    ("02.q3", "copied twice", WAYS.format(MANY, "2 * all_KB / pack_GBps + latency_us + move", "<=")),
    ("02.q3", "packed and never sent", WAYS.format(MANY, "all_KB / pack_GBps + latency_us", "<=")),
    ("02.q3", "no latency for the large one", WAYS.format(MANY, "all_KB / pack_GBps + move", "<")),
    ("02.q3", "the bytes of one message", WAYS.format(MANY, "message_KB / pack_GBps + latency_us + move", "<=")),
    (
        "02.q3",
        "the bytes of one message",
        WAYS.format("count * latency_us + message_KB / bandwidth_GBps", PACKED, "<="),
    ),
    (
        "02.q4",
        "by size alone",
        REGIMES.format("'latency' if size < 1 else 'bandwidth' if size > 1000 else 'mixed'"),
    ),
    ("02.q4", "two regimes only", REGIMES.format("'latency' if size < half else 'bandwidth'")),
    (
        "02.q4",
        "upside down",
        REGIMES.format("'bandwidth' if size < half / 10 else 'latency' if size > half * 10 else 'mixed'"),
    ),
]


def test_every_misconception_of_the_first_exercises_is_typed_here():
    named = {(q.id, m.name) for number in ("00", "01", "02") for q in bank.questions(number) for m in q.misconceptions}
    assert {(name, mistake) for name, mistake, _code in TYPED} == named


@pytest.mark.parametrize("learner", ["", "Zoë-李"])
@pytest.mark.parametrize(("name", "mistake", "code"), TYPED)
def test_a_mistake_as_it_is_typed_is_met_by_its_own_sentence(name, mistake, code, learner, capsys):
    space = {"LEARNER": learner, "check": check, "parameters": parameters}
    exec(code + f"\nscore = check('{name}')", space)
    question = bank.question(name)
    wanted = next(m for m in question.misconceptions if m.name == mistake).says(question.parameters_for(learner))
    assert wanted in capsys.readouterr().out
    assert space["score"] < question.points


def test_a_counter_example_of_a_tree_is_shown_whole(capsys):
    space = {"check": check}
    exec(FLOWS + "    return 57.6\nscore = check('01.q2')", space)
    said = capsys.readouterr().out
    assert "…" not in said
    shown = said[said.index("slowest_GBps(") : said.index(")`:") + 1]
    assert eval(shown, {"slowest_GBps": bank.question("01.q2").reference}) < 57.6
