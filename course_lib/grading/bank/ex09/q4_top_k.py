"""Question 09.q4: top-k with error feedback."""

from typing import Any

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Entries, Number
from course_lib.grading.bank.ex09.exact import EXACT
from course_lib.grading.question import Case, Misconception, Question


def top_k(gradient: np.ndarray, memory: np.ndarray, k: int) -> dict[str, Any]:
    """Return the positions (rising) and values that are sent, and the memory after it."""
    return _sent(np.asarray(gradient) + memory, k, np.abs)


def _sent(wanted: np.ndarray, k: int, size: Any, memory: Any = None) -> dict[str, Any]:
    at = np.sort(np.argsort(-size(wanted), kind="stable")[:k])
    left = np.array(wanted, dtype=float)
    left[at] = 0.0
    return {"positions": at, "values": wanted[at], "memory": left if memory is None else memory(at, left)}


def _no_memory(gradient: np.ndarray, memory: np.ndarray, k: int) -> dict[str, Any]:
    return _sent(np.asarray(gradient), k, np.abs)


def _chosen_by_gradient(gradient: np.ndarray, memory: np.ndarray, k: int) -> dict[str, Any]:
    at = _no_memory(gradient, memory, k)["positions"]
    left = gradient + memory
    left[at] = 0.0
    return {"positions": at, "values": (gradient + memory)[at], "memory": left}


def _last_only(gradient: np.ndarray, memory: np.ndarray, k: int) -> dict[str, Any]:
    right = top_k(gradient, memory, k)
    left = np.array(gradient, dtype=float)
    left[right["positions"]] = 0.0
    return right | {"memory": left}


def _never_cleared(gradient: np.ndarray, memory: np.ndarray, k: int) -> dict[str, Any]:
    return top_k(gradient, memory, k) | {"memory": gradient + memory}


def _by_size(gradient: np.ndarray, memory: np.ndarray, k: int) -> dict[str, Any]:
    right = top_k(gradient, memory, k)
    order = np.argsort(-np.abs(right["values"]), kind="stable")
    return right | {"positions": right["positions"][order], "values": right["values"][order]}


def _gradient_sent(gradient: np.ndarray, memory: np.ndarray, k: int) -> dict[str, Any]:
    right = top_k(gradient, memory, k)
    at, kept = right["positions"], right["memory"].copy()
    kept[at] = np.asarray(memory)[at]
    return {"positions": at, "values": np.asarray(gradient)[at], "memory": kept}


def _top_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        (np.array([4.0, 1.0, -3.0, 0.5, 0.0, 1.5]), np.zeros(6), 2),
        (np.array([4.0, 1.0, -3.0]), np.array([0.0, 5.0, -0.5]), 1),
        (np.array([1.0, -2.0]), np.array([0.5, 0.0]), 2),
        (np.array([-7.0]), np.array([2.0]), 1),
    ]
    for size in (5, 12, 40):
        gradient, memory = np.round(rng.standard_normal(size), 3), np.round(2 * rng.standard_normal(size), 3)
        gradient += 1e-5 * np.arange(size)  # no two magnitudes alike
        rows.append((gradient, memory, int(rng.integers(1, size // 2 + 1))))
    return [Case({"gradient": g, "memory": m, "k": k}) for g, m, k in rows]


q4 = Question(
    id="09.q4",
    title=_("Top-k with error feedback"),
    points=2,
    answer="top_k",
    kind="function",
    expects=Entries({"positions": Number(whole=True), "values": EXACT, "memory": EXACT}, each=False),
    inputs=_top_cases,
    reference=top_k,
    withholds=("course_lib.plan.codecs", "course_lib.plan.exchange"),
    misconceptions=(
        Misconception(
            "memory never used",
            _no_memory,
            _("You choose and send from the gradient alone. What was kept has to be added to it first."),
        ),
        Misconception(
            "nothing kept",
            lambda gradient, memory, k: top_k(gradient, memory, k) | {"memory": np.zeros(len(gradient))},
            _("You keep nothing of what was not sent. Then a small gradient that persists is never sent."),
        ),
        Misconception(
            "largest instead of largest magnitude",
            lambda gradient, memory, k: _sent(gradient + memory, k, lambda v: v),
            _("You take the largest values, and −3 counts as small. It is the magnitude that decides."),
        ),
        Misconception(
            "only the last gradient kept",
            _last_only,
            _(
                "Your new memory holds what is left of this gradient only. What was owed before and not sent is still owed."
            ),
        ),
        Misconception(
            "memory not cleared",
            _never_cleared,
            _("Your memory still holds what was sent. It would be sent again: set it to zero there."),
        ),
        Misconception(
            "chosen by the gradient alone",
            _chosen_by_gradient,
            _(
                "You add the memory, but choose the positions by the gradient alone. Then small ones never get their turn."
            ),
        ),
        Misconception(
            "positions by size",
            _by_size,
            _("Your positions stand in the order of size. They should rise, with the values in the same order."),
            recognise=lambda given, gradient, memory, k: (
                sorted(given["positions"]) == top_k(gradient, memory, k)["positions"].tolist()
                and list(given["positions"]) != sorted(given["positions"])
            ),
        ),
        Misconception(
            "sign lost",
            lambda gradient, memory, k: (right := top_k(gradient, memory, k)) | {"values": np.abs(right["values"])},
            _("You send magnitudes. They choose the positions; what is sent keeps its sign."),
        ),
        Misconception(
            "the smallest sent",
            lambda gradient, memory, k: _sent(np.asarray(gradient) + memory, k, lambda v: -np.abs(v)),
            _("You send the smallest. `np.argsort` rises: the largest magnitudes stand at its end."),
        ),
        Misconception(
            "the gradient alone sent",
            _gradient_sent,
            _("You choose with the memory and send the gradient alone. What was owed has to go with it."),
        ),
        Misconception(
            "memory subtracted",
            lambda gradient, memory, k: top_k(gradient, -np.asarray(memory), k),
            _("You subtract the memory. It holds what is still owed: add it."),
        ),
    ),
)
