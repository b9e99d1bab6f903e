"""Tables of nccl-tests and rccl-tests: every format since 2019, several jobs in one log, debug lines in between."""

import contextlib
import re

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.comm.meaning import canonical_op
from course_lib.machine.gpunames import known_gpu
from course_lib.machine.ncclfacts import Fact, FactReader
from course_lib.machine.nccljobs import Device, Job, NcclLog
from course_lib.machine.ncclrow import TYPE, Columns, Row, columns_of, cut, parse, plain
from course_lib.machine.ranks import op_and_ranks
from course_lib.machine.text import Damages, Line, lines

MOST_ROWS = 20_000  # kept of one log; more are counted
MOST_JOBS = 256
_RANK = re.compile(
    r"\bRank\s+(\d{1,6})\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+(\d{1,3})\s+\[([0-9a-fA-Fx:.]{1,20})\]\s*(.*)"
)
_BYTES = re.compile(r"minBytes\s+(\d{1,19})\s+maxBytes\s+(\d{1,19})")
_VALIDATION = re.compile(r"validation:\s*(\d)")
_NAME = re.compile(r"Collective test starting:\s*(\w+?)_perf|(?:^|[\s/])(\w+?)_perf(?:_mpi)?(?:\s|$)")
_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*([\d.]{1,24})(?!\S)")
_BOUNDS = re.compile(r"Out of bounds values\s*:\s*(\d{1,18})\s+(OK|FAILED)?")
_UNITS = re.compile(r"\(([munµ]?s)\)|\(([KMGT]i?[Bb](?:it)?/s)\)")
ROW = re.compile(r"\s*\d{1,19}\s+\d{1,19}\s+[a-z]\w*\s")
_GATE = re.compile(r"#|\d\s+[a-z]|_perf|Bytes|Rank |bandwidth|Collective")


class _Open:
    """A job while it is being read."""

    def __init__(self, tag: str, line: int):
        self.tag, self.line = tag, line
        self.name: str | None = None
        self.rows: list[Row] = []
        self.devices: dict[int, tuple] = {}
        self.columns = Columns()
        self.headers = 0
        self.average = self.bounds = self.sizes = self.validated = None
        self.trouble = ""

    def used(self) -> bool:
        return bool(self.rows or self.trouble)


class NcclReader:
    """Collects jobs line by line; `done` returns the log."""

    def __init__(self):
        self.facts = FactReader()
        self.damage = Damages()
        self.open: dict[str, _Open] = {}
        self.closed: list[_Open] = []
        self.n_rows = self.lost_jobs = self.wrong_late = 0
        self.hosts: dict[str, int] = {}
        self.seen_header = False

    def _job(self, line: Line) -> _Open:
        if len(self.open) >= MOST_JOBS:
            return next(iter(self.open.values()))
        job = self.open.get(line.tag)
        if job is None:
            job = self.open[line.tag] = _Open(line.tag, line.number)
        return job

    def _next(self, line: Line) -> _Open:
        old = self.open.pop(line.tag, None)
        if old and old.used():
            wrong = bool(old.bounds) or any(r.out.wrong or r.inplace.wrong or r.out.failed for r in old.rows)
            if len(self.closed) < (2 * MOST_JOBS if wrong else MOST_JOBS):
                self.closed.append(old)
            else:
                self.lost_jobs += 1
        fresh = self._job(line)
        if old:
            fresh.columns, fresh.name = old.columns, None
            if not old.used():
                fresh.name, fresh.devices, fresh.sizes, fresh.validated = (
                    old.name,
                    old.devices,
                    old.sizes,
                    old.validated,
                )
        return fresh

    def row(self, text: str, number: int, tag: str) -> bool:
        """Take a line that is one whole usual row and nothing else; say whether it was."""
        job = self.open.get(tag) if len(self.open) < MOST_JOBS else next(iter(self.open.values()))
        found = plain(text, job.columns if job is not None else Columns())
        if found is None:
            return False
        if job is None:
            job = self._job(Line(number, text, tag))
        if self._keep(found.wrong):
            job.rows.append(found.row(number))
        return True

    def _keep(self, wrong: bool) -> bool:
        """Count a row; say whether it is one of the first, or of the first with wrong values after those."""
        self.n_rows += 1
        self.wrong_late += wrong and self.n_rows > MOST_ROWS
        return self.n_rows <= MOST_ROWS or (wrong and self.wrong_late <= MOST_JOBS)

    def feed(self, line: Line) -> None:
        """Take one line."""
        text = line.text
        if "NCCL" not in text and "  " in text and ROW.match(text):
            if not self.row(text, line.number, line.tag):
                self._rows(line)
            return
        is_log = self.facts.feed(text, line.number)
        if ("  " in text or "\t" in text or not is_log) and TYPE.search(text):
            self._rows(line)
            return
        if is_log or not _GATE.search(text):
            return
        if "algbw" in text and "busbw" in text:
            job = self._job(line)
            if job.rows:
                job = self._next(line)
            job.columns, self.seen_header = columns_of(text), True
            job.headers += 1
        elif ("(B)" in text or "(elements)" in text or text.lstrip().startswith("#")) and _UNITS.search(text):
            self._units(text, line)
        elif "Rank" in text and (found := _RANK.search(text)):
            job = self._job(line)
            if job.rows:
                job = self._next(line)
            self._device(job, *found.groups())
        elif "minBytes" in text and (found := _BYTES.search(text)):
            job = self._job(line)
            if job.used():
                job = self._next(line)
            job.sizes = (int(found.group(1)), int(found.group(2)))
            checked = _VALIDATION.search(text)
            job.validated = None if checked is None else checked.group(1) != "0"
        elif "bandwidth" in text and (found := _AVERAGE.search(text)):
            self._job(line).average = float(found.group(1)) * 1e9 if found.group(1).count(".") < 2 else None
            self._next(line)
        elif "bounds" in text and (found := _BOUNDS.search(text)):
            self._job(line).bounds = int(found.group(1)) or (1 if found.group(2) == "FAILED" else 0)
        elif "_perf" in text and (found := _NAME.search(text)) and "concluded" not in text:
            job = self._job(line)
            if job.used():
                job = self._next(line)
            with contextlib.suppress(CourseError):
                job.name = canonical_op(found.group(1) or found.group(2))

    def _device(self, job: _Open, rank: str, host: str, device: str, bus: str, rest: str) -> None:
        number = self.hosts.setdefault(host, len(self.hosts)) if len(self.hosts) < 1 << 16 else 0
        if int(rank) not in job.devices and len(job.devices) < 1 << 17:
            job.devices[int(rank)] = Device(int(rank), number, int(device), bus.lower(), known_gpu(rest))

    def _units(self, text: str, line: Line) -> None:
        job = self._job(line)
        for time, rate in _UNITS.findall(text):
            if time and time != "us":
                job.trouble = _("the header gives times in {unit}; nccl-tests prints microseconds (us)").format(
                    unit=time
                )
            if rate and rate != "GB/s":
                job.trouble = _("the header gives rates in {unit}; nccl-tests prints GB/s").format(unit=rate)

    def _rows(self, line: Line) -> None:
        parts = cut(line.text)
        if not parts and len(re.findall(r"(?<!\S)\d+\.\d+(?!\S)", line.text)) >= 4:
            self.damage.add(line.number, _("a row whose size or count is missing"))
        for start, rest in parts:
            job = self._job(line)
            row, why = parse(start, rest, line.number, job.columns)
            if why == "milliseconds":
                job.trouble = _(
                    "size over time is a thousand times the printed bandwidth: times look like milliseconds"
                )
            elif row is None:
                self.damage.add(line.number, why)
            else:
                if self._keep(bool(row.out.wrong or row.inplace.wrong or row.out.failed or row.inplace.failed)):
                    job.rows.append(row)

    def done(self) -> NcclLog | None:
        """Return the log, or None where nothing of it was found."""
        facts = self.facts.done()
        stopped = any(f.code in ("call failed", "multicast failed", "timeout", "ended early") for f in facts)
        made = [*self.closed, *(j for j in self.open.values() if j.used() or (stopped and j.devices))]
        made.sort(key=lambda job: job.line)
        if not made and not self.damage.count and not facts and not self.seen_header:
            return None
        unknown = []
        if self.n_rows > MOST_ROWS:
            text = _("{n} rows after the first {most} were counted, not kept")
            unknown.append(text.format(n=self.n_rows - MOST_ROWS, most=MOST_ROWS))
        if self.lost_jobs:
            unknown.append(_("{n} jobs after the first {most} were not kept").format(n=self.lost_jobs, most=MOST_JOBS))
        jobs = tuple(self._job_record(job, facts) for job in made)
        return NcclLog(jobs, facts, tuple(self.damage.kept), self.damage.count, self.n_rows, tuple(unknown))

    def _job_record(self, job: _Open, facts: tuple[Fact, ...]) -> Job:
        sizes = {int(f.value) for f in facts if f.code == "communicator size"}
        said = next(iter(sizes)) if len(sizes) == 1 else None
        blank = bool(job.columns.redop) and all(row.redop is None for row in job.rows)
        found = op_and_ranks(job.name, job.rows, len(job.devices) or None, said, blank)
        hosts = {d.host for d in job.devices.values()}
        whole = job.devices and found.n_ranks == len(job.devices)
        return Job(
            found.op,
            found.ops,
            tuple(job.rows),
            tuple(job.devices[r] for r in sorted(job.devices)),
            found.n_ranks,
            found.ranks_range,
            len(hosts) if whole else None,
            job.average,
            job.bounds,
            job.sizes,
            job.validated,
            job.average is not None or job.bounds is not None,
            job.headers,
            job.tag,
            job.line,
            job.trouble,
            found.contradicts,
        )


def read(source) -> NcclLog | None:
    """Read every job of a printed log (see `text.raw_lines` for sources; JSON: `recognise.read`); None: nothing of nccl-tests in it.

    >>> log = read("1048576 262144 float sum -1 50.00 20.97 36.70 0 50.10 20.93 36.63 0\\n")
    >>> job = log.jobs[0]
    >>> job.op, job.n_ranks, job.rows[0].out.busbw_Bps
    ('all_reduce', 8, 36700000000.0)
    """
    reader = NcclReader()
    for line in lines(source):
        reader.feed(line)
    return reader.done()
