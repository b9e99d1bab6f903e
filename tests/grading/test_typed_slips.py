"""Slips of exercises 03 to 05 as learners type them, in another form than the wrong model of the bank: each is met by its sentence."""

import pytest

from course_lib.grading import bank, check, parameters

PAIRS = "def pair_GBps(links, link, pcie):\n    n = len(links)\n    return [[{} for j in range(n)] for i in range(n)]"
HALVES = """from itertools import combinations
def bisection_GBps(links, rate):
    n = len(links)
    across = lambda side: sum(links[i][j] for i in side for j in range(n) if j not in side)
    halves = list(combinations(range(n), n // 2))
    return {}
"""
FITS = "import math\ndef fits(layers, layer, own, hbm, gpus):\n    return {}"
FLOWS = """def slowest_GBps(src, dst, port):
    out, into = max(map(src.count, src)), max(map(dst.count, dst))
    return {}
"""
RING = """from course_lib.comm.schedule import Schedule
def ring_{op}(n):
    return Schedule.from_transfers("{op}", n, n, [[{line}] for k in range(n - 1)])
"""
SENT = """import math
def sent_B(op, n, S):
    if n == 1{alone}:
        return 0.0
    share = {{"all_reduce": 2 * (n - 1) / n, "broadcast": 1, "reduce": 1}}.get(op, (n - 1) / n)
    {wrong}
    return share * S
"""
BUS = """def busbw_GBps(op, n, size, us):
    factor = {{"all_reduce": 2 * (n - 1) / n, "broadcast": 1, "reduce": 1}}.get(op, (n - 1) / n)
    {}
    return factor * size / us / 1e3
"""
CROSS = """import math
def crossover(n, a, b):
    levels, laps = 2 * math.ceil(math.log2(n)), 2 * (n - 1)
    if laps <= levels or a == 0:
        return 0.0, "ring", "ring"
    return {}, "tree", "ring"
"""
LEVELS = """def hierarchical_us(S, d, k, ia, ib, oa, ob):
    inside, between = (k - 1) * ia + (k - 1) / k * S / ib, 2 * (d - 1) * oa + 2 * (d - 1) / d * S / k / ob
    return {}
"""
REVIEW = """S, k, rate = 8000.0, 8, parameters("05.q3")["inner_GBps"]
review = {{"verdict": "refuse", "message_KB": S, "per_box": k, "fix_us": {}, "least_us": 7 / 8 * S / rate}}
"""
ABOVE = """row = parameters("05.q4")
n, alg, link = row["n_ranks"], row["size_B"] / row["time_us"] / 1e3, row["link_GBps"]
factor = 2 * (n - 1) / n
explained = {{"busbw_GBps": alg * factor, "wire_GBps": alg * (1 + 1 / n), "limit_GBps": link * factor / (1 + 1 / n)}}
explained |= {{"cause": "switch adds"}} | {}
"""
BYTES = """def sent_and_received(op, way, n, S):
    shard = S / n
    both = {{
        "ring": {{"all_reduce": (2 * (S - shard),) * 2}}.get(op, (S - shard,) * 2),
        "nvls": {{"all_reduce": (S + shard,) * 2, "reduce_scatter": (S, shard), "all_gather": (shard, S)}}[op],
        "push-up": (S, S),
    }}
    {}
    return both[way]
"""
TO_THE_RIGHT = '(r, (r + 1) % n, {}, "{}") for r in range(n)'


def rates(**wrong):
    return f"three_rates = { ({'wire': 478.125, 'sheet': 450, 'copy_percent': 88.1, 'rest': 'packets'} | wrong)!r}"


TYPED = [
    ("03.q1", "one link a pair", PAIRS.format("0 if i == j else link if links[i][j] else pcie")),
    ("03.q1", "a way to itself", PAIRS.format("links[i][j] * link or pcie")),
    ("03.q1", "the budget over all others", PAIRS.format("0 if i == j else sum(links[i]) * link / (n - 1)")),
    ("03.q2", "the widest cut", HALVES.format("max(map(across, halves)) * rate")),
    ("03.q2", "a cut that is no half", HALVES.format("min(map(sum, links)) * rate")),
    (
        "03.q2",
        "a cut that is no half",
        HALVES.format("min(across(s) for k in range(1, n) for s in combinations(range(n), k)) * rate"),
    ),
    (
        "03.q2",
        "pairs for links",
        HALVES.format("min(sum(links[i][j] > 0 for i in s for j in range(n) if j not in s) for s in halves) * rate"),
    ),
    ("03.q2", "links without their rate", HALVES.format("min(map(across, halves))")),
    ("03.q3", "the sum of all memories", FITS.format("layers * layer <= gpus * hbm")),
    ("03.q3", "not to the last byte", FITS.format("hbm >= own and math.ceil(layers / gpus) * layer < hbm - own")),
    ("03.q3", "one layer a GPU", FITS.format("layers <= gpus and layer + own <= hbm")),
    ("03.q3", "the rest of the layers dropped", FITS.format("(layers // gpus) * layer + own <= hbm")),
    ("03.q3", "room rounded up", FITS.format("hbm >= own and gpus * round((hbm - own) / layer) >= layers")),
    ("03.q4", "two ports one after the other", FLOWS.format("port / (out * into)")),
    (
        "03.q4",
        "two ports one after the other",
        FLOWS.format("min(port / (src.count(a) + dst.count(b)) for a, b in zip(src, dst))"),
    ),
    ("03.q4", "GPUs for flows", FLOWS.format("port / len(set(dst))")),
    (
        "03.q4",
        "the fastest flow",
        FLOWS.format("max(port / max(src.count(a), dst.count(b)) for a, b in zip(src, dst))"),
    ),
    ("03.q5", "the code taken off before the wire", rates(wire=450)),
    ("03.q5", "the code taken off before the wire", rates(sheet=423.5)),
    ("03.q5", "the code left on", rates(sheet=478.1)),
    ("03.q5", "the share that is missing", rates(copy_percent=11.9)),
    ("03.q5", "both directions", rates(copy_percent=44.04)),
    (
        "04.q1",
        "another chunk than the one that arrived",
        RING.format(op="reduce_scatter", line=TO_THE_RIGHT.format("(r - 1 + k) % n", "add")),
    ),
    (
        "04.q1",
        "the same chunk again and again",
        RING.format(op="reduce_scatter", line=TO_THE_RIGHT.format("r", "add")),
    ),
    ("04.q1", "one chunk for all", RING.format(op="reduce_scatter", line=TO_THE_RIGHT.format("k", "add"))),
    (
        "04.q1",
        "an open ring",
        RING.format(op="reduce_scatter", line='(r, r + 1, (r - 1 - k) % n, "add") for r in range(n - 1)'),
    ),
    (
        "04.q2",
        "starts with a chunk it does not have",
        RING.format(op="all_gather", line=TO_THE_RIGHT.format("k", "copy")),
    ),
    (
        "04.q2",
        "starts with a chunk it does not have",
        RING.format(op="all_gather", line=TO_THE_RIGHT.format("(r + 1 - k) % n", "copy")),
    ),
    (
        "04.q2",
        "straight from the owner",
        """from course_lib.comm.schedule import Schedule
def ring_all_gather(n):
    return Schedule.from_transfers("all_gather", n, n, [[(r, d, r, "copy") for r in range(n) for d in range(n) if d != r]])
""",
    ),
    (
        "04.q2",
        "everything in every step",
        RING.format(op="all_gather", line=TO_THE_RIGHT.format("(r - j) % n", "copy") + " for j in range(k + 1)"),
    ),
    (
        "04.q4",
        "one rank deals with all others",
        SENT.format(alone="", wrong="share = 2 * (n - 1) if op == 'all_reduce' else share"),
    ),
    (
        "04.q4",
        "the root at every level of a tree",
        SENT.format(alone="", wrong="share = math.ceil(math.log2(n)) if op in ('broadcast', 'reduce') else share"),
    ),
    (
        "04.q4",
        "the vector shared out in a broadcast",
        SENT.format(alone="", wrong="share = (1 + (op == 'all_reduce')) * (n - 1) / n"),
    ),
    (
        "04.q4",
        "one rank with something to send",
        SENT.format(alone=" and op not in ('broadcast', 'reduce')", wrong=""),
    ),
    ("04.q4", "a single transfer", SENT.format(alone="", wrong="share = 1 / n")),
    ("04.q4", "a single transfer", SENT.format(alone="", wrong="share = 2 / n if op == 'all_reduce' else share")),
    ("04.q4", "all ranks together", SENT.format(alone="", wrong="share *= n")),
    ("04.q5", "an all-reduce is one lap", BUS.format("factor = (n - 1) / n if op == 'all_reduce' else factor")),
    (
        "04.q5",
        "the vector shared out in a broadcast",
        BUS.format("factor = (n - 1) / n if op in ('broadcast', 'reduce') else factor"),
    ),
    (
        "04.q6",
        "an all-reduce is one lap",
        "rows = parameters('04.q6')['A']['rows'][-1]\nn_ranks = {'A': round(1 / (1 - rows[3] / rows[2])), 'B': None}",
    ),
    ("05.q1", "the half-size itself", CROSS.format("a * b")),
    ("05.q1", "the fraction turned round", CROSS.format("(levels - laps / n) / (laps - levels) * a * b")),
    ("05.q1", "latency over bandwidth", CROSS.format("(laps - levels) * a / b / (levels - laps / n)")),
    ("05.q1", "two whole messages round the ring", CROSS.format("(laps - levels) * a * b / (levels - 2)")),
    (
        "05.q1",
        "levels not rounded up",
        CROSS.replace("math.ceil", "int").format("(laps - levels) * a * b / (levels - laps / n)"),
    ),
    ("05.q2", "one latency a part", LEVELS.format("[(k - 1) / k * S / ib, 2 * (d - 1) / d * S / k / ob, (k - 1) / k * S / ib]")),
    ("05.q2", "one lap between the boxes", LEVELS.format("[inside, between / 2, inside]")),
    ("05.q2", "one lap between the boxes", LEVELS.format("[inside, between - (d - 1) * oa, inside]")),
    ("05.q2", "its own part inside", LEVELS.format("[inside, between, (k - 1) * ia + S / ib]")),
    ("05.q3", "another price than that of the fix", REVIEW.format("S / k / rate")),
    ("05.q3", "another price than that of the fix", REVIEW.format("7 / 8 * S / rate")),
    ("05.q4", "the data sheet's rate", ABOVE.format('{"wire_GBps": link}')),
    ("05.q4", "the data sheet's rate", ABOVE.format('{"limit_GBps": link}')),
    ("05.q4", "an all-reduce is one lap", ABOVE.format('{"busbw_GBps": alg * (n - 1) / n}')),
    ("05.q4", "the wire's bytes in the printed rate", ABOVE.format('{"busbw_GBps": alg * (n + 1) / n}')),
    ("05.q5", "an all-reduce is one lap", BYTES.format("both['ring'] = (S - shard, S - shard)")),
    ("05.q5", "the ring sends all", BYTES.format("both['ring'] = (2 * S, 2 * S) if op == 'all_reduce' else (S, S)")),
    (
        "05.q5",
        "its own part kept from the switch",
        BYTES.format(
            "both['nvls'] = {'all_reduce': (S, S), 'reduce_scatter': (S - shard, shard), 'all_gather': (shard, S - shard)}[op]"
        ),
    ),
    ("05.q5", "half of the all-reduce", BYTES.format("both['nvls'] = (S, shard) if op == 'all_reduce' else both['nvls']")),
    ("05.q5", "push-up as with owners", BYTES.format("both['push-up'] = (S + shard, S + shard)")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "mistake", "code"), TYPED)
def test_a_slip_as_it_is_typed_is_met_by_its_own_sentence(name, mistake, code, capsys):
    space = {"LEARNER": "", "check": check, "parameters": parameters}
    exec(code + f"\nscore = check('{name}')", space)
    question = bank.question(name)
    wanted = next(m for m in question.misconceptions if m.name == mistake).says(question.parameters_for(""))
    assert wanted in capsys.readouterr().out
    assert space["score"] < question.points


def test_a_case_in_which_nothing_moves_is_not_taken_for_a_wrong_price(capsys):
    code = REVIEW.replace("8000.0", "0.0").format("0.0")
    exec(code + "\ncheck('05.q3')", {"check": check, "parameters": parameters})
    assert "above 0 KB" in capsys.readouterr().out


def test_a_mistake_that_the_library_names_is_one_sentence_with_its_line(capsys):
    code = RING.format(op="reduce_scatter", line=TO_THE_RIGHT.format("r - 1 - k", "add"))
    exec(code + "\ncheck('04.q1')", {"check": check, "parameters": parameters})
    said = capsys.readouterr().out
    assert "it has to be at least 0. It came up in line 3." in said
    assert ". in line" not in said


def test_two_slips_in_two_parts_are_not_both_silent(capsys):
    """One wrong model explains what is wrong with the all-reduce, another what is wrong with the broadcast: one is named."""
    code = SENT.format(
        alone="", wrong="share = n - 1 if op == 'broadcast' else share / 2 if op == 'all_reduce' else share"
    )
    exec(code + "\ncheck('04.q4')", {"check": check, "parameters": parameters})
    said = capsys.readouterr().out
    assert "For all_reduce you count one lap" in said
    assert "`sent_B(op='all_reduce'" in said, "the example belongs to what was named"
