"""results.json as benchmarks/README.md, and the lines of the course's README that quote it: every number is measured."""

from page_explorers import explorer_lines, jupyterlab_lines, lesson_lines
from page_mlsysim import mlsysim_lines
from page_words import mb, ms, table, times, when

from course_lib.base.scale import say_bytes, say_number, say_time

HEAD = """# Benchmarks

Written by `make benchmarks` (`python benchmarks/tables.py`) from `benchmarks/results.json`; do not edit. The same measurements, page and
pictures come out of one command; `--only NAME` measures one part again, `--from-results` writes the page without measuring.

Ratios are of one run, on one machine, one after the other. Times of a processor (ms or s) leave out what else the machine did; where a
wall clock is meant, it says so. Memory is the peak of a process of its own, its imports included."""

SCRIPTS = {
    "tables.py": "the command: measures, writes results.json, this page and the pictures",
    "page.py": "results.json as this page; `page_mlsysim.py` and `page_explorers.py` are its long sections, `page_words.py` how it speaks",
    "pictures.py": "the two pictures of the README",
    "common.py": "a process of its own for each measurement, and words about the machine",
    "growth.py": "machine, schedule and timing from 8 to 131,072 GPUs",
    "rivals.py": "mlsysim beside ours: a sweep and a search of plans; errors of all-reduces in `rivals_collectives.py`, of training "
    "steps in `rivals_steps.py`; `rivals_process.py` asks `theirs.py`, which runs in its environment (`requirements.txt`)",
    "explorers.py": "`interact` + `fig.show()` beside our Explorer, and all explorers of the lessons",
    "grading.py": "`nbgrader autograde` beside `interconnect grade`",
    "machine_logs.py": "reading speed by kind of log",
    "models.py": "what one call of a model costs beside what was wanted",
    "step_time.py": "the search of plans at full size; `--calculon FOLDER` runs a clone of Calculon beside ours",
}


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
