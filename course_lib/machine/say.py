"""Say a report: as text for a person, as plain data for a program. Only numbers and known words of a log are repeated."""

import math
import re

import numpy as np

from course_lib.base.columns import lined_up
from course_lib.base.language import _, punctuated
from course_lib.base.units import say_bytes, say_rate, say_share, say_time
from course_lib.machine.records import CANNOT_TELL, FINDING, HEALTHY, Report, Sweep

MOST_ROWS = 12


def word(code: str) -> str:
    """Return a stable word (a regime, an algorithm, a kind of text) in the reader's language; others as they are.

    >>> word("in-network")
    'in-network'
    """
    known = {
        "latency": _("latency"),
        "mixed": _("mixed"),
        "bandwidth": _("bandwidth"),
        "ring": _("ring"),
        "tree": _("tree"),
        "direct": _("direct"),
        "in-network": _("in-network"),
        "in-network or tree": _("in-network or tree"),
        "staged through the host": _("staged through the host"),
        "sockets": _("sockets"),
        "unknown": _("unknown"),
        "topology matrix": _("topology matrix"),
        "nvlink status": _("nvlink status"),
        "log": _("log"),
    }
    return known.get(code, code)


def share_at_the_end(sweep: Sweep) -> float | None:
    """Return measured over expected bus bandwidth, the median of the largest sizes (from a quarter of the last on, 1 MiB at least)."""
    if sweep.ratio is None:
        return None
    large = sweep.message_B >= max(1 << 20, sweep.message_B[-1] / 4)
    return float(np.median(sweep.ratio[large])) if large.any() else None


def sweep_line(sweep: Sweep) -> str:
    """Return one line about a sweep: its plateau (or peak), and the share of what is expected."""
    hosts = _(", {n} hosts").format(n=sweep.n_hosts) if sweep.n_hosts and sweep.n_hosts > 1 else ""
    head = _("{op}, {n} ranks{hosts}: ").format(op=sweep.op, n=sweep.n_ranks, hosts=hosts)
    if sweep.plateau_Bps is None:
        return head + _("no size of 1 MiB or more")
    if sweep.dips:
        text = _("no single bandwidth: it collapses at {sizes}; peak {peak}")
        sizes = ", ".join(say_bytes(sweep.message_B[k]) for k in sweep.dips[:6])
        return head + text.format(sizes=sizes, peak=say_rate(sweep.peak_Bps))
    if sweep.rising:
        text = head + _("bus bandwidth {peak} at {size}, still rising").format(
            peak=say_rate(sweep.peak_Bps), size=say_bytes(sweep.message_B[int(np.argmax(sweep.busbw_Bps))])
        )
    else:
        text = head + _("bus bandwidth {best} (plateau), peak {peak}").format(
            best=say_rate(sweep.plateau_Bps), peak=say_rate(sweep.peak_Bps)
        )
    if sweep.ratio is not None:
        share = share_at_the_end(sweep)
        if share is not None:
            text += _("; {share} of what is expected on {system}").format(share=say_share(share), system=sweep.system)
    return text


def with_verdict(verdict: str, headline: str) -> str:
    """Return a headline that says its verdict once: before it, or in the verdict's spelling where its first clause has it.

    >>> with_verdict("CANNOT TELL", "cannot tell: no whole row"), with_verdict("HEALTHY", "8 ranks: 480 GB/s")
    ('CANNOT TELL: no whole row', 'HEALTHY: 8 ranks: 480 GB/s')
    """
    clause = re.split("[:：]", headline, maxsplit=1)[0]
    said = re.compile(re.escape(verdict), re.IGNORECASE)
    if said.search(clause):
        return said.sub(verdict, clause, count=1) + headline[len(clause) :]
    return _("{verdict}: {what}").format(verdict=verdict, what=headline)


def in_words(report: Report) -> str:
    """Return the report as text: verdict, findings, causes with their tests, tables, damage, what is unknown."""
    verdicts = {HEALTHY: _("HEALTHY"), FINDING: _("FINDING"), CANNOT_TELL: _("CANNOT TELL")}
    lines = [with_verdict(verdicts[report.status], report.headline), ""]
    if report.saw:
        lines += [_("Read: {what}").format(what="; ".join(report.saw)), ""]
    if len(report.findings) > 1:
        lines += [_("Findings")] + [f"  - {f.text}" for f in report.findings] + [""]
    if report.causes:
        lines.append(_("Consistent with, the likeliest first"))
        for k, cause in enumerate(report.causes, 1):
            lines += [f"  {k}. {cause.text}", "     " + _("because: {why}").format(why=cause.because)]
            lines += ["     " + _("test: {test}").format(test=cause.test)]
        lines.append("")
    for sweep in report.sweeps:
        lines += [*_table(sweep), ""]
    if report.notes:
        lines += [_("Notes")] + [f"  - {note}" for note in report.notes] + [""]
    if report.damaged:
        lines += [_("Damaged, not used")] + [f"  - {text}" for text in report.damaged] + [""]
    if report.unknown:
        lines += [_("Unknown: {what}").format(what="; ".join(report.unknown)), ""]
    if report.paste:
        lines += [*dict.fromkeys(report.paste), ""]
    return punctuated("\n".join(lines))


def _table(sweep: Sweep) -> list[str]:
    lines = [sweep_line(sweep)]
    chosen = range(len(sweep.message_B))
    if len(sweep.message_B) > MOST_ROWS:
        chosen = sorted({round(k) for k in np.linspace(0, len(sweep.message_B) - 1, MOST_ROWS)} | set(sweep.dips))
    rows = [[_("size"), _("measured"), _("busbw"), _("expected"), _("share"), _("regime")]]
    for k in chosen:
        row = [say_bytes(sweep.message_B[k]), say_time(sweep.time_s[k]), say_rate(sweep.busbw_Bps[k]), "–", "–"]
        if sweep.ratio is not None:
            row[3:] = say_rate(sweep.expected_busbw_Bps[k]), say_share(sweep.ratio[k])
        regime = word(sweep.regime[k]) if sweep.regime[k] else "–"
        rows.append([*row, regime + (_("  ← dip") if k in sweep.dips else "")])
    lines += lined_up(rows, ">>>>><", (10, 11, 11, 11, 6), indent="  ")
    if len(chosen) < len(sweep.message_B):
        text = _("  {n} of {all} sizes; all of them with --json")
        lines.append(text.format(n=len(chosen), all=len(sweep.message_B)))
    if sweep.fit is not None:
        text = _("  fitted: α = {alpha}, β = {beta} (algorithm bandwidth), half of it at {half}")
        lines.append(
            text.format(
                alpha=say_time(sweep.fit.latency_s),
                beta=say_rate(sweep.fit.bandwidth_Bps),
                half=say_bytes(sweep.fit.half_size_B),
            )
        )
    lines.append(
        _("  algorithm suspected: {name} ({why})").format(name=word(sweep.algorithm.name), why=sweep.algorithm.because)
    )
    return [*lines, *(f"  {text}" for text in sweep.arithmetic), *(f"  {text}" for text in sweep.notes if text)]


def _plain(value):
    if isinstance(value, np.ndarray):
        return [_plain(v) for v in value.tolist()]
    if isinstance(value, (np.floating, float)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (np.integer, int)):
        return int(value)
    return value


def as_json(report: Report) -> dict:
    """Return the report as plain data; keys as `interconnect diagnose --help` lists them.

    `status`, `exit_status`, `headline`, `findings` [{code, text}], `causes` [{code, text, because, test}], `sweeps`
    [{op, n_ranks, n_hosts, system, candidates, status, plateau_Bps, peak_Bps, rising, wire_Bps, fit {latency_s,
    bandwidth_Bps}, algorithm {name, because}, bounds {name: busbw_Bps}, arithmetic, notes, rows [{message_B, time_s,
    algbw_Bps, busbw_Bps, expected_time_s, expected_busbw_Bps, ratio, regime, dip}]}], `fabric` {shape, n_gpus,
    links [{from, to, kind, bandwidth_Bps, parallel}]} or null, `notes`, `saw`, `paste`, `damaged`, `unknown`. Unknown is null.
    """
    fabric = None
    if report.fabric is not None:
        from course_lib.fabric.topology import LINK_KINDS, vertex_name

        t = report.fabric
        links = [
            {
                "from": vertex_name(t, int(t.src[k])),
                "to": vertex_name(t, int(t.dst[k])),
                "kind": LINK_KINDS[int(t.link_kind[k])],
                "bandwidth_Bps": float(t.bandwidth_Bps[k]),
                "parallel": int(t.parallel[k]),
            }
            for k in range(min(t.n_links, 4096))
        ]
        fabric = {"shape": report.shape, "n_gpus": t.n_gpus, "links": links}
    return {
        "status": report.status,
        "exit_status": report.exit_status,
        "headline": report.headline,
        "findings": [{"code": f.code, "text": f.text} for f in report.findings],
        "causes": [{"code": c.code, "text": c.text, "because": c.because, "test": c.test} for c in report.causes],
        "sweeps": [_sweep(s) for s in report.sweeps],
        "fabric": fabric,
        "notes": list(report.notes),
        "saw": list(report.saw),
        "paste": list(dict.fromkeys(report.paste)),
        "damaged": list(report.damaged),
        "unknown": list(report.unknown),
    }


def _sweep(s: Sweep) -> dict:
    columns = {
        "message_B": s.message_B,
        "time_s": s.time_s,
        "algbw_Bps": s.algbw_Bps,
        "busbw_Bps": s.busbw_Bps,
        "expected_time_s": s.expected_time_s,
        "expected_busbw_Bps": s.expected_busbw_Bps,
        "ratio": s.ratio,
    }
    rows = []
    for k in range(len(s.message_B)):
        row = {name: None if column is None else _plain(column[k]) for name, column in columns.items()}
        rows.append(row | {"regime": s.regime[k] or None, "dip": k in s.dips})
    fit = None if s.fit is None else {"latency_s": s.fit.latency_s, "bandwidth_Bps": s.fit.bandwidth_Bps}
    return {
        "op": s.op,
        "n_ranks": s.n_ranks,
        "n_hosts": s.n_hosts,
        "system": s.system,
        "candidates": list(s.candidates),
        "status": s.status,
        "plateau_Bps": _plain(s.plateau_Bps),
        "peak_Bps": _plain(s.peak_Bps),
        "rising": s.rising,
        "wire_Bps": _plain(s.wire_Bps),
        "fit": fit,
        "algorithm": {"name": s.algorithm.name, "because": s.algorithm.because},
        "bounds": {name: _plain(v) for name, v in s.bounds.items()},
        "arithmetic": list(s.arithmetic),
        "notes": [note for note in s.notes if note],
        "rows": rows,
    }
