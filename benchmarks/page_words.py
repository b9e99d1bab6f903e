"""How the page says what was measured: tables, milliseconds, megabytes, ratios, and when it was."""

from collections.abc import Iterable, Sequence

from course_lib.base.scale import say_number, say_share, say_time


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
