"""The page's sections about explorers: beside `interact` in a kernel and in JupyterLab, and all of the lessons."""

from page_words import ms, table

from course_lib.base.scale import say_bytes


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
