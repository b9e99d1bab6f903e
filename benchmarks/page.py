"""results.json as benchmarks/README.md, and the lines of the course's README that quote it: every number comes "
"from a measurement."""

from collections.abc import Iterable, Sequence

from course_lib.base.scale import say_bytes, say_number, say_share, say_time

HEAD = """# Benchmarks

Written by `make benchmarks` (`python benchmarks/tables.py`) from `benchmarks/results.json`; do not edit. The same measurements, page and
pictures come out of one command; `--only NAME` measures one part again, `--from-results` writes the page without measuring.

Ratios are of one run, on one machine, one after the other. Times of a processor (ms or s) leave out what else the machine did; where a
wall clock is meant, it says so. Memory is the peak of a process of its own, its imports included."""

SCRIPTS = {
    "tables.py": "the command: measures, writes results.json, this page and the pictures",
    "page.py": "results.json as this page",
    "pictures.py": "the two pictures of the README",
    "common.py": "a process of its own for each measurement, and words about the machine",
    "growth.py": "machine, schedule and timing from 8 to 131,072 GPUs",
    "rivals.py": "mlsysim beside ours: all-reduce, training step, search; `theirs.py` is what runs in its "
    "environment (`requirements.txt`)",
    "explorers.py": "`interact` + `fig.show()` beside our Explorer, and all explorers of the lessons",
    "grading.py": "`nbgrader autograde` beside `interconnect grade`",
    "machine_logs.py": "reading speed by kind of log",
    "models.py": "what one call of a model costs beside what was wanted",
    "step_time.py": "the search of plans at full size; `--calculon FOLDER` runs a clone of Calculon beside ours",
}


def table(head: Sequence[str], rows: Iterable[Sequence]) -> list[str]:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return [*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows), ""]


def ms(value: float | None) -> str:
    """Return milliseconds in words."""
    return "–" if value is None else say_time(value * 1e-3, 2 if value < 1000 else 3)


def mb(value: float) -> str:
    """Return megabytes as a whole number."""
    return f"{value:,.0f} MB"


def times(ratio: float) -> str:
    """Return a ratio in two digits, as "8.4 ×"."""
    return f"{say_number(ratio, 2) if ratio < 100 else say_number(round(ratio, 2 - len(str(int(ratio)))))} ×"


def when(part: dict) -> str:
    """Return the line under a section that says when and on what it was measured."""
    a = part["about"]
    others = a.get("others")
    used = "" if others is None else f", of which other processes used {say_share(others)}"
    return (
        f"*Measured {a['date']} with Python {a['python']}, NumPy {a['numpy']}, {a['cores']} cores{used}; load average of the last "
        f"minute {a['load']} at the start, {a['load_after']} at the end; {say_time(a['took_s'], 2)}.*"
    )


def mlsysim_lines(r: dict) -> list[str]:
    """The section about mlsysim."""
    c, s, p = r["collectives"], r["steps"], r["search"]
    sweep = r["sweep"]
    ours, theirs = sweep["ours"], sweep["mlsysim"]
    text = [
        "## mlsysim beside ours",
        "",
        f"mlsysim {r['version']} from PyPI, in an environment of its own. It is made for "
        "teaching too; its formulas are a textbook's, with units on every number, and it covers much that we leave out "
        "(storage, energy, edge devices, agents).",
        "",
        "### Time and memory",
        "",
        f"The same question to both: all_reduce over {sweep['n']} GPUs of {sweep['system']}; one training step; "
        f"all plans of {p['model']} on "
        f"{p['gpus']} GPUs of {p['system']}. mlsysim's formulas take one message at a time, so that its sweep is "
        "a loop over the ring.",
        "",
    ]
    pairs = [
        ("import, wall clock", ours["import_wall_s"] * 1e3, theirs["import_wall_s"] * 1e3),
        ("import, processor", ours["import_cpu_s"] * 1e3, theirs["import_cpu_s"] * 1e3),
        ("one size, one call", ours["one_ms"], theirs["one_ms"]),
        (f"{sweep['sizes']:,} sizes", ours["sweep_ms"], theirs["sweep_ms"]),
        (f"a training step of {s['of']}", s["ours"]["one_ms"], s["mlsysim"]["one_ms"]),
        ("the same, one of many at once", s["ours"]["many_ms"], s["mlsysim"]["one_ms"]),
    ]
    rows = [[what, ms(a), ms(b), times(b / a)] for what, a, b in pairs]
    rows.append(
        [
            "memory after the sweep",
            mb(ours["peak_MB"]),
            mb(theirs["peak_MB"]),
            times(theirs["peak_MB"] / ours["peak_MB"]),
        ]
    )
    text += table(["", "ours", "mlsysim", "mlsysim ÷ ours"], rows)
    text += ["### A search of plans", ""]
    rows = []
    for row in p["rows"]:
        plan = " × ".join(map(str, row["plan"])) if row["plan"] else "none fits"
        found = say_time(row["step_s"]) if row["step_s"] else "–"
        each = row["cpu_s"] / row["n_plans"] if row["n_plans"] else float("nan")
        who = "ours, all that can be set" if row["recompute"] == "any" else row["who"]
        rows.append(
            [
                who,
                row["recompute"],
                f"{row['n_plans']:,}",
                say_time(row["cpu_s"], 2),
                say_time(each, 2),
                mb(row["peak_MB"]),
                plan,
                found,
            ]
        )
    text += table(
        ["", "recompute", "plans", "processor", "each", "memory", "best: tensor × pipeline × data", "its step"], rows
    )
    text += [
        f"{p['model']}, batch {p['batch']:,}, {p['gpus']} GPUs of {p['system']}; nobody published this step, so "
        "the last column is no "
        f"judgement. mlsysim counts plans that fit; its efficiency is {p['efficiency']}, its default.",
        "",
        "### How far from published measurements: all_reduce",
        "",
        "Error is the median of |ln(predicted / measured)|, on sweeps that no constant of ours saw "
        "([docs/accuracy.md](../docs/accuracy.md)). "
        "Four columns: ours; ours from the data sheet alone, without fitted constants; mlsysim's formula from "
        "the same data sheet (inside a "
        "domain the quicker of ring and double tree, across domains its hierarchical one); and that formula with "
        "two factors, on latency and "
        "on transfer, fitted for each family of links on the sweeps that trained ours.",
        "",
    ]
    head = [
        "where",
        "sizes",
        "points",
        "ours",
        "ours, data sheet",
        "mlsysim",
        "mlsysim, fitted",
        "ours nearer than both",
    ]
    rows = []
    for row in c["judged"]:
        sizes = "64 MiB and more" if row["large"] else "all"
        share = f"{row['ours_nearest']} of {row['points']}"
        rows.append(["inside" if row["inside"] else "across", sizes, row["points"], *_columns(row), share])
    text += table(head, rows)
    rows = [[x["system"], "inside" if x["inside"] else "across", x["points"], *_columns(x)] for x in c["by_system"]]
    text += table(["system", "where", "points", *head[3:7]], rows)
    better = [f"{x['system']}, {'inside' if x['inside'] else 'across'}" for x in c["by_system"] if _behind(x)]
    text += [
        f"In bold is the smallest of a row. mlsysim's is nearer than ours on {len(better)} of {len(c['by_system'])}: "
        f"{'; '.join(better) or 'none'}.",
        "",
        f"One of them size by size: {c['shown_on']}.",
        "",
    ]
    rows = [[say_bytes(x["size_B"]), *(say_time(x[k]) for k in ("measured_s", "ours", *OTHERS))] for x in c["shown"]]
    text += table(["size", "measured", *head[3:7]], rows)
    text += [
        "### How far from published measurements: training steps",
        "",
        "Median of |predicted / measured − 1| over published settings that both can price: dense models, 16 "
        "bits, A100 and H100. "
        f"mlsysim's efficiency is the one of {r['efficiencies']} tried that suits it best on the training rows, "
        f"{s['efficiency']}. "
        "What the parts are: [docs/accuracy_training.md](../docs/accuracy_training.md).",
        "",
    ]
    rows = []
    for x in s["rows"]:
        near = f"{x['ours_nearer']} of {x['settings'] - x['refused']}"
        rows.append([x["part"], x["settings"], *_bold([x["ours"], x["mlsysim"]], lambda v: say_share(v, 1)), near])
    return text + table(["part", "settings", "ours", "mlsysim", "ours is nearer"], rows)


OTHERS = ("ours_ideal", "mlsysim", "mlsysim_fitted")


def _bold(values: Sequence[float], say) -> list[str]:
    least = min(say(v) for v in values) if len({say(v) for v in values}) > 1 else None
    best = min(range(len(values)), key=lambda i: values[i])
    return [f"**{say(v)}**" if least is not None and say(v) == say(values[best]) else say(v) for v in values]


def _columns(row: dict) -> list[str]:
    return _bold([row[k] for k in ("ours", *OTHERS)], lambda v: f"{v:.2f}")


def _behind(row: dict) -> bool:
    return round(row["ours"], 2) > round(min(row["mlsysim"], row["mlsysim_fitted"]), 2)


def grading_lines(r: dict) -> list[str]:
    """The section about grading."""
    a, b = r["nbgrader"], r["ours"]
    each = a["wall_s"] / a["hand_ins"], b["wall_s"] / b["hand_ins"]
    rows = [
        [
            "`nbgrader autograde`",
            a["hand_ins"],
            f"{a['wall_s']:.1f} s",
            f"{each[0]:.2f} s",
            "one kernel, learner's code beside the tests",
        ],
        [
            f"`interconnect grade --jobs {r['jobs']}`",
            b["hand_ins"],
            f"{b['wall_s']:.1f} s",
            f"{each[1]:.2f} s",
            "a sandbox each",
        ],
    ]
    return [
        "## nbgrader autograde beside interconnect grade",
        "",
        *table([f"exercise {r['exercise']}", "hand-ins", "wall clock", "each", "isolation"], rows),
        f"Ratio {times(each[0] / each[1])}; marks agree on {r['same_marks']} of {a['hand_ins']}. Both begin cold: "
        "the times hold the start of "
        "sandboxes, of kernels and of the gradebook, and every third hand-in has a wrong answer.",
        "",
    ]


def explorer_lines(r: dict) -> list[str]:
    """The section about explorers beside interact."""
    kernel = r["kernel"]
    text = [
        "## interact + fig.show() beside our Explorer",
        "",
        f"The same curve moved by the same slider, {r['moves']} times. In a bare kernel: what it sends, until the "
        "picture is sent, and the "
        "processor's time.",
        "",
    ]
    rows = []
    for name, x in kernel.items():
        rows.append(
            [
                name,
                say_bytes(round(x["move_B"], -2)),
                ms(x["move_ms"]),
                ms(x["move_cpu_ms"]),
                say_bytes(round(x["first_B"], -3)),
            ]
        )
    text += table(["", "bytes per update", "time per update", "processor per update", "bytes to begin with"], rows)
    text += [f"A drag: {r['moves']} moves, 25 ms apart, all together.", ""]
    rows = []
    for name, x in kernel.items():
        cells = [x["drag_pictures"], say_bytes(round(x["drag_B"], -3)), ms(x["drag_cpu_ms"]), ms(x["drag_behind_ms"])]
        rows.append([name, *cells])
    text += table(["", "pictures sent", "bytes", "processor", "last picture after last move"], rows)
    text += ["The Explorer merges fast moves; the last one is always drawn (`tests/explorers` holds it).", ""]
    return text


def jupyterlab_lines(lab: dict) -> list[str]:
    """The section about the same in JupyterLab."""
    moves = max((x["moves"] for x in lab.values()), default=0)
    rows, grown = [], {name: x["after_B"] - x["saved_B"] for name, x in lab.items()}
    for name, x in lab.items():
        cells = [ms(x["key_ms"]), ms(x["key_95_ms"]), f"{x['missed']} of {x['timed']}"]
        rows.append([name, *cells, say_bytes(x["saved_B"] - x["empty_B"]), say_bytes(grown[name]), x["left_machine"]])
    head = ["", "key to picture, median", "95 % under", "missed", "file grows by running", f"by {moves} moves"]
    growing = [name for name, more in grown.items() if more > 0]
    return [
        "### The same in JupyterLab",
        "",
        f"Chromium without a network: a key pressed {moves} times, the first half timed one by one; the notebook saved before and after.",
        "",
        *table([*head, "requests to elsewhere"], rows),
        f"With moves grows: {', '.join(growing) or 'none of them'}. What the Explorer adds once is the still picture with its "
        "description and numbers, so that the saved notebook does not open blank; `interact` saves no picture.",
        "",
    ]


def lesson_lines(rows: list[dict]) -> list[str]:
    """The section about the explorers of the lessons."""
    groups: dict[str, list[dict]] = {}
    for x in rows:
        groups.setdefault(x["lesson"], []).append(x)
    made = []
    for lesson, mine in groups.items():
        slowest = max(mine, key=lambda x: x["slowest_ms"])
        median = max(x["median_ms"] for x in mine)
        made.append(
            [
                lesson,
                len(mine),
                f"{sum(x['visited'] for x in mine):,} of {sum(x['settings'] for x in mine):,}",
                ms(median),
                ms(slowest["slowest_ms"]),
                slowest["explorer"],
                ms(max(x["made_s"] for x in mine) * 1e3),
            ]
        )
    return [
        "## All explorers of the lessons",
        "",
        "Processor time of the first visit of a setting, model and figure together (wanted: a median under 20 ms). "
        "Caches are empty, but for what an explorer prepares in the background.",
        "",
        *table(["lesson", "explorers", "settings", "largest median", "slowest", "which", "longest to make"], made),
    ]


def growth_lines(r: dict) -> list[str]:
    """The section about growth."""
    counts = sorted({x["gpus"] for x in r["rows"]})
    names = list(dict.fromkeys(x["algorithm"] for x in r["rows"]))
    at = {(x["algorithm"], x["gpus"]): x for x in r["rows"]}
    head = ["all_reduce", *(f"{n:,}" for n in counts)]

    def grid(cell):
        return [[f"`{name}`", *(cell(at[name, n]) if (name, n) in at else "–" for n in counts)] for name in names]

    predict = {x["gpus"]: x for x in r["predict"]}
    seconds = grid(lambda x: say_time(x["machine_s"] + x["build_s"] + x["timing_s"], 2))
    seconds.append(["`predict` (formulas)", *(say_time(predict[n]["cpu_s"], 2) for n in counts)])
    memory = grid(lambda x: f"{x['peak_MB']:,.0f}")
    memory.append(["`predict` (formulas)", *(f"{predict[n]['peak_MB']:,.0f}" for n in counts)])
    last = counts[-1]
    parts = [
        [
            f"`{name}`",
            *(say_time(at[name, last][k], 2) for k in ("machine_s", "build_s", "timing_s", "wall_s")),
            f"{at[name, last]['transfers']:,}",
            say_time(at[name, last]["time_s"]),
        ]
        for name in names
    ]
    return [
        "## From 8 to 131,072 GPUs",
        "",
        f"An all_reduce of {say_bytes(r['size_B'])} over {r['system']} hosts on rails: the machine with its "
        "links, the schedule and its timing "
        f"on every link, a process each. Processor time, the quickest of {r['of']} (one host has nothing across):",
        "",
        *table(head, seconds),
        f"Peak memory in MB, of which {r['imports_MB']:.0f} are imports:",
        "",
        *table(head, memory),
        f"At {last:,} GPUs, part by part; transfers are those written down once, before they repeat:",
        "",
        *table(["", "machine", "schedule", "timing", "wall clock of all", "transfers", "what it says"], parts),
    ]


def model_lines(rows: list[dict]) -> list[str]:
    """The section about single calls."""
    made = [[x["what"], x["of"], ms(x["cpu_ms"]), ms(x["promised_ms"])] for x in rows]
    return ["## One call of a model", "", *table(["", "of", "processor, best of a few", "wanted at most"], made)]


def search_lines(rows: list[dict]) -> list[str]:
    """The section about the search at full size."""
    made = []
    for x in rows:
        speed = say_number(round(x["n_plans"] / x["cpu_s"], -3))
        cells = [f"{x['n_plans']:,}", say_time(x["cpu_s"], 2), say_time(x["wall_s"], 2), speed, mb(x["peak_MB"])]
        made.append([x["model"], f"{x['gpus']:,} of {x['system']}", *cells])
    return [
        "## All plans of a model",
        "",
        *table(["model", "GPUs", "plans", "processor", "wall clock", "plans a second", "memory"], made),
        "Wanted: 2 s and 2 GB.",
        "",
    ]


def log_lines(r: dict) -> list[str]:
    """The section about logs."""
    rows = []
    for x in r["rows"]:
        speed = x["size_MB"] / x["cpu_s"]
        rows.append([x["kind"], f"{speed:.1f}", f"{50 / speed:.1f}", f"{x['more_MB']:.1f}"])
    return [
        "## Reading logs",
        "",
        f"`interconnect diagnose` on {r['megabytes']:g} MB of each kind, seconds of a processor.",
        "",
        *table(["kind", "MB/s", "50 MB take, s", "MB more"], rows),
    ]


SECTIONS = {
    "mlsysim": mlsysim_lines,
    "grading": grading_lines,
    "explorers": explorer_lines,
    "jupyterlab": jupyterlab_lines,
    "growth": growth_lines,
    "search": search_lines,
    "models": model_lines,
    "lessons": lesson_lines,
    "logs": log_lines,
}


def page(results: dict) -> str:
    """Return benchmarks/README.md."""
    text = [HEAD, "", "![" + results["picture"] + "](../docs/images/benchmarks.png)", ""]
    for name, lines in SECTIONS.items():
        part = results[name]
        text += [*lines(part["found"]), when(part), ""]
    text += ["## Scripts", "", *table(["script", "what it is for"], [[f"`{k}`", v] for k, v in SCRIPTS.items()])]
    return "\n".join(text).rstrip() + "\n"


def quoted(results: dict) -> list[str]:
    """Return the sentences of the course's README."""
    growth, grading = results["growth"]["found"], results["grading"]["found"]
    sweep, search = results["mlsysim"]["found"]["sweep"], results["search"]["found"]
    largest = max(x["gpus"] for x in growth["rows"])
    last = [x for x in growth["rows"] if x["gpus"] == largest]
    whole = [x["machine_s"] + x["build_s"] + x["timing_s"] for x in last]
    a, b = grading["nbgrader"], grading["ours"]
    ratio = (a["wall_s"] / a["hand_ins"]) / (b["wall_s"] / b["hand_ins"])
    most = max(search, key=lambda x: x["n_plans"])
    return [
        f"An all-reduce over {largest:,} GPUs is built and timed on every link in {say_time(min(whole), 2)} to "
        f"{say_time(max(whole), 2)} of a "
        f"processor and at most {mb(max(x['peak_MB'] for x in last))}; {sweep['sizes']:,} sizes are predicted in "
        f"{ms(sweep['ours']['sweep_ms'])} (mlsysim, one at a time: {ms(sweep['mlsysim']['sweep_ms'])}); "
        f"{most['n_plans']:,} training plans are "
        f"priced in {say_time(most['cpu_s'], 2)}; a class is graded {say_number(ratio, 2)} times as fast as by "
        "`nbgrader autograde`, in a sandbox each."
    ]
