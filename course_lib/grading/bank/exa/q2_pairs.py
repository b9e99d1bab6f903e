"""Question A.q2: copies between pairs."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries, Number
from course_lib.grading.bank.exa.logs import CAUSES, VERDICTS
from course_lib.grading.question import Misconception, Question
from course_lib.machine.writelog import peer_test


def _pairs(rng: np.random.Generator) -> dict:
    n = int(rng.integers(3, 5))
    off = rng.uniform(11.0, 22.5) * np.exp(rng.normal(0, 0.02, (n, n)))
    on = rng.uniform(1.4, 3.4) * np.exp(rng.normal(0, 0.08, (n, n)))
    for matrix in (off, on):
        np.fill_diagonal(matrix, rng.uniform(600, 800))
    return {"log": peer_test("NVIDIA RTX A6000", off, on)}


def _matrices(log: str) -> tuple[np.ndarray, np.ndarray]:
    """The two matrices of a log of p2pBandwidthLatencyTest, without and with peer access."""
    found, rows = [], None
    for line in log.splitlines():
        if "Bandwidth" in line and "Matrix" in line:
            rows = []
            found.append(rows)
        elif rows is not None and line.split() and line.split()[0].isdigit():
            rows.append([float(v) for v in line.split()[1:]])
    return np.array(found[0]), np.array(found[1])


def _pair_answer(log: str) -> dict:
    off, on = _matrices(log)
    away = ~np.eye(len(off), dtype=bool)
    off_GBps, on_GBps = float(np.median(off[away])), float(np.median(on[away]))
    return {
        "off_GBps": off_GBps, "on_GBps": on_GBps, "ratio": on_GBps / off_GBps,
        "verdict": "finding", "cause": "peer copies are redirected",
    }  # fmt: skip


def _with_diagonal(log: str) -> dict:
    off, on = _matrices(log)
    means = float(off.mean()), float(on.mean())
    return _pair_answer(log) | {"off_GBps": means[0], "on_GBps": means[1], "ratio": means[1] / means[0]}


def _changed(log: str) -> dict:
    right = _pair_answer(log)
    return right | {"off_GBps": right["on_GBps"], "on_GBps": right["off_GBps"], "ratio": 1 / right["ratio"]}


q2 = Question(
    id="A.q2",
    title=_("Copies between pairs, with peer access and without"),
    points=3,
    answer="pairs",
    expects=Entries(
        {
            "off_GBps": Number("GB/s", tolerance=0.03),
            "on_GBps": Number("GB/s", tolerance=0.03),
            "ratio": Number(tolerance=0.05),
            "verdict": Choice(VERDICTS),
            "cause": Choice(CAUSES),
        }
    ),
    parameters=_pairs,
    reference=_pair_answer,
    misconceptions=(
        Misconception(
            "the diagonal counted",
            _with_diagonal,
            _(
                "Your rates hold the diagonal. A GPU that copies to itself uses its own memory and no link; leave it out."
            ),
        ),
        Misconception(
            "tables exchanged",
            _changed,
            _(
                "You have exchanged the two tables. Read their titles: Disabled is without peer access, Enabled with it."
            ),
        ),
        Misconception(
            "no peer access",
            lambda log: _pair_answer(log) | {"cause": "peer access is off"},
            _(
                "You think that peer access is off. The connectivity matrix holds ones everywhere: the pairs may reach each other, "
                "and do so by a detour."
            ),
        ),
        Misconception(
            "healthy",
            lambda log: _pair_answer(log) | {"verdict": "healthy", "cause": "none"},
            _("You call it healthy. A direct copy that is slower than one through host memory is a finding."),
        ),
        Misconception(
            "a link is down",
            lambda log: _pair_answer(log) | {"cause": "a link is down"},
            _(
                "You think that a link is down. The staged copies use the same slots and are fast; only the direct ones are slow."
            ),
        ),
    ),
)
