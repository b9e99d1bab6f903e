"""JSON results of nccl-tests and nvbandwidth; the environment and the arguments they hold are dropped while parsing."""

import contextlib
import json
import re

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.comm.meaning import canonical_op
from course_lib.machine.gpunames import known_gpu
from course_lib.machine.nccljobs import Device, Job, NcclLog
from course_lib.machine.ncclrow import ELEMENT_B, REDOPS, Half, Row
from course_lib.machine.nccltests import MOST_ROWS
from course_lib.machine.ranks import op_and_ranks
from course_lib.machine.text import Damages

MOST_CHARACTERS = 64 << 20
_DROPPED = frozenset(("env", "args", "environment", "hostname_list", "errors"))


class _Keeper:
    """Builds the objects of a JSON text: without what is dropped, and rows only as many as can be used."""

    def __init__(self):
        self.rows = 0

    def __call__(self, pairs: list[tuple]) -> dict | None:
        made = dict(pairs)
        if "out_of_place" in made and "size" in made:
            self.rows += 1
            if self.rows > 2 * MOST_ROWS:
                return None
        if _DROPPED.isdisjoint(made):
            return made
        return {key: value for key, value in pairs if key not in _DROPPED}


def _refuse(_text: str):
    return None


def parse(text: str) -> tuple[dict | None, bool]:
    """Return (the object, was it whole?); of a file that is cut, the results that are whole. None: no JSON of ours.

    >>> parse('{"env": ["TOKEN=x"], "results": []}')
    ({'results': []}, True)
    """
    decoder = json.JSONDecoder(object_pairs_hook=_Keeper(), parse_constant=_refuse)
    try:
        data = decoder.decode(text)
        return (data, True) if isinstance(data, dict) else (None, True)
    except (ValueError, RecursionError):
        pass
    results, decoder = [], json.JSONDecoder(object_pairs_hook=_Keeper(), parse_constant=_refuse)
    for found in re.finditer(r'\{\s*"size"\s*:', text):
        try:
            results.append(decoder.raw_decode(text, found.start())[0])
        except (ValueError, RecursionError):
            continue
        if len(results) >= MOST_ROWS:
            break
    return ({"results": results} if results else None), False


def _number(value) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if value == value and abs(value) < 1e30 and value >= 0 else None


def _half(block) -> Half:
    block = block if isinstance(block, dict) else {}
    time, algbw, busbw, wrong = (_number(block.get(k)) for k in ("time", "alg_bw", "bus_bw", "nwrong"))
    rate = lambda v: None if v is None else v * 1e9  # noqa: E731
    return Half(time * 1e-6 if time else None, rate(algbw), rate(busbw), None if wrong is None else int(wrong), None)


def _row(entry, k: int) -> Row | None:
    if not isinstance(entry, dict):
        return None
    size, count, kind = entry.get("size"), entry.get("count"), entry.get("type")
    if not all(isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 1 << 63 for v in (size, count)):
        return None
    if kind not in ELEMENT_B or count * ELEMENT_B[kind] > size:
        return None
    redop = str(entry.get("redop", "")).strip().lower()
    root = re.fullmatch(r"\s*(-?\d{1,6})\s*", str(entry.get("root", "")))
    out, inplace = _half(entry.get("out_of_place")), _half(entry.get("in_place"))
    for half in (out, inplace):
        if (
            half.time_s
            and half.algbw_Bps
            and abs(size / half.time_s / half.algbw_Bps - 1) > 0.02
            and half.algbw_Bps > 1e6
        ):
            return None
        if half.algbw_Bps and half.busbw_Bps and half.busbw_Bps > 2.01 * half.algbw_Bps:
            return None
    return Row(
        k, size, count, kind, redop if redop in REDOPS else None, int(root.group(1)) if root else None, out, inplace
    )


def nccl_log(data: dict, whole: bool) -> NcclLog | None:
    """Return the log of a JSON result file of nccl-tests, or None where it is none; `line` of a row is its number."""
    results = data.get("results")
    if not isinstance(results, list):
        return None
    damage, rows, names, hosts = Damages(), [], set(), {}
    for k, entry in enumerate(results[:MOST_ROWS]):
        row = _row(entry, k + 1)
        if row is None:
            damage.add(None, _("result {k} cannot be used: fields missing or contradicting each other").format(k=k + 1))
            continue
        rows.append(row)
        with contextlib.suppress(CourseError):
            names.add(canonical_op(entry.get("experiment_name")))
    if not whole:
        damage.add(None, _("the JSON is cut off or broken; results that are whole were read"))
    config = data.get("config") if isinstance(data.get("config"), dict) else {}
    devices = {}
    for entry in config.get("devices", []) if isinstance(config.get("devices"), list) else []:
        if not isinstance(entry, dict) or not isinstance(entry.get("rank"), int) or len(devices) >= 1 << 17:
            continue
        host = hosts.setdefault(str(entry.get("hostname")), len(hosts))
        number = entry.get("device") if isinstance(entry.get("device"), int) else -1
        bus = re.fullmatch(r"[0-9a-fA-F:.x]{1,20}", str(entry.get("device_hex", "")))
        gpu = known_gpu(str(entry.get("device_info", ""))[:200])
        devices.setdefault(entry["rank"], Device(entry["rank"], host, number, bus.group().lower() if bus else "", gpu))
    if not rows and not damage.count:
        return None
    found = op_and_ranks(names.pop() if len(names) == 1 else None, rows, len(devices) or None, None, False)
    average = data.get("average_bus_bandwidth")
    average = _number(average.get("bandwidth")) if isinstance(average, dict) else None
    bounds = data.get("out_of_bounds")
    out = None
    if isinstance(bounds, dict) and _number(bounds.get("count")) is not None:
        out = int(bounds["count"]) or (1 if bounds.get("okay") is False else 0)
    limits = tuple(_number(config.get(k)) for k in ("minimum_bytes", "maximum_bytes"))
    fits = devices and found.n_ranks == len(devices)
    checked = _number(config.get("validation"))
    job = Job(
        found.op, found.ops, tuple(rows), tuple(devices[r] for r in sorted(devices)), found.n_ranks, found.ranks_range,
        len({d.host for d in devices.values()}) if fits else None, None if average is None else average * 1e9, out,
        tuple(int(v) for v in limits) if None not in limits else None, None if checked is None else checked > 0,
        whole and average is not None, 1, "", 1, "", found.contradicts,
    )  # fmt: skip
    unknown = () if len(results) <= MOST_ROWS else (_("results after the first {n}").format(n=MOST_ROWS),)
    return NcclLog((job,), (), tuple(damage.kept), damage.count, len(rows), unknown)
