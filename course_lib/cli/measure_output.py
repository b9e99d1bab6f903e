"""What `interconnect measure` prints: a table, sentences, a dict for --json, and the picture."""

import sys
from pathlib import Path

from course_lib.base.columns import lined_up
from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.base.units import say_bytes, say_time
from course_lib.timing.words import say_algorithm


def found_as_data(found, why: str) -> dict:
    """Return the comparison with the model as plain data; without one, why."""
    if found is None:
        return {"fits": [], "model": None, "race": None, "not_fitted": why}
    m, race = found.model, found.race
    data = {
        "fits": [
            {
                "algorithm": row.algorithm,
                "latency_s": row.line.latency_s,
                "bandwidth_Bps": row.line.bandwidth_Bps,
                "line_off": row.line_off,
                "model_off": row.model_off,
                "others_off": row.others_off,
                "model_s": row.model_s.tolist(),
                "others_s": None if row.others_s is None else row.others_s.tolist(),
            }
            for row in found.algorithms
        ],
        "model": {name: getattr(m, name) for name in m.__dataclass_fields__},
        "race": None,
    }
    if race is not None:
        data["race"] = {
            "first": race.first,
            "second": race.second,
            "fitted_to": list(race.fitted_to),
            "measured": {f"{size:.0f}": winner for size, winner in race.measured.items()},
            "predicted": {f"{size:.0f}": winner for size, winner in race.predicted.items()},
            "measured_crossing_B": race.measured_crossing_B,
            "predicted_crossing_B": race.predicted_crossing_B,
            "agreed": race.agreed,
            "decided": race.decided,
        }
    return data


def table(measured, found) -> list[str]:
    """Return the lines of the table: a row for each size, a column for each algorithm."""
    machine = measured.machine
    lines = [
        _("{op} between {n} processes on {cores} cores ({processor}), {backend}: {library}").format(
            op=measured.op,
            n=measured.n_ranks,
            cores=machine["cores"],
            processor=machine["processor"],
            backend=measured.backend,
            library=machine.get("library", ""),
        ),
        _("lower quartile of {n} rounds, the upper one, then what the other algorithms predict").format(
            n=measured.rounds
        ),
        "",
    ]
    model = {} if found is None else {row.algorithm: row for row in found.algorithms}
    cells: dict[float, dict[str, str]] = {}
    for p in measured.points:
        low, high = p.quartiles_s
        text = f"{say_time(low)} – {say_time(high)}"
        row = model.get(p.algorithm)
        if p.wrong:
            text += " " + _("WRONG")
        elif row is not None:
            at = int((row.message_B == p.message_B).argmax())
            text += f" {say_time(float((row.model_s if row.others_s is None else row.others_s)[at])):>8}"
        cells.setdefault(p.message_B, {})[p.algorithm] = text
    names = measured.algorithms
    rows = [[_("size"), *map(say_algorithm, names)]]
    rows += [[say_bytes(size), *(cells[size].get(name, "–") for name in names)] for size in sorted(cells)]
    return lines + lined_up(rows, ">" * (1 + len(names)), (9, *[28] * len(names)))


def sentences(measured, found, why: str) -> list[str]:
    """Return the sentences below the table: what was wrong, missing or disturbed, and what was found."""
    from course_lib.machine.measuring.beside import in_words

    lines = [""]
    if measured.wrong:
        lines += [
            _("WRONG: {name} at {size}: elements that are not the sum: {n}; its times are not used.").format(
                name=p.algorithm, size=say_bytes(p.message_B), n=p.wrong
            )
            for p in measured.wrong
        ]
    else:
        lines.append(_("Every result was right."))
    if measured.missing:
        name, size = measured.missing[0]
        text = _("Points not reached in time: {n}, the first is {name} at {size}; give more --seconds.")
        lines.append(text.format(n=len(measured.missing), name=name, size=say_bytes(size)))
    if measured.disturbed > 1.6:
        text = _(
            "The computer was busy with other work: the rounds' upper quartile is {x:.1f} × the lower one. "
            "Run it again when it is quiet."
        )
        lines.append(text.format(x=measured.disturbed))
    return lines + ([_("Not fitted: {why}").format(why=why)] if found is None else in_words(measured, found))


def plot(measured, found, path: Path) -> None:
    """Write the picture of the race to an HTML file; raises CourseError where there is none."""
    from course_lib.figures.measuredrace import Timed, measured_race

    if found is None or found.race is None:
        raise CourseError(_("--plot needs two algorithms with two sizes or more; the times are printed above."))
    pair = []
    for name in (found.race.first, found.race.second):
        row = next(r for r in found.algorithms if r.algorithm == name)
        points = sorted((p for p in measured.points if p.algorithm == name and not p.wrong), key=lambda p: p.message_B)
        low, high = zip(*(p.quartiles_s for p in points), strict=True)
        import numpy as np

        pair.append(Timed(name, row.message_B, row.time_s, np.array(low), np.array(high), row.others_s))
    figure = measured_race(pair, crossing_B=found.race.predicted_crossing_B, where=str(measured.machine["processor"]))
    figure.write_html(path, include_plotlyjs=True, config={"showSendToCloud": False, "displaylogo": False})
    print(_("The picture is in {path}.").format(path=path), file=sys.stderr)
