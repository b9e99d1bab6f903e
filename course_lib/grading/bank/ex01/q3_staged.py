"""Question 01.q3: a copy staged in host memory, or direct."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries, Number
from course_lib.grading.question import Case, Misconception, Question

_COPY = ("message_MB", "chunks", "stage_us", "stage_GBps", "direct_us", "direct_GBps")


def _decided(staged_us: float, direct_us: float) -> dict[str, float | str]:
    return {"staged_us": staged_us, "direct_us": direct_us, "faster": "direct" if direct_us < staged_us else "staged"}


def _line_us(message_MB: float, latency_us: float, rate_GBps: float) -> float:
    return latency_us + message_MB * 1e3 / rate_GBps


def compare_copies(message_MB, chunks, stage_us, stage_GBps, direct_us, direct_GBps) -> dict[str, float | str]:
    """Return both times in µs and the faster way; n equal chunks in two equal stages need n + 1 stage times."""
    one = _line_us(message_MB / chunks, stage_us, stage_GBps)
    return _decided((chunks + 1) * one, _line_us(message_MB, direct_us, direct_GBps))


def _copies(rng: np.random.Generator) -> list[Case]:
    rows = [
        (1, 1, 8, 50, 2, 50),
        (1, 2, 8, 50, 2, 50),
        (100, 4, 8, 50, 2, 50),
        (100, 10, 8, 50, 2, 20),  # a direct path through a narrow link loses
        (0.001, 1, 8, 50, 2, 400),
        (1000, 100, 8, 50, 2, 400),
        (1000, 1, 8, 50, 2, 30),
    ]
    while len(rows) < 19:
        row = (
            float(rng.integers(1, 4000)) / 4, int(rng.integers(1, 65)), float(rng.integers(4, 41)) / 2,
            float(rng.integers(24, 240)) / 4, float(rng.integers(2, 11)) / 2, float(rng.choice([7, 14, 28, 57, 132, 396])),
        )  # fmt: skip
        found = compare_copies(*row)
        if abs(found["staged_us"] / found["direct_us"] - 1) > 0.05:  # no verdict hangs on a rounding
            rows.append(row)
    return [Case(dict(zip(_COPY, row, strict=True))) for row in rows]


def _staged_as(staged_us) -> object:
    """Return a wrong model whose direct time is right and whose staged time is `staged_us(copy)`."""

    def wrong(**copy):
        return _decided(staged_us(copy), _line_us(copy["message_MB"], copy["direct_us"], copy["direct_GBps"]))

    return wrong


def _one_chunk_us(copy: dict) -> float:
    return _line_us(copy["message_MB"] / copy["chunks"], copy["stage_us"], copy["stage_GBps"])


def _one_crossing_us(copy: dict) -> tuple[float, float]:
    """Return the time in which all bytes enter the buffer: chunk by chunk, and in one piece."""
    return copy["chunks"] * _one_chunk_us(copy), _line_us(copy["message_MB"], copy["stage_us"], copy["stage_GBps"])


def _latency_once_us(copy: dict) -> tuple[float, float]:
    """Return the staged time with one latency for each of the two stages, and with one for both."""
    moving_us = (copy["chunks"] + 1) * copy["message_MB"] * 1e3 / copy["chunks"] / copy["stage_GBps"]
    return 2 * copy["stage_us"] + moving_us, copy["stage_us"] + moving_us


def _in_ms(copy: dict) -> tuple[dict, dict, dict]:
    """Return what comes out where MB over GB/s was taken for µs: in the staged time, in the direct one, in both."""
    staged, direct = (
        copy["stage_us"] + copy["message_MB"] / copy["chunks"] / copy["stage_GBps"],
        copy["direct_us"] + copy["message_MB"] / copy["direct_GBps"],
    )
    right = compare_copies(**copy)
    both = (copy["chunks"] + 1) * staged, direct
    return _decided(*both), _decided(both[0], right["direct_us"]), _decided(right["staged_us"], both[1])


def _early_us(copy: dict) -> tuple[float, ...]:
    """Return staged times in which the second crossing does not wait for a whole chunk."""
    moving_us = copy["message_MB"] * 1e3 / copy["stage_GBps"]
    return 2 * copy["stage_us"] + moving_us, copy["chunks"] * _one_chunk_us(copy) + copy["stage_us"]


def _other_word(**copy) -> dict[str, float | str]:
    right = compare_copies(**copy)
    return right | {"faster": "staged" if right["faster"] == "direct" else "direct"}


q3 = Question(
    id="01.q3",
    title=_("Staged or direct"),
    points=3,
    answer="compare_copies",
    kind="function",
    expects=Entries(
        {"staged_us": Number("µs"), "direct_us": Number("µs"), "faster": Choice(("staged", "direct"))}, each=False
    ),
    inputs=_copies,
    reference=compare_copies,
    withholds=("course_lib.links.paths", "course_lib.links.staging"),
    misconceptions=(
        Misconception(
            "no overlap",
            _staged_as(lambda copy: 2 * copy["chunks"] * _one_chunk_us(copy)),
            _(
                "You added the stages of all chunks. While one chunk leaves the buffer the next one enters it: the two stages "
                "work at the same time."
            ),
        ),
        Misconception(
            "one crossing",
            _staged_as(lambda copy: copy["chunks"] * _one_chunk_us(copy)),
            _(
                "You counted one crossing of PCIe. The last chunk still has to leave the buffer when it has arrived there."
            ),
            recognise=lambda given, **copy: any(
                q3.expects.same(given, _staged_as(lambda _copy, us=us: us)(**copy)) for us in _one_crossing_us(copy)
            ),
        ),
        Misconception(
            "latency once",
            _staged_as(lambda copy: _latency_once_us(copy)[0]),
            _("You counted the latency of a stage once. Every chunk is a copy of its own and pays it."),
            recognise=lambda given, **copy: any(
                q3.expects.same(given, _staged_as(lambda _copy, us=us: us)(**copy)) for us in _latency_once_us(copy)
            ),
        ),
        Misconception(
            "chunks forgotten",
            _staged_as(lambda copy: 2 * _line_us(copy["message_MB"], copy["stage_us"], copy["stage_GBps"])),
            _(
                "You let the whole message wait in the buffer. It goes in chunks, and the second copy begins after the first chunk."
            ),
        ),
        Misconception(
            "direct is always faster",
            lambda **copy: compare_copies(**copy) | {"faster": "direct"},
            _(
                "Your times are right, and your choice does not follow from them: a direct path through a narrow link can be slower "
                "than two fast crossings."
            ),
        ),
        Misconception(
            "milliseconds for microseconds",
            lambda **copy: _in_ms(copy)[0],
            _("MB over GB/s are milliseconds. The times are asked for in µs, so these bytes take 1000 times as many."),
            recognise=lambda given, **copy: any(q3.expects.same(given, wrong) for wrong in _in_ms(copy)),
        ),
        Misconception(
            "the second crossing starts too soon",
            _staged_as(lambda copy: _early_us(copy)[0]),
            _(
                "Your second crossing begins with the first byte. It can begin when the first chunk lies in the buffer, whole."
            ),
            recognise=lambda given, **copy: any(
                q3.expects.same(given, _staged_as(lambda _copy, us=us: us)(**copy)) for us in _early_us(copy)
            ),
        ),
        Misconception(
            "every chunk the whole message",
            _staged_as(
                lambda copy: (copy["chunks"] + 1) * _line_us(copy["message_MB"], copy["stage_us"], copy["stage_GBps"])
            ),
            _("Each of your chunks is as long as the whole message. A chunk has message_MB / chunks."),
        ),
        Misconception(
            "the direct copy in chunks",
            lambda **copy: _decided(
                compare_copies(**copy)["staged_us"],
                compare_copies(**copy)["direct_us"] + (copy["chunks"] - 1) * copy["direct_us"],
            ),
            _("You cut the direct copy into chunks, too. It goes in one piece and waits once."),
        ),
        Misconception(
            "the word turned round",
            _other_word,
            _("Your times are right, and the word is turned round: the faster way is the one that takes less time."),
        ),
    ),
)
