"""Judge a log of nccl-tests before its speed: wrong data, ranks that never joined, states that the log names."""

from collections import Counter

from course_lib.base.language import _
from course_lib.base.units import say_bytes
from course_lib.machine.nccljobs import Job, NcclLog, repeated_sizes
from course_lib.machine.records import Cause, Finding

FINE_ERROR = 1e-3  # largest relative error that a sum in float may show


def not_joined(log: NcclLog) -> tuple[list[Finding], list[Cause]]:
    """Say whether processes ran alone or several jobs printed into one another."""
    because = []
    alone = [job for job in log.jobs if job.n_ranks == 1 or _zero_bus(job)]
    if alone:
        because.append(_("bus bandwidth is 0 at large sizes: each process was its own job of one rank"))
    tags = {job.tag for job in log.jobs if job.tag}
    same = Counter((job.op, tuple(row.size_B for row in job.rows)) for job in log.jobs if job.tag)
    if len(tags) > 1 and max(same.values()) > 1:
        because.append(_("{n} processes print the same table").format(n=len(tags)))
    mixed = [job for job in log.jobs if repeated_sizes(job) == "mixed"]
    if mixed:
        because.append(
            _("sizes come twice side by side: {n} jobs print into one another").format(n=max(2, len(log.jobs)))
        )
    rank0 = [job for job in log.jobs if job.headers > 1 and not job.tag]
    if rank0 and not because and repeated_sizes(rank0[0]):
        because.append(_("several headers before one table"))
    if not because:
        return [], []
    each = {job.n_ranks for job in log.jobs}
    if len(log.jobs) > 1 and len(each) == 1 and (n := each.pop()):
        text = _("the ranks are {k} × {n} (jobs × ranks of a job), not one job of {all}")
        because.append(text.format(k=len(log.jobs), n=n, all=n * len(log.jobs)))
    text = _("ranks did not join: {why}. No bandwidth is reported.").format(why="; ".join(because))
    cause = Cause(
        "not-joined",
        _("consistent with nccl-tests built without MPI (or a stale build): mpirun starts separate jobs."),
        because[0],
        _("make clean; make MPI=1 MPI_HOME=…; the list of devices has to show every rank once, rank 0 to n−1."),
    )
    causes = [cause]
    if len(log.jobs) == 1 and len(log.jobs[0].devices) == 1 and len(because) == 1:
        why = _("one table, and its list of devices holds rank 0 only")
        text_one = _("consistent with a run that was asked for one GPU only: nothing is sent, so bus bandwidth is 0.")
        causes.insert(0, Cause("one-rank", text_one, why, _("Ask for more GPUs: -g 8, or mpirun -np 8 with -g 1.")))
    return [Finding("not-joined", text)], causes


def _zero_bus(job: Job) -> bool:
    rows = [r for r in job.rows if r.size_B >= 1 << 20 and (r.out.algbw_Bps or 0) > 1e9]
    return bool(rows) and all(r.out.busbw_Bps == 0 for r in rows)


def wrong_data(log: NcclLog) -> tuple[list[Finding], list[Cause], list[str]]:
    """Say whether results were wrong: counts, magnitudes, a failed footer."""
    findings, causes, notes = [], [], []
    for job in log.jobs:
        bad = [row for row in job.rows if (row.out.wrong or 0) + (row.inplace.wrong or 0) > 0]
        if bad:
            first = bad[0]
            counts = [_("{n} out of place").format(n=first.out.wrong)] if first.out.wrong else []
            counts += [_("{n} in place").format(n=first.inplace.wrong)] if first.inplace.wrong else []
            text = _(
                "DATA CORRUPTION: wrong values at {size} ({bytes} B): {counts}; sizes with wrong values: {n}. Speed is withheld."
            )
            words = text.format(
                counts=_(" and ").join(counts), size=say_bytes(first.size_B), bytes=first.size_B, n=len(bad)
            )
            findings.append(Finding("wrong-data", words))
        elif job.out_of_bounds:
            text = _("DATA CORRUPTION: values out of bounds that the footer counts: {n}. Speed is withheld.")
            findings.append(Finding("wrong-data", text.format(n=job.out_of_bounds)))
        marked = [row for row in job.rows if row.out.failed or row.inplace.failed]
        if marked and not bad and not job.out_of_bounds:
            text = _("DATA CORRUPTION: an asterisk marks the check at {size} ({bytes} B) as failed. Speed is withheld.")
            size = marked[0].size_B
            findings.append(Finding("wrong-data", text.format(size=say_bytes(size), bytes=size)))
            continue
        worst = max((h.error or 0 for r in job.rows for h in (r.out, r.inplace)), default=0)
        if worst > FINE_ERROR and not bad and not job.out_of_bounds:
            outside = max((r.out.error or 0 for r in job.rows), default=0) > FINE_ERROR
            if job.out_of_bounds == 0 and not outside:
                text = _("in-place error {worst:g}, while the footer says OK: old versions do not check {op} in place")
                notes.append(text.format(worst=worst, op=job.op or _("this collective")))
            else:
                text = _("DATA CORRUPTION: the largest error is {worst:g}. Speed is withheld.")
                findings.append(Finding("wrong-data", text.format(worst=worst)))
        elif worst > 0 and not bad:
            notes.append(_("validation: largest error {worst:g}, fine for float").format(worst=worst))
    if findings:
        test = _(
            "Run with -c 1 and NCCL_PROTO=Simple, then pair by pair, to find the GPU, link or card; "
            "check nvidia-smi nvlink -e and Xid errors."
        )
        text = _(
            "consistent with a forced protocol the hardware does not support (LL128), a faulty link, GPU memory or network."
        )
        causes.append(Cause("corruption", text, _("the benchmark compares every element"), test))
    return findings, causes, notes


def same_gpu(job: Job) -> list[Finding]:
    """Say whether two ranks of a job use one GPU."""
    places = Counter((d.host, d.device, d.bus) for d in job.devices)
    doubled = [place for place, n in places.items() if n > 1]
    if not doubled:
        return []
    ranks = [d.rank for d in job.devices if (d.host, d.device, d.bus) == doubled[0]]
    text = _("the same GPU is used by ranks {ranks}: they share its links and its time")
    named = [str(rank) for rank in ranks[:8]]
    said = _("{first} and {last}").format(first=", ".join(named[:-1]), last=named[-1])
    return [Finding("same-gpu", text.format(ranks=said))]


def log_states(log: NcclLog) -> tuple[list[Finding], list[Cause]]:
    """Say what error lines state: the fabric service, drivers, memory, timeouts."""
    findings, causes = [], []
    known = {fact.code: fact for fact in log.facts}
    measured = bool(log.rows)
    if "fabric not ready" in known:
        findings.append(
            Finding(
                "fabric-not-ready", _("no measurement: CUDA reports that the system is not initialized (error 802)")
            )
        )
        text = _(
            "consistent with the NVSwitch service (nvidia-fabricmanager) not installed, not started, or of another version than the driver."
        )
        test = _(
            "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A2 Fabric; its version has to equal the driver's."
        )
        causes.append(Cause("fabric-manager", text, _("error text in the log"), test))
    if "multicast failed" in known:
        works = {j.n_ranks for j in log.jobs if j.rows}
        tried = {len(j.devices) for j in log.jobs if not j.rows} | {
            int(f.value) for f in log.facts if f.code == "communicator size"
        }
        text = _("setting up the sum in the switch (NVLS) failed")
        if 2 in works and max(tried, default=0) > 2:
            text += _("; 2 GPUs work, more fail")
        findings.append(Finding("multicast-failed", text))
        test = _(
            "NCCL_NVLS_ENABLE=0 as a test; stop all jobs, restart nvidia-fabricmanager, reset the GPUs, or reboot."
        )
        cause = _("consistent with nvidia-fabricmanager restarted while GPUs were in use, without a reset of the GPUs.")
        causes.append(
            Cause(
                "fabric-restarted",
                cause,
                _("a warning of NVLS in the log; pairs do not use it, three and more do"),
                test,
            )
        )
    simple = (
        (
            "driver mismatch",
            _("driver and library do not fit together"),
            _("nvidia-smi; reboot after a driver update, or rebuild the container"),
        ),
        ("no GPU", _("no GPU is visible"), _("nvidia-smi on the host and in the container; CUDA_VISIBLE_DEVICES")),
        ("out of memory", _("a GPU has no memory left"), _("nvidia-smi for other processes; a smaller -e")),
        (
            "timeout",
            _("a network operation timed out"),
            _("link state of the cards (ibstat), cables, NCCL_IB_TIMEOUT, flow control on RoCE"),
        ),
        ("same GPU twice", _("two ranks use one GPU"), _("one process per GPU: CUDA_VISIBLE_DEVICES of every rank")),
    )
    for code, text, test in simple:
        if code in known:
            findings.append(Finding(code.replace(" ", "-"), _("the log says: {what}").format(what=text)))
            cause = _("consistent with what the error line says: {what}.").format(what=text)
            causes.append(Cause(code.replace(" ", "-"), cause, _("an error line"), test + "."))
    if not findings and not measured and ("call failed" in known or "ended early" in known):
        findings.append(Finding("call-failed", _("no measurement: the run stopped with an error")))
        test = _("Run again with NCCL_DEBUG=WARN and read the first WARN line.")
        causes.append(
            Cause("call-failed", _("cannot be told from these lines."), _("an error line without a known text"), test)
        )
    return findings, causes
