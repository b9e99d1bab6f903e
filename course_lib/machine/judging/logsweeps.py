"""Judge the sweeps of a log of nccl-tests, and say what numbers without a header may be."""

from course_lib.base.language import _
from course_lib.base.units import say_bytes, say_rate
from course_lib.machine import systems
from course_lib.machine.fabricof import Fabric
from course_lib.machine.judging.beforespeed import same_gpu
from course_lib.machine.judging.sweep import judge
from course_lib.machine.nccljobs import Job, NcclLog, repeated_sizes
from course_lib.machine.records import Finding, Sweep
from course_lib.machine.topo import TopoMatrix
from course_lib.timing.system import load


def sweeps(
    log: NcclLog, topo: TopoMatrix | None, fabric: Fabric | None, *, system, n_ranks, n_hosts, op, host_Bps, gpu
) -> tuple[list[Sweep], list[str], list[Finding]]:
    """Judge the speed of every job that can be; return sweeps, notes, and what forbids a verdict."""
    made, notes, findings = [], [], []
    exact = {job.n_ranks for job in log.jobs if job.n_ranks}
    for k, job in enumerate(log.jobs, 1):
        findings += same_gpu(job)
        notes += _about(job, k, len(log.jobs))
        name = op or job.op
        n = n_ranks or job.n_ranks
        if (
            n is None
            and job.ranks_range
            and len(exact) == 1
            and job.ranks_range[0] <= next(iter(exact)) <= job.ranks_range[1]
        ):
            n = next(iter(exact))
            notes.append(_("{n} ranks taken from the other table").format(n=n))
        if n is None and topo is not None and job.ranks_range is None and not job.devices and len(job.ops) == 1:
            n = len(topo.gpus)
            notes.append(_("{n} ranks assumed: the GPUs of the matrix").format(n=n))
        sizes, times = job.sweep()
        if not len(sizes):
            notes.append(_("job {k}: no size above 0 with a time").format(k=k))
            continue
        per_pair = (
            int(topo.nvlinks.max(initial=0))
            if topo is not None and fabric and fabric.shape in ("mesh", "pair", "islands")
            else None
        )
        if name is None and per_pair and topo is not None and "send_recv" in job.ops and job.ranks_range != (2, 2):
            notes.append(_("could be: {ops}").format(ops=", ".join(job.ops)))
        if name is None or n is None or n < 2:
            notes += [*_bare_numbers(job, sizes), _unknown(job, name, n)]
            continue
        if job.contradicts and not n_ranks:
            notes += [_("contradiction: {what}").format(what=what) for what in job.contradicts]
            continue
        hosts = n_hosts or job.n_hosts
        known = gpu or next((d.gpu for d in job.devices if d.gpu), None)
        per_host = n // hosts if hosts else None
        fits = systems.candidates(known, per_host, topo) if system is None else ()
        if system is None and not fits and topo is not None and not known:
            fits = systems.candidates(None, None, topo)
        several = hosts is not None and hosts > 1
        use = system
        if use is None and len(fits) == 1 and not (several and load(fits[0]).hosts_per_domain < hosts):
            use = fits[0]
            notes.append(_("system {name}, from what was read").format(name=use))
        if use is None and several and system is None and host_Bps is None:
            notes.append(_("the network cards were not read: give --network RATE (all cards of a host) or --system"))
        near = topo is not None and any(topo.near_nics(i) for i in range(len(topo.gpus)))
        sweep = judge(
            name, sizes, times, n, system=use, n_hosts=hosts, host_Bps=host_Bps, facts=log.facts,
            candidates=() if use or several else fits, links_per_pair=per_pair, link_Bps=fabric.link_Bps if fabric else None,
            nvlink=bool(topo.nvlinks.any()) if topo is not None else None, near_nic=near,
        )  # fmt: skip
        made.append(sweep)
        if use is None and system is None and not fits:
            notes.append(
                _(
                    "which machine this is cannot be read from the log; name it with --system (interconnect predict --list-systems)"
                )
            )
        notes += _headline_numbers(job, sweep)
    return made, notes, findings


def _about(job: Job, k: int, of: int) -> list[str]:
    notes = []
    if of > 1:
        ranks = job.n_ranks if job.n_ranks else _("an unknown number of")
        text = _("job {k} of {of}: {op}, {ranks} ranks, {rows} rows")
        notes.append(
            text.format(
                k=k,
                of=of,
                op=job.op or (" / ".join(job.ops) if job.rows else _("no collective named")),
                ranks=ranks,
                rows=len(job.rows),
            )
        )
    if not job.finished:
        notes.append(_("the log has no footer: the run stopped early, or the end was not pasted"))
    elif job.size_range and job.rows and max(r.size_B for r in job.rows) < job.size_range[1] / 1.01:
        notes.append(
            _("rows end before the largest size that was asked for ({most})").format(most=say_bytes(job.size_range[1]))
        )
    if job.validated is False or all(r.out.wrong is None and r.out.error is None for r in job.rows):
        notes.append(_("validation: not run"))
    if repeated_sizes(job) == "cycles":
        notes.append(_("sizes are measured several times; their medians are used"))
    return notes


def _bare_numbers(job: Job, sizes) -> list[str]:
    """Return what the table itself prints at its largest sizes, where collective or ranks are not known."""
    rates = [row.out.busbw_Bps for row in job.rows if row.size_B >= sizes[-1] / 4 and row.out.busbw_Bps is not None]
    if sizes[-1] < 1 << 20 or not rates:
        return []
    text = _("bus bandwidth as printed at the largest sizes: {low} to {high}")
    return [text.format(low=say_rate(min(rates)), high=say_rate(max(rates)))]


def _unknown(job: Job, op, n) -> str:
    if op is None and n is None:
        return _("neither the collective nor the ranks can be read: give --op and --ranks")
    if op is None:
        text = _("the collective is not named; the numbers fit {ops} on {n} ranks: give --op")
        return text.format(ops=" / ".join(job.ops), n=n)
    if job.ranks_range:
        low, high = job.ranks_range
        if high < 1 << 19:
            return _("{op}: the rounded numbers leave {low} to {high} ranks: give --ranks").format(
                op=op, low=low, high=high
            )
    return _("{op}: the number of ranks cannot be read: give --ranks").format(op=op)


def _headline_numbers(job: Job, sweep: Sweep) -> list[str]:
    if job.average_Bps is None or sweep.plateau_Bps is None or sweep.dips or len(sweep.message_B) < 2:
        return []
    low = job.size_range[0] if job.size_range else int(sweep.message_B[0])
    high = job.size_range[1] if job.size_range else int(sweep.message_B[-1])
    text = _(
        "the footer's average {average} is over all sizes from {low} to {high}, small ones too: it is not the result; "
        "the large sizes reach {best}"
    )
    notes = [
        text.format(
            average=say_rate(job.average_Bps),
            low=say_bytes(low),
            high=say_bytes(high),
            best=say_rate(sweep.peak_Bps if sweep.rising else sweep.plateau_Bps),
        )
    ]
    rates = [h.busbw_Bps for r in job.rows for h in (r.out, r.inplace) if h.busbw_Bps is not None]
    if rates and abs(sum(rates) / len(rates) - job.average_Bps) > 0.05 * job.average_Bps:
        notes.append(_("the average of the rows that are here is another: rows were cut out of this log"))
    return notes
