"""Questions 07.q4 and 07.q5: sliced or staged across hosts, priced and judged."""

from collections.abc import Callable

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries, Number
from course_lib.grading.bank.ex07.withheld import WITHHELD
from course_lib.grading.question import Case, Misconception, Question


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
            _(
                "Your sums take half as long. A layer has two all-reduces, one after attention and one after the MLP, "
                "and a ring has 2(n − 1) steps."
            ),
        ),
        Misconception(
            "layers shared out",
            _spent(lambda L, n, S, a, B: 2 * L / n * 2 * (n - 1) * (a + S / n / B)),
            _("You let each host have sums for its own layers only. Sliced, every host takes part in every layer."),
        ),
        Misconception(
            "handed back",
            _spent(staged=lambda L, n, S, a, B: 2 * (n - 1) * (a + S / B)),
            _("You count each hand-off twice. Forward, a boundary passes one message, in one direction."),
        ),
        Misconception(
            "forward and backward",
            _spent(
                lambda L, n, S, a, B: 2 * L * 4 * (n - 1) * (a + S / n / B),
                lambda L, n, S, a, B: 2 * (n - 1) * (a + S / B),
            ),
            _("You have twice as much both ways. Only the forward pass is asked for."),
        ),
        Misconception(
            "one hand-off",
            _spent(staged=lambda L, n, S, a, B: (a + S / B) if n > 1 else 0.0),
            _("You count one hand-off. A micro-batch passes n − 1 boundaries, one after the other."),
        ),
        Misconception(
            "hand-offs of a slice",
            _spent(staged=lambda L, n, S, a, B: (n - 1) * (a + S / n / B)),
            _("You hand over one n-th of the message. Stages are not sliced: the whole activation is handed on."),
        ),
        Misconception(
            "latency only",
            _spent(lambda L, n, S, a, B: 2 * L * 2 * (n - 1) * a, lambda L, n, S, a, B: (n - 1) * a),
            _("You price latencies only. A message also takes its bytes over the bandwidth."),
        ),
        Misconception(
            "sliced for staged",
            lambda how, *numbers, **named: communication_ms(
                "staged" if how == "sliced" else "sliced", *numbers, **named
            ),
            _("You have exchanged the two: sliced has sums in every layer, staged has hand-offs between hosts."),
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
    """A model sliced over hosts that writes one token: latency clearly longer than the bytes, which still show in the time."""
    while True:
        numbers = {
            "n_layers": 8 * int(rng.integers(4, 13)),
            "n_hosts": int(rng.choice([2, 4, 8])),
            "message_B": 2.0 * 1024 * int(rng.integers(2, 17)),
            "latency_s": float(rng.integers(5, 21)) * 1e-6,
            "bandwidth_Bps": float(rng.choice([12.5e9, 25e9, 50e9])),
        }
        bytes_s = numbers["message_B"] / numbers["n_hosts"] / numbers["bandwidth_Bps"]
        if 0.05 * numbers["latency_s"] < bytes_s < 0.2 * numbers["latency_s"]:
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
        Misconception(
            "the waits of one sum",
            lambda n_layers, n_hosts, **numbers: {"waits": 2 * (n_hosts - 1)},
            _("Those are the steps of one sum. There are two sums in each layer, all one after the other."),
        ),
        Misconception(
            "upside down",
            lambda **numbers: {"staged instead": 1 / judged(**numbers)["staged instead"]},
            _("You divide the time in stages by the time sliced. How many times as fast is the other way round."),
        ),
    ),
)
