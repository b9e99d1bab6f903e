"""Exercise 07, a pipeline of blocks: the bubble twice, a 1F1B order, activations in flight, sliced or staged across hosts."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries, Number, Plain
from course_lib.grading.question import Case, Misconception, Question
from course_lib.plan import pipeline
from course_lib.plan.orders import make
from course_lib.plan.review import review

WITHHELD = tuple(f"course_lib.plan.{name}" for name in ("orders", "pipeline", "review", "crossing", "pipelineruns"))

# q1: the bubble in both conventions ----------------------------------------------------------------------------------


def bubble(p: int, m: int, v: int) -> tuple[float, float]:
    """Return the bubble of the ideal time and of the step, read off a timeline.

    >>> bubble(4, 8, 1), bubble(1, 8, 1)
    ((0.375, 0.2727272727272727), (0.0, 0.0))
    """
    line = pipeline.run(make("interleaved" if v > 1 else "1f1b", p, m, v))
    return line.bubble_of_ideal, line.bubble_of_step


def _bubble_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(1, 1, 1), (1, 4, 1), (2, 1, 1), (4, 4, 1), (8, 3, 1), (2, 2, 2), (4, 8, 2), (1, 4, 3)]
    rows += [(int(rng.integers(2, 13)), int(rng.integers(1, 49)), 1) for _unused in range(3)]
    for _unused in range(3):
        p = int(rng.integers(2, 9))
        rows.append((p, p * int(rng.integers(1, 5)), int(rng.integers(2, 5))))
    return [
        Case(dict(zip("pmv", row, strict=True)), "interleaved" if row[2] > 1 else "one chunk")
        for row in sorted(rows, key=lambda row: row[2] > 1)
    ]


def _bubbles(of_ideal: Callable[..., float], of_step: Callable[..., float]) -> Callable[..., tuple[float, float]]:
    return lambda p, m, v: (of_ideal(p, m, v), of_step(p, m, v))


def _ideal(p: int, m: int, v: int) -> float:
    return (p - 1) / (v * m)


def _step(p: int, m: int, v: int) -> float:
    return (p - 1) / (v * m + p - 1)


q1 = Question(
    id="07.q1",
    title=_("The bubble, of the ideal time and of the step"),
    points=3,
    answer="bubble",
    kind="function",
    expects=Number(tolerance=0.005, near_zero=1e-9),
    inputs=_bubble_cases,
    reference=bubble,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "one convention for the other",
            _bubbles(_step, _ideal),
            _(
                "You give the two in the opposite order: (p − 1)/m is what is added to the ideal time, "
                "(p − 1)/(m + p − 1) is a part of the step."
            ),
        ),
        Misconception(
            "the ideal time for both",
            _bubbles(_ideal, _ideal),
            _("You divide by the ideal time both times. The step is longer than that: it contains the bubble."),
        ),
        Misconception(
            "the step for both",
            _bubbles(_step, _step),
            _("You divide by the step both times. The ideal time is what the step would be without the bubble."),
        ),
        Misconception(
            "chunks forgotten",
            _bubbles(lambda p, m, v: _ideal(p, m, 1), lambda p, m, v: _step(p, m, 1)),
            _("You leave out v. With chunks the pieces that fill the pipeline are v times as short."),
        ),
        Misconception(
            "the part of the step divided by v",
            _bubbles(_ideal, lambda p, m, v: _step(p, m, 1) / v),
            _(
                "You divide the part of the step by v. The bubble is v times as small, but the step is shorter as well: "
                "the denominator becomes v·m + p − 1."
            ),
        ),
        Misconception(
            "p stages to fill",
            _bubbles(lambda p, m, v: p / (v * m), lambda p, m, v: p / (v * m + p)),
            _("You let p stages wait. The last one starts after p − 1 others."),
        ),
    ),
)

# q2: a 1F1B order ----------------------------------------------------------------------------------------------------

Order = list[list[str]]
MOST_WORK = 20_000


def _written(work: Callable[[int, int, int], list[str]]) -> Callable[[int, int], Order]:
    return lambda p, m: [work(p, m, s) for s in range(p)]


def _alternating(first: int, m: int) -> list[str]:
    """`first` forwards, then one forward and one backward in turn, then what is left."""
    first = min(first, m)
    work = [f"F{i}" for i in range(first)]
    for i in range(m - first):
        work += [f"F{first + i}", f"B{i}"]
    return work + [f"B{i}" for i in range(m - first, m)]


def order(p: int, m: int) -> Order:
    """Return the textbook's 1F1B order as text.

    >>> order(2, 2)
    [['F0', 'F1', 'B0', 'B1'], ['F0', 'B0', 'F1', 'B1']]
    """
    return [[str(op) for op in stage] for stage in make("1f1b", p, m)]


def _order_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(1, 1), (1, 3), (2, 1), (2, 2), (3, 4), (4, 8), (4, 2), (8, 3)]
    rows += [(int(rng.integers(2, 9)), int(rng.integers(1, 17))) for _unused in range(4)]
    return [Case({"p": p, "m": m}) for p, m in rows]


def _accept_order(answer: object, p: int, m: int) -> str:
    if sum(len(stage) for stage in answer) > MOST_WORK:
        return _("it has {n} pieces of work; {p} stages and {m} micro-batches need {need}.").format(
            n=sum(len(stage) for stage in answer), p=p, m=m, need=2 * p * m
        )
    found = review(answer, p, m)
    return "" if found.accepted else found.reason


def _is(wrong: Callable[[int, int], Order]) -> Callable[..., bool]:
    def recognise(answer: object, p: int, m: int) -> bool:
        model = wrong(p, m)
        return model != order(p, m) and [[str(op) for op in stage] for stage in answer] == model

    return recognise


_all_forward = _written(lambda p, m, s: [f"F{i}" for i in range(m)] + [f"B{i}" for i in range(m)])
_no_warmup = _written(lambda p, m, s: _alternating(0, m))
_same_warmup = _written(lambda p, m, s: _alternating(p - 1, m))
_upside_down = _written(lambda p, m, s: _alternating(s, m))
_one_more = _written(lambda p, m, s: _alternating(p - s, m))

q2 = Question(
    id="07.q2",
    title=_("A 1F1B order that runs, is as fast and holds no more"),
    points=3,
    answer="order",
    kind="function",
    expects=Plain(
        _("a list with one list of operations for each stage"),
        fits=lambda given: isinstance(given, list) and all(isinstance(stage, (list, tuple)) for stage in given),
    ),
    inputs=_order_cases,
    reference=order,
    accept=_accept_order,
    withholds=WITHHELD,
    misconceptions=tuple(
        Misconception(name, wrong, sentence, recognise=_is(wrong))
        for name, wrong, sentence in (
            (
                "all forwards first",
                _all_forward,
                _(
                    "That is GPipe's order: all forwards, then all backwards. It is as fast as 1F1B, "
                    "and holds every micro-batch on every stage."
                ),
            ),
            (
                "no forwards ahead",
                _no_warmup,
                _(
                    "Your stages alternate from the beginning. Stage 0 then waits for B0 to come back before it starts F1, "
                    "and only one stage works at a time."
                ),
            ),
            (
                "the same start everywhere",
                _same_warmup,
                _(
                    "Every stage of yours starts with p − 1 forwards. Only the first needs so many; "
                    "later stages get their first backward earlier."
                ),
            ),
            (
                "upside down",
                _upside_down,
                _(
                    "Your stage s starts with s forwards, so the last one runs furthest ahead. "
                    "It is the first stage that waits longest for its first backward."
                ),
            ),
            (
                "one forward too many",
                _one_more,
                _(
                    "Your stage s starts with p − s forwards and then does a forward before its first backward. "
                    "That holds one micro-batch too many: p − 1 − s ahead are enough."
                ),
            ),
        )
    ),
)

# q3: activations in flight -------------------------------------------------------------------------------------------


def in_flight(schedule: str, p: int, m: int, stage: int) -> int:
    """Return the most micro-batches that a stage holds, counted on a timeline.

    >>> in_flight("1f1b", 4, 8, 0), in_flight("gpipe", 4, 8, 3), in_flight("zero-bubble", 4, 8, 3)
    (4, 8, 4)
    """
    return int(pipeline.in_flight(pipeline.run(make(schedule, p, m)))[stage])


def _flight_cases(rng: np.random.Generator) -> list[Case]:
    rows = [(1, 1, 0), (2, 4, 0), (4, 8, 0), (4, 8, 3), (4, 2, 0), (8, 3, 1)]
    for _unused in range(4):
        p = int(rng.integers(2, 13))
        rows.append((p, int(rng.integers(1, 33)), int(rng.integers(0, p))))
    return [
        Case({"schedule": schedule, "p": p, "m": m, "stage": s}, schedule)
        for schedule in ("gpipe", "1f1b", "zero-bubble")
        for p, m, s in rows
    ]


def _held(
    gpipe: Callable[..., int] | None = None,
    alternating: Callable[..., int] | None = None,
    split: Callable[..., int] | None = None,
) -> Callable[..., int]:
    """The right count, but for the schedules whose model is given."""
    models = {"gpipe": gpipe, "1f1b": alternating, "zero-bubble": split}

    def wrong(schedule: str, p: int, m: int, stage: int) -> int:
        model = models[schedule]
        return in_flight(schedule, p, m, stage) if model is None else model(p, m, stage)

    return wrong


q3 = Question(
    id="07.q3",
    title=_("Activations in flight on each stage"),
    points=2,
    answer="in_flight",
    kind="function",
    expects=Number(_("micro-batches"), whole=True),
    inputs=_flight_cases,
    reference=in_flight,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "all micro-batches with 1F1B",
            _held(alternating=lambda p, m, s: m),
            _("You let 1F1B hold all m micro-batches. That is GPipe; 1F1B frees one before it takes the next."),
        ),
        Misconception(
            "p on every stage",
            _held(alternating=lambda p, m, s: min(p, m)),
            _(
                "You let every stage of 1F1B hold p. Only the first does; the last turns each micro-batch around at once."
            ),
        ),
        Misconception(
            "counted from the wrong end",
            _held(alternating=lambda p, m, s: min(s + 1, m)),
            _(
                "You let later stages hold more. A micro-batch comes back to the first stage last, so that one holds most."
            ),
        ),
        Misconception(
            "more than there are",
            _held(alternating=lambda p, m, s: p - s, split=lambda p, m, s: p),
            _("You let a stage hold more micro-batches than the step has. With m below p there are only m."),
        ),
        Misconception(
            "one too few",
            _held(alternating=lambda p, m, s: min(max(p - 1 - s, 0), m)),
            _("You count the forwards ahead, p − 1 − s, and leave out the micro-batch in work."),
        ),
        Misconception(
            "GPipe holds one per stage",
            _held(gpipe=lambda p, m, s: min(p, m)),
            _("You let GPipe hold p. It does all forwards before the first backward, so everything is kept."),
        ),
        Misconception(
            "split backward holds like 1F1B",
            _held(split=lambda p, m, s: min(p - s, m)),
            _(
                "You free the activations at B in the split schedule. The gradients of the weights need them too, and come later."
            ),
        ),
    ),
)

# q4, q5: across hosts ------------------------------------------------------------------------------------------------


def communication_ms(
    how: str, n_layers: int, n_hosts: int, message_B: float, latency_s: float, bandwidth_Bps: float
) -> float:
    """Return milliseconds of communication of one forward pass, layers sliced over the hosts or hosts as stages.

    >>> round(communication_ms("sliced", 80, 2, 16384.0, 1e-5, 5e10), 4), round(communication_ms("staged", 80, 2, 16384.0, 1e-5, 5e10), 4)
    (3.2524, 0.0103)
    """
    count, steps, part = (2 * n_layers, 2 * (n_hosts - 1), n_hosts) if how == "sliced" else (n_hosts - 1, 1, 1)
    return 1e3 * count * steps * (latency_s + message_B / part / bandwidth_Bps)


_NAMES = ("n_layers", "n_hosts", "message_B", "latency_s", "bandwidth_Bps")


def _cut_cases(rng: np.random.Generator) -> list[Case]:
    rows = [
        (4, 1, 1e6, 1e-5, 1e10),
        (4, 2, 0.0, 1e-5, 1e10),
        (8, 2, 1e6, 1e-5, 1e10),
        (80, 8, 16384.0, 2e-5, 5e10),
        (80, 8, 134217728.0, 2e-5, 5e10),
    ]
    rows += [
        (
            8 * int(rng.integers(2, 17)),
            int(rng.choice([2, 4, 8])),
            float(10 ** rng.uniform(3.5, 8.3)),
            float(rng.uniform(2e-6, 4e-5)),
            float(rng.uniform(5e9, 1e11)),
        )
        for _unused in range(5)
    ]
    return [
        Case({"how": how} | dict(zip(_NAMES, row, strict=True)), how) for how in ("staged", "sliced") for row in rows
    ]


def _spent(
    sliced: Callable[..., float] | None = None, staged: Callable[..., float] | None = None
) -> Callable[..., float]:
    models = {"sliced": sliced, "staged": staged}

    def wrong(how, n_layers, n_hosts, message_B, latency_s, bandwidth_Bps):
        model = models[how]
        if model is None:
            return communication_ms(how, n_layers, n_hosts, message_B, latency_s, bandwidth_Bps)
        return 1e3 * model(n_layers, n_hosts, message_B, latency_s, bandwidth_Bps)

    return wrong


q4 = Question(
    id="07.q4",
    title=_("Hand-offs or all-reduces across hosts: the time"),
    points=2,
    answer="communication_ms",
    kind="function",
    expects=Number("ms", near_zero=1e-12),
    inputs=_cut_cases,
    reference=communication_ms,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "bandwidth only",
            _spent(
                lambda L, n, S, a, B: 2 * L * 2 * (n - 1) * S / n / B,
                lambda L, n, S, a, B: (n - 1) * S / B,
            ),
            _("You price bytes only. Every send waits for a latency first, and there are many of them."),
        ),
        Misconception(
            "one latency for an all-reduce",
            _spent(lambda L, n, S, a, B: 2 * L * ((a if n > 1 else 0.0) + 2 * (n - 1) * S / n / B)),
            _("You count one latency for each all-reduce. A ring has 2(n − 1) steps, and each of them waits."),
        ),
        Misconception(
            "the whole message in each step",
            _spent(lambda L, n, S, a, B: 2 * L * 2 * (n - 1) * (a + S / B)),
            _("You send the whole message in each step of the ring. A step sends one n-th of it."),
        ),
        Misconception(
            "one sum for a layer",
            _spent(lambda L, n, S, a, B: L * 2 * (n - 1) * (a + S / n / B)),
            _("You count one all-reduce for a layer. There is one after attention and one after the MLP."),
        ),
        Misconception(
            "a hand-off at every layer",
            _spent(staged=lambda L, n, S, a, B: L * (a + S / B) if n > 1 else 0.0),
            _(
                "You hand over at every layer. Inside a stage the layers lie on one host; n hosts have n − 1 boundaries."
            ),
        ),
        Misconception(
            "a hand-off for every host",
            _spent(staged=lambda L, n, S, a, B: n * (a + S / B)),
            _("You count a hand-off for each host. The last one has nobody to hand on to."),
        ),
    ),
)


def _token(rng: np.random.Generator) -> dict:
    """A model sliced over hosts that writes one token: latency clearly longer than the bytes."""
    while True:
        numbers = {
            "n_layers": 8 * int(rng.integers(4, 13)),
            "n_hosts": int(rng.choice([2, 4, 8])),
            "message_B": 2.0 * 1024 * int(rng.integers(2, 17)),
            "latency_s": float(rng.integers(5, 21)) * 1e-6,
            "bandwidth_Bps": float(rng.choice([12.5e9, 25e9, 50e9])),
        }
        if numbers["message_B"] / numbers["n_hosts"] / numbers["bandwidth_Bps"] < 0.2 * numbers["latency_s"]:
            return numbers


def judged(n_layers: int, n_hosts: int, message_B: float, latency_s: float, bandwidth_Bps: float) -> dict:
    """Return what question 5 asks: waits, cause, and the gains of ten times the bandwidth and of stages.

    >>> judged(80, 8, 16384.0, 1e-5, 5e10)["waits"], judged(80, 8, 16384.0, 1e-5, 5e10)["cause"]
    (2240, 'latency')
    """
    given = (n_layers, n_hosts, message_B, latency_s)
    now = communication_ms("sliced", *given, bandwidth_Bps)
    return {
        "waits": 4 * n_layers * (n_hosts - 1),
        "cause": "latency" if latency_s > message_B / n_hosts / bandwidth_Bps else "bandwidth",
        "ten times the bandwidth": now / communication_ms("sliced", *given, 10 * bandwidth_Bps),
        "staged instead": now / communication_ms("staged", *given, bandwidth_Bps),
    }


q5 = Question(
    id="07.q5",
    title=_("One token across hosts: what would help"),
    points=2,
    answer="token",
    expects=Entries(
        {
            "waits": Number(whole=True),
            "cause": Choice(("bandwidth", "latency")),
            "ten times the bandwidth": Number("×"),
            "staged instead": Number("×"),
        }
    ),
    parameters=_token,
    reference=judged,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "bandwidth is the reason",
            lambda **numbers: {"cause": "bandwidth"},
            _(
                "You blame bandwidth. The messages of one token are a few KiB: their bytes are through long before a latency "
                "is over. It is the number of sums that wait for one another."
            ),
        ),
        Misconception(
            "ten times the bandwidth is ten times as fast",
            lambda **numbers: {"ten times the bandwidth": 10.0},
            _("You let everything get ten times as fast. Only the bytes do; each step still waits for its latency."),
        ),
        Misconception(
            "one wait for a sum",
            lambda n_layers, n_hosts, **numbers: {"waits": 2 * n_layers},
            _("You count the sums, two in each layer. Each is a ring of 2(n − 1) steps that wait for one another."),
        ),
        Misconception(
            "forward and backward",
            lambda n_layers, n_hosts, **numbers: {"waits": 8 * n_layers * (n_hosts - 1)},
            _("You count a backward pass as well. Writing a token is a forward pass only."),
        ),
        Misconception(
            "stages compared by count",
            lambda n_layers, n_hosts, **numbers: {"staged instead": 2 * n_layers / (n_hosts - 1)},
            _(
                "You compare the number of sums with the number of hand-offs. A sum takes longer than a hand-off: "
                "it has 2(n − 1) steps."
            ),
        ),
    ),
)

QUESTIONS = (q1, q2, q3, q4, q5)
