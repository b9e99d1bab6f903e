"""Plain data between a learner's process and a grader's: tagged JSON, a closed list of types, no pickle and no eval."""

import base64
import binascii
import dataclasses
import importlib
import json
import math
from typing import Any

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.base.language import _

MAX_BYTES = 4_000_000
MAX_DEPTH = 40
MAX_ENTRIES = 5000  # of one dict: keys can be made to have one hash, which costs the square
# What may be rebuilt from its fields on the grader's side. Only frozen records that check their own fields belong here.
RECORDS = {"Schedule": "course_lib.comm.schedule", "Step": "course_lib.comm.step"}
DTYPES = {
    np.dtype(kind).str for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
}


@dataclasses.dataclass(frozen=True)
class Foreign:
    """Stands for a value of a type that does not cross: its type's name and how it prints, both cut short."""

    type_name: str
    shown: str


def encode(value: Any, max_bytes: int = MAX_BYTES) -> str:
    """Return `value` as tagged JSON text.

    None, bool, int, float, complex, str, list, tuple, dict, NumPy arrays and scalars of plain numbers, and the records
    named in RECORDS keep type and every bit; NumPy scalars become Python's numbers. Anything else, a subclass of these
    included, becomes a `Foreign` that holds only its name. Raises CourseError above `max_bytes` or `MAX_DEPTH`.

    >>> decode(encode({"rate_GBps": [1, 2.5, None]}))
    {'rate_GBps': [1, 2.5, None]}
    >>> decode(encode(object)).type_name
    'type'
    """
    text = json.dumps(_pack(value, 0), allow_nan=False, separators=(",", ":"))
    if len(text) > max_bytes:
        raise CourseError(
            _("The answer takes {size} bytes; at most {most} are accepted.").format(size=len(text), most=max_bytes)
        )
    return text


def decode(text: str, max_bytes: int = MAX_BYTES) -> Any:
    """Return the value that `encode` wrote; raises CourseError for any other text. The text may come from an enemy.

    >>> decode('{"$":"array","dtype":"|O","shape":[1],"data":"AAAA"}')
    Traceback (most recent call last):
    ...
    course_lib.base.errors.CourseError: The answer came back damaged: arrays of type '|O' do not cross.
    """
    if not isinstance(text, str) or len(text) > max_bytes:
        raise _damaged(_("more than {most} bytes").format(most=max_bytes))
    try:
        return _unpack(json.loads(text, parse_constant=_no_constant), 0)
    except CourseError:
        raise
    except RecursionError:
        raise _damaged(_("nested too deeply")) from None
    except (ValueError, TypeError, KeyError, OverflowError, binascii.Error) as error:
        raise _damaged(f"{type(error).__name__}: {str(error)[:200]}") from None


def _damaged(why: str) -> CourseError:
    return CourseError(_("The answer came back damaged: {why}.").format(why=why))


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _pack(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise CourseError(_("The answer is nested more than {most} deep.").format(most=MAX_DEPTH))
    kind = type(value)
    if value is None or kind in (bool, str):
        return value.encode("utf-8", "replace").decode("utf-8") if kind is str else value
    if kind is int:
        return value if abs(value) < 2**53 else {"$": "int", "v": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"$": "float", "v": repr(value)}
    if kind is complex:
        return {"$": "complex", "v": [_pack(value.real, depth), _pack(value.imag, depth)]}
    if kind is list:
        return [_pack(item, depth + 1) for item in value]
    if kind is tuple:
        return {"$": "tuple", "v": [_pack(item, depth + 1) for item in value]}
    if kind is dict:
        if len(value) > MAX_ENTRIES:
            raise CourseError(_("A dict of the answer holds more than {most} entries.").format(most=MAX_ENTRIES))
        return {"$": "dict", "v": [[_pack(k, depth + 1), _pack(v, depth + 1)] for k, v in value.items()]}
    if kind.__module__ == "numpy" and isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return _pack(value.item() if value.dtype.str in DTYPES else float(value), depth)
    if kind is np.ndarray and _swollen(value.shape):
        text = _("The answer holds an array of the shape {shape}; at most {most} numbers cross.")
        raise CourseError(text.format(shape=value.shape, most=MAX_BYTES))
    if kind is np.ndarray and (plain := _plain_array(value)) is not None:
        data = base64.b64encode(np.ascontiguousarray(plain).tobytes()).decode("ascii")
        return {"$": "array", "dtype": plain.dtype.str, "shape": list(plain.shape), "data": data}
    if kind is Foreign:  # it has crossed before
        return {"$": "foreign", "type": value.type_name, "shown": value.shown}
    if RECORDS.get(kind.__name__) == kind.__module__:
        fields = {field.name: _pack(getattr(value, field.name), depth + 1) for field in dataclasses.fields(value)}
        return {"$": "record", "type": kind.__name__, "fields": fields}
    return {
        "$": "foreign",
        "type": str(kind.__name__)[:80],
        "shown": _shown(value),
    }


def _plain_array(value: np.ndarray) -> np.ndarray | None:
    if value.dtype.kind == "f" and value.dtype.itemsize > 8:
        value = value.astype("<f8")
    little = value.astype(value.dtype.newbyteorder("<"), copy=False) if value.dtype.kind in "iufc" else value
    return little if little.dtype.str in DTYPES else None


def _swollen(shape: Any) -> bool:
    """Return whether a list of lists of this shape would be huge; one length of zero does not make the others harmless."""
    return math.prod(max(int(n), 1) for n in shape) > MAX_BYTES


def _shown(value: Any) -> str:
    try:
        text = str(repr(value))
    except BaseException:
        return ""
    return text if len(text) <= 80 else text[:77] + "…"


def _unpack(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _damaged(_("nested too deeply"))
    if isinstance(value, list):
        return [_unpack(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    tag = value["$"]
    if tag == "int":
        return int(value["v"], 16)
    if tag == "float":
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value["v"]]
    if tag == "complex":
        real, imaginary = (float(_unpack(part, depth)) for part in value["v"])
        return complex(real, imaginary)
    if tag == "tuple":
        return tuple(_unpack(item, depth + 1) for item in value["v"])
    if tag == "dict":
        if len(value["v"]) > MAX_ENTRIES:
            raise _damaged(_("a dict of more than {most} entries").format(most=MAX_ENTRIES))
        return {_unpack(k, depth + 1): _unpack(v, depth + 1) for k, v in value["v"]}
    if tag == "array":
        return _unpack_array(value)
    if tag == "record":
        return _unpack_record(value, depth)
    if tag == "foreign":
        return Foreign(str(value["type"])[:80], str(value["shown"])[:80])
    raise _damaged(_("unknown tag {tag}").format(tag=repr(tag)[:40]))


def _unpack_array(value: dict) -> np.ndarray:
    if value["dtype"] not in DTYPES:
        raise _damaged(_("arrays of type {dtype} do not cross").format(dtype=repr(value["dtype"])[:40]))
    shape = value["shape"]
    if (
        not isinstance(shape, list)
        or not all(type(n) is int and 0 <= n <= MAX_BYTES for n in shape)
        or len(shape) > 16
        or _swollen(shape)
    ):
        raise _damaged(_("an array's shape is {shape}").format(shape=repr(shape)[:60]))
    data = base64.b64decode(value["data"], validate=True)
    dtype = np.dtype(value["dtype"])
    if math.prod(shape) * dtype.itemsize != len(data):
        raise _damaged(_("an array's length does not fit its shape"))
    return np.frombuffer(data, dtype=dtype).reshape(shape).copy()


def _unpack_record(value: dict, depth: int) -> Any:
    if value["type"] not in RECORDS:
        raise _damaged(_("records of type {name} do not cross").format(name=repr(value["type"])[:40]))
    record = getattr(importlib.import_module(RECORDS[value["type"]]), value["type"])
    known = {field.name for field in dataclasses.fields(record)}
    fields = value["fields"]
    if not isinstance(fields, dict) or set(fields) != known:
        raise _damaged(_("a {name} with other fields than a {name} has").format(name=value["type"]))
    return record(**{name: _unpack(item, depth + 1) for name, item in fields.items()})
