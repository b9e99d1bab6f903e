"""The page's section about mlsysim beside ours: time, memory, and errors against published measurements."""

from collections.abc import Sequence

from page_words import mb, ms, table, times

from course_lib.base.scale import say_bytes, say_share, say_time

OTHERS = ("ours_ideal", "mlsysim", "mlsysim_fitted")


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


def _bold(values: Sequence[float], say) -> list[str]:
    least = min(say(v) for v in values) if len({say(v) for v in values}) > 1 else None
    best = min(range(len(values)), key=lambda i: values[i])
    return [f"**{say(v)}**" if least is not None and say(v) == say(values[best]) else say(v) for v in values]


def _columns(row: dict) -> list[str]:
    return _bold([row[k] for k in ("ours", *OTHERS)], lambda v: f"{v:.2f}")


def _behind(row: dict) -> bool:
    return round(row["ours"], 2) > round(min(row["mlsysim"], row["mlsysim_fitted"]), 2)
