"""Whatever is typed gets a number or a sentence: no NaN, no infinity by accident, no traceback of NumPy's."""

import contextlib
import inspect

import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.cluster import chances, checkpoints, cost, goodput, reliability, scaling, telemetry
from course_lib.cluster.claims import read_claims
from course_lib.cluster.targets import read_targets

ODD = [None, "3", float("nan"), float("inf"), -1, 0, True, 1e308, 1e-308, [1, 2], [], {}, 1e6, 5, 0.5]
FUNCTIONS = [
    *(getattr(checkpoints, n) for n in ("write_s", "young_s", "daly_s", "best_s", "background_s")),
    *(getattr(goodput, n) for n in ("longest_restart_s", "waiting")),
    *(getattr(reliability, n) for n in ("count_interval", "rate_interval")),
    *(getattr(cost, n) for n in ("yearly_usd", "usd_per_million_tokens", "purchase_only_usd", "joules_per_token")),
    *(getattr(telemetry, n) for n in ("least_threshold", "drift_threshold")),
    *(getattr(scaling, n) for n in ("strong_efficiency", "weak_efficiency", "amdahl", "gustafson")),
    *(getattr(chances, n) for n in ("poisson_at_least", "poisson_quantile", "student_quantile")),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_odd_input_gets_a_number_or_a_sentence(function):
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    rng = np.random.default_rng(5)
    for _round in range(60):
        given = [ODD[i] for i in rng.integers(len(ODD), size=len(needed))]
        try:
            found = function(*given)
        except CourseError:
            continue
        assert not np.isnan(np.asarray(found, float)).any(), given


GATE = {"at_least": "90 %", "owner": "Ada", "review": "2027-03-01", "escalate_to": "Grace"}


NO_WORDS = [None, 3, [], {}, True, float("nan")]


@pytest.mark.parametrize("odd", [*NO_WORDS, ""])
@pytest.mark.parametrize("key", list(GATE))
def test_odd_targets_get_a_sentence(odd, key):
    with pytest.raises(CourseError):
        read_targets({"targets": {"goodput": GATE | {key: odd}}})


@pytest.mark.parametrize("odd", NO_WORDS[1:])
@pytest.mark.parametrize("key", ["roll_back", "needs"])
def test_odd_optional_words_get_a_sentence(odd, key):
    with pytest.raises(CourseError):
        read_targets({"targets": {"goodput": GATE | {key: odd}}})


@pytest.mark.parametrize(
    "odd", [None, 3, "", [], True, {"value": None}, {"value": "92 %", "valid": "yes"}, {"value": "92 %", "note": 3}]
)
def test_odd_claims_get_a_sentence(odd):
    with pytest.raises(CourseError):
        read_claims({"name": "a", "values": {"goodput": odd}})


@pytest.mark.parametrize(
    "odd", [None, 3, [], {}, {"targets": 3}, {"targets": {}}, {"targets": {"goodput": 3}}, "a = \n b"]
)
def test_no_file_of_targets_gets_a_sentence(odd):
    with pytest.raises(CourseError):
        read_targets(odd)


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (cost.purchase_only_usd, 4),
        (cost.bill, 1),
        (telemetry.drift_threshold, 5),
        (telemetry.drift_alarm, 6),
        (telemetry.counter_alarm, 5),
        (goodput.useful, 4),
        (goodput.waiting, 3),
        (checkpoints.best_s, 2),
    ],
)
@pytest.mark.parametrize("value", [10**400, 2**70, -(10**400)])
def test_whole_numbers_beyond_floats_are_refused_in_words(function, count, value):
    for place in range(count):
        given = [value if i == place else 1 for i in range(count)]
        with contextlib.suppress(CourseError):
            function(*given)
