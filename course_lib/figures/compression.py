"""Compressed gradients: loss curves with their bytes, bytes against ranks, and half the bytes in time."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from course_lib.base.errors import CourseError, finite
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number
from course_lib.figures.base import (
    OUTSIDE,
    base_figure,
    capital,
    count_axis,
    describe,
    end_labels,
    line,
    linear_axis,
    log_axis,
    size_axis,
    wrapped,
)
from course_lib.figures.theme import HEIGHT, SERIES_DASH


def loss_curves(
    losses: Sequence, names: Sequence[str], *, notes: Sequence[str] = (), title: str = "", subtitle: str = ""
) -> go.Figure:
    """Return loss over steps, a line a run, named at its end with its note (bytes, scale). The first run is drawn amber.

    `losses` are arrays of finite values above 0, one a step taken; they may have different lengths. One trace a run.

    >>> loss_curves([[2.0, 1.0], [2.0, 1.5]], ["kept", "lost"]).layout.title.text
    'After 2 steps: loss 1 (kept), 1.5 (lost)'
    """
    runs = [np.atleast_1d(finite(n, np.asarray(loss), above=0)) for n, loss in zip(names, losses)]
    if not runs or len(runs) != len(names) or len(losses) != len(names) or min(r.size for r in runs) < 1:
        raise CourseError(_("Every run needs a name and at least one loss."))
    said = list(notes) + [""] * (len(runs) - len(notes))
    low, high = min(float(r.min()) for r in runs), max(float(r.max()) for r in runs)
    yaxis = log_axis(_("loss"), low / 1.4, high * 1.3, say_number, 7)
    steps = max(r.size for r in runs)
    data = [
        line(
            np.arange(1, r.size + 1),
            r,
            role="attention" if i == 0 else "model",
            width=3.0 if i == 0 else 2.0,
            dash=SERIES_DASH[i % len(SERIES_DASH)],
            name=n,
            hover=f"{n}: step %{{x}}, loss %{{y:.3g}}",
        )
        for i, (r, n) in enumerate(zip(runs, names))
    ]
    labels = [
        (wrapped(n, 16) + (f"<br>{s}" if s else ""), float(r[-1]), "attention" if i == 0 else "")
        for i, (r, n, s) in enumerate(zip(runs, names, said))
    ]
    ends = ", ".join(f"{say_number(float(r[-1]), 2)} ({n})" for r, n in zip(runs, names))
    return base_figure(
        data,
        title=title or _("After {n} steps: loss {ends}").format(n=steps, ends=ends),
        subtitle=subtitle or _("the same small model, the same data; lower is better, the axis is logarithmic"),
        xaxis=linear_axis(_("step"), 0, steps),
        yaxis=yaxis,
        height=HEIGHT + 20,
        annotations=end_labels(labels, yaxis, outside=True, height=HEIGHT + 20, gap_px=20),
        margin={"r": OUTSIDE + 44},
        meta=describe(
            _("Loss over {n} steps. ").format(n=steps)
            + "; ".join(
                _("{name}: {a} after the first step, {b} at the end{note}").format(
                    name=n,
                    a=say_number(float(r[0]), 2),
                    b=say_number(float(r[-1]), 2),
                    note=f", {s}" if s else "",
                )
                for n, r, s in zip(names, runs, said)
            )
            + ".",
            [_("run"), _("steps"), _("loss at the end"), _("note")],
            [(n, r.size, say_number(float(r[-1]), 3), s) for n, r, s in zip(names, runs, said)],
        ),
    )


def sent_over_ranks(n_ranks: Sequence[int], sent_B, names: Sequence[str], *, title: str = "") -> go.Figure:
    """Return the bytes that each rank sends over the number of ranks; the first row is what all is compared with, dashed.

    `sent_B` is (ways, n), above 0. One trace a way.

    >>> sent_over_ranks([2, 64], [[4e6, 8e6], [8e4, 5e6]], ["dense", "1 % kept"]).layout.title.text.replace("<br>", " ")
    '1 % kept sends 50 × less than dense at 2 ranks, 1.6 × less at 64'
    """
    ranks = np.asarray(finite("n_ranks", np.asarray(n_ranks), at_least=1))
    sent = np.atleast_2d(finite("sent_B", np.asarray(sent_B), above=0, unit="bytes"))
    if sent.shape != (len(names), ranks.size) or len(names) < 2:
        raise CourseError(_("sent_B needs a row for each of at least two names, a column for each number of ranks."))
    xaxis = count_axis(float(ranks.min()) / 1.1, float(ranks.max()) * 1.1, _("ranks"), [round(float(r)) for r in ranks])
    if ranks.size > 5:  # every other tick keeps its line and no number: pages can be narrow
        xaxis["ticktext"] = [text if (ranks.size - i) % 2 else "" for i, text in enumerate(xaxis["ticktext"])]
    yaxis = size_axis(float(sent.min()) / 2, float(sent.max()) * 2, _("sent by each rank"))
    data = [
        line(
            ranks,
            row,
            role="limit" if i == 0 else "attention" if i == 1 else "model",
            dash="dash" if i == 0 else SERIES_DASH[max(i - 1, 0) % len(SERIES_DASH)],
            name=n,
            hover=f"{n}: %{{x}} ranks, %{{y:.3s}}B",
        )
        for i, (row, n) in enumerate(zip(sent, names))
    ]
    roles = ["limit", "attention"] + [""] * (len(names) - 2)
    labels = [
        (f"{wrapped(n, 19)}<br><b>{say_bytes(float(row[-1]), 2)}</b>", float(row[-1]), role)
        for n, row, role in zip(names, sent, roles)
    ]
    return base_figure(
        data,
        title=title
        or capital(
            _("{name} sends {a} than {dense} at {n} ranks, {b} at {m}").format(
                name=names[1],
                dense=names[0],
                a=say_times(float(sent[0, 0] / sent[1, 0])),
                b=say_times(float(sent[0, -1] / sent[1, -1])),
                n=round(float(ranks[0])),
                m=round(float(ranks[-1])),
            )
        ),
        subtitle=_("bytes of one exchange, one direction, positions and scales included; both axes logarithmic"),
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=end_labels(labels, yaxis, outside=True, gap_px=20),
        margin={"r": OUTSIDE + 46},
        meta=describe(
            _("Bytes sent by each rank over the number of ranks. ")
            + "; ".join(
                _("{name}: {a} at {n} ranks, {b} at {m}").format(
                    name=n,
                    a=say_bytes(float(row[0])),
                    b=say_bytes(float(row[-1])),
                    n=round(float(ranks[0])),
                    m=round(float(ranks[-1])),
                )
                for n, row in zip(names, sent)
            )
            + ".",
            [_("ranks"), *names],
            [(round(float(r)), *(say_bytes(float(v)) for v in sent[:, i])) for i, r in enumerate(ranks)],
        ),
    )


def say_times(ratio: float) -> str:
    """Return a ratio of bytes in words: less, or more.

    >>> say_times(50.0), say_times(0.5), say_times(1.0)
    ('50 × less', '2 × more', 'as much')
    """
    if abs(ratio - 1) < 5e-3:
        return _("as much")
    if ratio > 1:
        return _("{x} × less").format(x=say_number(ratio, 2))
    return _("{x} × more").format(x=say_number(1 / ratio, 2))


def halved(message_B, before_s, after_s, names: Sequence[str], roles: Sequence[str]) -> go.Figure:
    """Return how many times as fast a collective gets when its bytes are halved, over its size before; 2 × is dashed.

    `before_s` and `after_s` are (ways, n) in seconds; `roles` colours the ways. One trace a way, and the limit.

    >>> halved([1e3, 1e9], [[1.0, 2.0]], [[1.0, 1.05]], ["NVLink"], ["nvlink"]).layout.title.text.replace("<br>", " ")
    'Half the bytes over NVLink: 1 × as fast at 1 KB, 1.9 × at 1 GB'
    """
    sizes = np.asarray(finite("message_B", np.asarray(message_B), above=0, unit="bytes"))
    before, after = (
        np.atleast_2d(finite(n, np.asarray(v), above=0, unit="s"))
        for n, v in (("before_s", before_s), ("after_s", after_s))
    )
    if not before.shape == after.shape == (len(names), sizes.size) or len(roles) != len(names):
        raise CourseError(_("before_s and after_s need a row for each name and a column for each size."))
    gain = before / after
    xaxis = size_axis(float(sizes.min()), float(sizes.max()), _("gradients before halving"))
    yaxis = linear_axis(_("times as fast"), 0.95, 2.1) | {"dtick": 0.25}
    data = [
        line(sizes, row, role=r, name=n, hover=f"{n}: %{{x:.3s}}B, %{{y:.2f}} ×")
        for n, row, r in zip(names, gain, roles)
    ]
    data.append(line([sizes.min(), sizes.max()], [2, 2], role="limit", width=1.5))
    labels = [
        (f"{wrapped(n, 18)}<br><b>{say_number(float(row[-1]), 3)} ×</b>", float(row[-1]), r)
        for n, row, r in zip(names, gain, roles)
    ]
    return base_figure(
        data,
        title=_("Half the bytes over {name}: {a} × as fast at {small}, {b} × at {large}").format(
            name=names[0],
            a=say_number(float(gain[0, 0]), 2),
            b=say_number(float(gain[0, -1]), 3),
            small=say_bytes(float(sizes[0])),
            large=say_bytes(float(sizes[-1])),
        ),
        subtitle=_("time of an all-reduce of FP32 gradients over that of the same gradients in 16 bits; dashed: twice as fast"),
        xaxis=xaxis,
        yaxis=yaxis,
        annotations=end_labels(labels, yaxis, outside=True, gap_px=20),
        margin={"r": OUTSIDE + 36},
        meta=describe(
            _("Gain of halving the bytes over message size. ")
            + "; ".join(
                _("{name}: {a} × at {small}, {b} × at {large}").format(
                    name=n,
                    a=f"{row[0]:.2f}",
                    b=f"{row[-1]:.2f}",
                    small=say_bytes(float(sizes[0])),
                    large=say_bytes(float(sizes[-1])),
                )
                for n, row in zip(names, gain)
            )
            + ".",
            [_("size"), *names],
            [(say_bytes(float(b)), *(f"{v:.2f} ×" for v in gain[:, i])) for i, b in enumerate(sizes)][:: max(1, sizes.size // 12)],
        ),
    )  # fmt: skip
