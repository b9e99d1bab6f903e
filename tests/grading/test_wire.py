"""Plain data cross unchanged; nothing else does."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.base.errors import CourseError
from course_lib.grading import wire

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.complex_numbers()
plain = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3)
    ),
    max_leaves=12,
)


def same(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    if isinstance(one, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    return one == other


@given(plain)
def test_plain_data_cross_with_type_and_every_bit(value):
    assert same(wire.decode(wire.encode(value)), value)


@pytest.mark.parametrize("dtype", sorted(wire.DTYPES) + [">f8", ">i4"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 4)])
def test_arrays_cross_with_shape_and_values(dtype, shape):
    array = (np.arange(math.prod(shape)) % 2).reshape(shape).astype(dtype)
    back = wire.decode(wire.encode(array))
    assert back.shape == shape
    assert back.dtype == array.dtype.newbyteorder("<")
    assert (back == array).all()
    assert back.flags.writeable


class Liar(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


class Loud:
    def __repr__(self):
        raise SystemExit("repr")


@pytest.mark.parametrize("value", [Liar(3), Loud(), object(), {1, 2}, b"x", np.array([object()]), np.array(["a"]), len])
def test_other_types_become_their_name_only(value):
    assert isinstance(wire.decode(wire.encode(value)), wire.Foreign)


def test_numpy_scalars_become_plain_numbers():
    assert type(wire.decode(wire.encode(np.float64(0.5)))) is float
    assert type(wire.decode(wire.encode(np.int32(5)))) is int
    assert wire.decode(wire.encode(np.bool_(True))) is True


def test_size_and_depth_have_limits():
    with pytest.raises(CourseError, match="bytes"):
        wire.encode(np.zeros(10**6))
    deep = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(CourseError, match="nested"):
        wire.encode(deep)
    loop = []
    loop.append(loop)
    with pytest.raises(CourseError, match="nested"):
        wire.encode(loop)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        "[" * 100_000,
        '{"a":1}',
        '{"$":"pickle","v":"gAN9"}',
        '{"$":"record","type":"Popen","fields":{"args":"ls"}}',
        '{"$":"record","type":"Schedule","fields":{"nope":1}}',
        '{"$":"array","dtype":"|O","shape":[1],"data":"AAAA"}',
        '{"$":"array","dtype":"<f8","shape":[1000000000],"data":"AAAA"}',
        '{"$":"array","dtype":"<f8","shape":[-1],"data":""}',
        '{"$":"array","dtype":"<f8","shape":[1],"data":"!!!"}',
        '{"$":"int","v":"9" }'.replace("9", "z"),
        '{"$":"dict","v":[[[1],2]]}',
        '{"$":"complex","v":[1]}',
        json.dumps("x" * wire.MAX_BYTES),
        None,
    ],
)
def test_damaged_or_forged_text_is_refused_in_words(text):
    with pytest.raises(CourseError):
        wire.decode(text)


def test_a_schedule_crosses_as_its_arrays():
    ring = pytest.importorskip("course_lib.comm.ring")
    schedule = ring.all_reduce(4)
    text = wire.encode(schedule)
    assert wire.encode(wire.decode(text)) == text
    assert type(wire.decode(text)) is type(schedule)
