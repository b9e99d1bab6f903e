"""Question 06.q6: two jobs over three links."""

import numpy as np

from course_lib.base.language import _
from course_lib.grading.answers import Choice, Entries
from course_lib.grading.bank.ex06.q5_two_gpus import speedup
from course_lib.grading.bank.ex06.withheld import WITHHELD
from course_lib.grading.question import Misconception, Question

H100_FLOPS, HBM_BPS = 4e14, 3.35e12  # achieved operations, and what its memory reads, per second
JOBS, LINKS = ("prompt", "token"), ("NVLink", "PCIe", "card")


def _gain(numbers: dict, job: str, link: str) -> float:
    n = numbers[job]
    return speedup(n["computing_s"], n["n_sums"], n["message_B"], *numbers[link])


def _us(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{rng.uniform(low, high):.1f}e-6")


def _jobs(rng: np.random.Generator) -> dict:
    """Draw a wide model that reads a prompt and a narrow one that writes a token, so that no verdict is close."""
    while True:
        wide, layers, tokens = (
            1024 * int(rng.integers(7, 13)),
            int(rng.integers(60, 101)),
            1024 * int(rng.integers(3, 9)),
        )
        narrow, few = 128 * int(rng.integers(11, 19)), int(rng.integers(16, 33))
        found = {
            "prompt": {
                "computing_s": 24 * wide**2 * layers * tokens / H100_FLOPS,
                "n_sums": 2 * layers,
                "message_B": 2 * wide * tokens,
            },
            "token": {"computing_s": 24 * narrow**2 * few / HBM_BPS, "n_sums": 2 * few, "message_B": 2 * narrow},
            "NVLink": (_us(rng, 0.8, 1.6), round(float(rng.uniform(280, 400))) * 1e9),
            "PCIe": (_us(rng, 6, 12), round(float(rng.uniform(24, 40))) * 1e9),
            "card": (_us(rng, 8, 16), round(float(rng.uniform(38, 48))) * 1e9),
        }
        gains = {(job, link): _gain(found, job, link) for job in JOBS for link in LINKS}
        slower = {("token", "PCIe"), ("token", "card")}
        if all(gain < 0.9 if key in slower else gain > 1.1 for key, gain in gains.items()):
            for job in JOBS:
                found[job]["computing_s"] = float(f"{found[job]['computing_s']:.4g}")
            return found


def verdicts(**numbers: object) -> dict[str, str]:
    """Return "faster" or "slower" for two GPUs, for each job over each link."""
    return {f"{job}, {link}": "faster" if _gain(numbers, job, link) > 1 else "slower" for job in JOBS for link in LINKS}


q6 = Question(
    id="06.q6",
    title=_("Two GPUs over NVLink, PCIe and a network card"),
    points=1,
    answer="two_gpus",
    expects=Entries(Choice(("faster", "slower"))),
    parameters=_jobs,
    reference=verdicts,
    withholds=WITHHELD,
    misconceptions=(
        Misconception(
            "tensor parallelism always helps",
            lambda **numbers: {"token, PCIe": "faster", "token, card": "faster"},
            _(
                "Two GPUs are not always faster. A token's messages are tiny, and every one of many sums still waits for two latencies."
            ),
        ),
        Misconception(
            "only NVLink helps",
            lambda **numbers: {"prompt, PCIe": "slower", "prompt, card": "slower"},
            _(
                "You take slow links for useless. A wide model computes long for each byte, and half of that outweighs the sums."
            ),
        ),
        Misconception(
            "small messages never pay",
            lambda **numbers: {"token, NVLink": "slower"},
            _(
                "Small messages cost latency. Where that is short enough, half of the reading saves more than the sums cost."
            ),
        ),
    ),
)
