"""Diagnose: files in, one report out; files read together enrich each other."""

from course_lib.base.errors import CourseError, whole
from course_lib.base.language import _
from course_lib.base.units import say_share
from course_lib.comm.meaning import canonical_op
from course_lib.machine.judging import beforespeed, copies, logsweeps, wiring
from course_lib.machine.otherfiles import anything
from course_lib.machine.recognise import Reading, read
from course_lib.machine.records import CANNOT_TELL, FINDING, HEALTHY, Cause, Finding, Report, Sweep
from course_lib.machine.say import sweep_line
from course_lib.machine.together import (
    fabric_shown,
    gpus_named,
    half_there,
    inventory,
    one_gpu,
    one_log,
    pair_Bps,
    slot_Bps,
)
from course_lib.timing.system import System, load


def diagnose(
    *sources,
    system: str | System | None = None,
    n_ranks: int | None = None,
    n_hosts: int | None = None,
    op: str | None = None,
    host_Bps: float | None = None,
    names: list[str] | None = None,
) -> Report:
    """Read outputs of a machine and judge them.

    Args:
        sources: paths, bytes, texts with a line end, open files, or Readings; together they describe one machine.
        system: a built-in name, a TOML file or a System; None: only what can be read counts.
        n_ranks: ranks, where the log does not say.
        n_hosts: hosts, where the log does not say.
        op: the collective, where the log does not say.
        host_Bps: all network cards of one host together, bytes per second, one direction.
        names: what to call the sources.

    Raises:
        CourseError: no source, a file that cannot be opened, an unknown system or collective.

    >>> report = diagnose("GPU 0: Tesla V100-SXM2-16GB (UUID: x)\\n Link 0: 25.781 GB/s\\n Link 1: <inactive>\\n")
    >>> report.status, report.exit_status, report.findings[0].code
    ('finding', 1, 'link-down')
    """
    if not sources:
        raise CourseError(_("Nothing to read: name a file, or - for standard input."))
    place = None if system is None else load(system)
    op = None if op is None else canonical_op(op)
    n_ranks = None if n_ranks is None else whole("n_ranks", n_ranks, at_least=1)
    n_hosts = None if n_hosts is None else whole("n_hosts", n_hosts, at_least=1)
    readings = []
    for k, source in enumerate(sources):
        given = names[k] if names and k < len(names) else str(k + 1)
        readings.append(source if isinstance(source, Reading) else read(source, given))
    return _judged(readings, place, n_ranks, n_hosts, op, host_Bps)


def _judged(readings: list[Reading], place, n_ranks, n_hosts, op, host_Bps) -> Report:
    saw, paste, damaged, unknown = inventory(readings)
    findings: list[Finding] = []
    causes: list[Cause] = []
    notes: list[str] = []
    sweeps: list[Sweep] = []
    enough: list[bool] = []
    gpu = one_gpu(readings)
    topo = next((r.topo for r in readings if r.topo is not None), None)
    made = fabric_shown(topo, gpu, notes)
    link = pair_Bps(topo, made, place, gpu, gpus_named(readings))
    for reading in readings:
        if reading.topo is not None:
            others = reading.topos[1:] + tuple(r.topo for r in readings if r.topo is not None and r is not reading)
            _take(
                wiring.topology(reading.topo, made if reading.topo is topo else None, others),
                findings,
                causes,
                notes,
                enough,
            )
        if reading.nvlink is not None:
            _take(wiring.link_states(reading.nvlink), findings, causes, notes, enough)
        if reading.p2p is not None:
            _take(copies.peers(reading.p2p, link), findings, causes, notes, enough)
        if reading.nvbandwidth is not None:
            _take(copies.bandwidths(reading.nvbandwidth, link, slot_Bps(gpu)), findings, causes, notes, enough)
    log = one_log([r.nccl for r in readings if r.nccl is not None])
    trouble = False
    if log is not None:
        found, why = beforespeed.log_states(log)
        wrong, corrupt, said = beforespeed.wrong_data(log)
        apart, alone = beforespeed.not_joined(log)
        findings = [*wrong, *apart, *found, *findings]
        causes = [*corrupt, *alone, *why, *causes]
        notes += said
        units = list(dict.fromkeys(job.unit_trouble for job in log.jobs if job.unit_trouble))
        if units:
            trouble = True
            saw = [*saw, *units]
            paste = [*paste, _("Paste the table as nccl-tests printed it, times in microseconds.")]
        if wrong or apart:
            notes += [_("the log has no footer: it stops early") for job in log.jobs[:1] if not job.finished]
        elif not units:
            settings = {
                "system": place,
                "n_ranks": n_ranks,
                "n_hosts": n_hosts,
                "op": op,
                "host_Bps": host_Bps,
                "gpu": gpu,
            }
            sweeps, more, also = logsweeps.sweeps(log, topo, made, **settings)
            findings += also
            notes += more
            for sweep in sweeps:
                findings += sweep.findings
                causes += sweep.causes
                enough.append(sweep.status == HEALTHY)
            if log.jobs and len(sweeps) < len(log.jobs):
                enough.append(False)
        if not log.jobs and not found:
            enough.append(False)
        contradiction = _gdr(log, topo)
        findings += contradiction
        if contradiction and not any(c.code == "no-gdr" for c in causes):
            causes.append(_no_gdr())
        causes += _only_facts(log, sweeps, causes)
        notes += _compare(sweeps, host_Bps, place)
    status = FINDING if findings else HEALTHY if enough and all(enough) and not trouble else CANNOT_TELL
    if status == HEALTHY and (any(r.refused for r in readings) or half_there(readings)):
        status = CANNOT_TELL
    if (
        status == CANNOT_TELL
        and not paste
        and not sweeps
        and (damaged or half_there(readings) or not any(r.kinds for r in readings))
    ):
        paste = [anything()]
    causes = list({(c.code): c for c in reversed(causes)}.values())[::-1]
    headline = _headline(status, findings, sweeps, saw, readings, notes, damaged)
    return Report(
        status, headline, tuple(dict.fromkeys(findings)), tuple(causes), tuple(dict.fromkeys(notes)), tuple(sweeps),
        None if made is None else made.topology, None if made is None else made.shape, tuple(saw), tuple(paste),
        tuple(damaged), tuple(dict.fromkeys(unknown)), tuple(readings),
    )  # fmt: skip


def _take(verdict, findings, causes, notes, enough) -> None:
    found, why, said, ok = verdict
    findings += found
    causes += why
    notes += said
    enough.append(ok)


def _gdr(log, topo) -> list[Finding]:
    if topo is None or not any(f.code == "no GPUDirect RDMA" for f in log.facts):
        return []
    near = [g for k, g in enumerate(topo.gpus) if topo.near_nics(k)]
    if not near:
        return []
    text = _(
        "contradiction: the matrix puts {gpus} and a card below one PCIe switch, yet the log says that GPUDirect RDMA is disabled"
    )
    return [Finding("gdr-off", text.format(gpus=", ".join(near[:4]) + (" …" if len(near) > 4 else "")))]


def _no_gdr() -> Cause:
    return Cause(
        "no-gdr",
        _("consistent with the peer memory module missing or refused (nvidia-peermem); not the network switch."),
        _("GPU and card share a PCIe switch, where GPUDirect RDMA matters most"),
        _("lsmod | grep peermem; NCCL_DEBUG=INFO: `GDRDMA` behind NET/IB; NCCL_NET_GDR_LEVEL."),
    )


def _only_facts(log, sweeps, causes) -> list[Cause]:
    """Return causes that debug lines name although no sweep could be judged."""
    if sweeps or any(c.code == "peer-variable" for c in causes):
        return []
    values = {f.code: f.value for f in log.facts}
    if values.get("set: NCCL_P2P_LEVEL") in ("LOC", "0") or values.get("set: NCCL_P2P_DISABLE") not in (None, "0"):
        text = _("consistent with peer access switched off by a variable (NCCL_P2P_DISABLE, NCCL_P2P_LEVEL).")
        test = _("Unset it and run again; look for `via P2P` under NCCL_DEBUG=INFO.")
        return [Cause("peer-variable", text, _("the log says that the environment sets it"), test)]
    return []


def _compare(sweeps, host_Bps, place) -> list[str]:
    """Say whether all-to-all and all-reduce are low alike: then it is the network, not the collective."""
    shares = {}
    for sweep in sweeps:
        if sweep.bounds and sweep.plateau_Bps:
            shares[sweep.op] = sweep.plateau_Bps / next(iter(sweep.bounds.values()))
    if "all_to_all" not in shares or "all_reduce" not in shares:
        return []
    a, b = shares["all_to_all"], shares["all_reduce"]
    if max(a, b) < 0.6 and max(a, b) / min(a, b) < 2:
        text = _(
            "all-to-all at {a} and all-reduce at {b} of their limits are similarly low: look at the network, not at all-to-all"
        )
    else:
        text = _("all-to-all reaches {a} and all-reduce {b} of their own limits")
    return [text.format(a=say_share(a), b=say_share(b))]


def _headline(status, findings, sweeps, saw, readings, notes, damaged) -> str:
    if findings:
        return findings[0].text
    best = [sweep for sweep in sweeps if sweep.plateau_Bps or sweep.peak_Bps]
    if status == HEALTHY:
        return sweep_line(best[0]) if best else next(iter(notes), _("nothing out of order"))
    if best:
        return sweep_line(best[0])
    if any(r.refused for r in readings):
        return _("cannot tell: {saw}").format(saw=saw[0] if saw else _("nothing that can be read"))
    log = one_log([r.nccl for r in readings if r.nccl is not None])
    if log is not None and log.jobs and any(job.unit_trouble for job in log.jobs):
        return _("cannot tell: {what}").format(what=next(job.unit_trouble for job in log.jobs if job.unit_trouble))
    if log is not None and not log.jobs and damaged:
        rows = _("1 row damaged") if log.n_damaged == 1 else _("{n} rows damaged").format(n=log.n_damaged)
        return _("cannot tell: no whole row; {rows}").format(rows=rows)
    if log is not None and notes:
        return _("cannot tell: {what}").format(what=notes[-1])
    if log is not None and not notes:
        return _("cannot tell: a log of nccl-tests without a row of results")
    return _("cannot tell from this alone: {note}").format(note=notes[0] if notes else _("nothing to judge"))
