"""Example logs of lesson A in the tools' shapes, most with a planted fault, and one real measurement."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from course_lib.base.errors import one_of
from course_lib.base.language import _
from course_lib.machine import writelog
from course_lib.machine.measuring.run import Measurement, from_data
from course_lib.timing.tuning import predict

MEASURED = Path(__file__).parent / "measuring" / "four_processes.json"


@dataclass(frozen=True, slots=True)
class Example:
    """A log to look at: a title that does not give away the answer, how it is made, and the system it is judged as, if told."""

    title: str
    write: Callable[[], str]
    system: str | None = None


def _noisy(seed: int, values, spread: float = 0.015):
    return np.asarray(values, float) * np.exp(np.random.default_rng(seed).normal(0, spread, np.shape(values)))


def _sizes(first: int, last: int) -> np.ndarray:
    return 2.0 ** np.arange(first, last + 1)


def _healthy() -> str:
    sizes = _sizes(3, 33)
    times = predict("all_reduce", sizes, "dgx-h100", 8).time_s
    return writelog.nccl_tests("all_reduce", sizes, _noisy(1, times), 8, "NVIDIA H100 80GB HBM3")


def _through_the_host() -> str:
    sizes = _sizes(10, 33)
    times = 55e-6 + sizes * 1.75 / 21.4e9
    debug = ["node-1:4100:4188 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1."]
    debug += [
        f"node-1:41{i}0:4188 [{i}] NCCL INFO Channel 00 : {i}[{i}] -> {i + 1}[{i + 1}] via SHM/direct/direct"
        for i in range(2)
    ]
    return writelog.nccl_tests("all_reduce", sizes, _noisy(2, times), 8, "NVIDIA H100 80GB HBM3", debug=debug)


def _short_sweep() -> str:
    sizes = _sizes(10, 26)
    times = predict("all_reduce", sizes, "dgx-a100", 8).time_s
    return writelog.nccl_tests(
        "all_reduce", sizes, _noisy(3, times), 8, "NVIDIA A100-SXM4-80GB", prefix="[1,0]<stdout>:"
    )


def _alone() -> str:
    sizes = _sizes(20, 27)
    times = 9e-6 + sizes * 2 / 1.3e12
    return writelog.nccl_tests("all_reduce", sizes, _noisy(4, times, 0.2), 4, "NVIDIA H100 80GB HBM3", alone=True)


def _lossy() -> str:
    sizes = _sizes(16, 31)
    times = np.array(predict("all_reduce", sizes, "dgx-h100", 32).time_s)
    times[(sizes >= 2**26) & (sizes <= 2**28)] *= np.array([7.5, 19.0, 6.0])
    return writelog.nccl_tests("all_reduce", sizes, _noisy(5, times), 32, "NVIDIA H100 80GB HBM3", per_host=8)


def _peers() -> str:
    n = 4
    off, on = np.full((n, n), 19.6), np.full((n, n), 2.4)
    off[:2, :2] = off[2:, 2:] = 14.1
    for matrix in (off, on):
        np.fill_diagonal(matrix, 671.0)
    return writelog.peer_test("NVIDIA RTX A6000", _noisy(6, off), _noisy(7, on, 0.08))


def _links() -> str:
    words = [["X" if a == b else "NV18" for b in range(8)] for a in range(8)]
    return writelog.topo_matrix(words, ansi=True)


def _one_slow() -> str:
    values = _noisy(8, np.full((8, 8), 391.0), 0.002)
    values[5, :] *= 14 / 18
    values[:, 5] *= 14 / 18
    np.fill_diagonal(values, np.nan)
    return writelog.copy_matrix(values)


def _permissions() -> str:
    names = "\t".join(f"GPU{i}" for i in range(4))
    rows = [
        "\t".join([f" GPU{a}", *("X" if a == b else "OK" if a // 2 == b // 2 else "NS" for b in range(4))])
        for a in range(4)
    ]
    legend = (
        "\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n  CNS  = Chipset not supported\n  NS   = Not supported\n"
    )
    return "\t" + names + "\n" + "\n".join(rows) + legend


EXAMPLES: dict[str, Example] = {
    "box": Example(_("nccl-tests, 8 × H100, 8 B to 8 GiB"), _healthy),
    "slow-box": Example(_("nccl-tests, 8 × H100, another box"), _through_the_host),
    "short": Example(_("nccl-tests, 8 × A100, up to 64 MiB"), _short_sweep, "dgx-a100"),
    "cluster": Example(_("nccl-tests, 4 hosts of 8 × H100"), _lossy, "dgx-h100"),
    "four-tables": Example(_("nccl-tests, 4 × H100, very fast"), _alone),
    "peers": Example(_("p2pBandwidthLatencyTest, 4 × A6000"), _peers),
    "copies": Example(_("nvbandwidth, 8 GPUs"), _one_slow),
    "matrix": Example(_("nvidia-smi topo -m, 8 GPUs"), _links),
    "permissions": Example(_("nvidia-smi topo -p2p r, 4 GPUs"), _permissions),
}


@cache
def text(name: str) -> str:
    """Return an example log.

    >>> text("peers").splitlines()[0]
    '[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]'
    """
    return EXAMPLES[one_of(_("example log"), name, EXAMPLES)].write()


@cache
def measurement() -> Measurement:
    """Return the measurement that comes with the course: four processes on a computer of two cores, five algorithms.

    >>> measurement().n_ranks, measurement().cores
    (4, 2)
    """
    return from_data(json.loads(MEASURED.read_text(encoding="utf-8")))
