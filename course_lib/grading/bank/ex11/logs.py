"""The four logs of exercise 11: short, synthetic, with each learner's own numbers; and what each of them tells."""

from collections.abc import Mapping

import numpy as np

FAULTS = (
    "a card is missing",
    "staged in host memory",
    "packets are lost",
    "flows collide",
    "too few uplinks",
    "a slow NVLink",
)


def _cards(host: str, missing: int | None = None, kind: str = "IB") -> str:
    names = [i for i in range(8) if i != missing]
    listed = " ".join(f"[{k}]mlx5_{i}:1/{kind}" for k, i in enumerate(names))
    return f"{host} NCCL INFO NET/IB : Using {listed}"


def _channels(host: str, n: int, rdma: bool) -> list[str]:
    end = "/GDRDMA" if rdma else ""
    return [
        f"{host} NCCL INFO Channel 0{c}/0 : {c}[{c}] -> {8 + c}[{c}] [send] via NET/IB/{c % n}{end}" for c in range(3)
    ]


def _result(busbw_GBps: float, n_ranks: int = 16, size: int = 1 << 32) -> list[str]:
    time_us = 2 * (n_ranks - 1) / n_ranks * size / (busbw_GBps * 1e3)
    head = "#       size         time    algbw    busbw   (two hosts of eight H100, eight cards of 400 Gb/s each)"
    return [head, f"  {size}  {time_us:9.0f}  {size / time_us / 1e3:7.2f}  {busbw_GBps:7.2f}"]


def four_logs(rng: np.random.Generator) -> dict[str, str]:
    """Return four logs, named A to D, one for each of the first four faults, in an order and with numbers drawn from `rng`.

    >>> logs = four_logs(np.random.default_rng(0))
    >>> sorted(told(text) for text in logs.values()) == sorted(FAULTS[:4])
    True
    """
    host = f"host{int(rng.integers(10, 99))}"
    lost = int(rng.integers(8))
    missing = [_cards(host, lost), *_channels(host, 7, True), *_result(float(rng.uniform(205, 225)))]
    staged = [_cards(host), *_channels(host, 8, False), *_result(float(rng.uniform(95, 125)))]
    seq, timeout = int(rng.integers(20_000, 90_000)), int(rng.integers(30, 300))
    loss = [
        _cards(host, kind="RoCE"),
        *_channels(host, 8, True),
        *_result(float(rng.uniform(60, 140))),
        "counters of mlx5_2 over the run    before      after",
        f"  out_of_sequence                    117    {117 + seq:7d}",
        f"  packet_seq_err                     104    {104 + seq - int(rng.integers(5, 500)):7d}",
        f"  local_ack_timeout_err                0    {timeout:7d}",
        "  rx_prio3_pause                        0          0",
        "  uplinks of the leaf, GB/s: " + " ".join(f"{v:.0f}" for v in rng.uniform(9, 17, 8)),
    ]
    uplinks = rng.permutation(np.array([50, 50, 50, 25, 25, 0, 0, 0]))
    collide = [
        _cards(host, kind="RoCE"),
        *_channels(host, 8, True),
        *_result(float(rng.uniform(150, 190))),
        "counters of mlx5_2 over the run    before      after",
        "  out_of_sequence                    117        117",
        "  packet_seq_err                     104        104",
        "  local_ack_timeout_err                0          0",
        f"  rx_prio3_pause                       0    {int(rng.integers(40_000, 900_000)):7d}",
        "  uplinks of the leaf, GB/s: " + " ".join(f"{v - (0.4 if v else 0):.1f}" for v in uplinks),
    ]
    logs = ["\n".join(lines) for lines in (missing, staged, loss, collide)]
    return {"ABCD"[place]: logs[k] for place, k in enumerate(rng.permutation(4).tolist())}


def told(log: str) -> str:
    """Return the fault that a log of this exercise tells.

    >>> told("… via NET/IB/0")
    'staged in host memory'
    """
    counters = _counters(log)
    if counters.get("local_ack_timeout_err", 0) > 0:
        return FAULTS[2]
    if counters:
        return FAULTS[3]
    return FAULTS[0] if "/GDRDMA" in log else FAULTS[1]


def _counters(log: str) -> Mapping[str, int]:
    """Return by how much each counter rose."""
    rows = [line.split() for line in log.splitlines()]
    return {r[0]: int(r[2]) - int(r[1]) for r in rows if len(r) == 3 and r[1].isdigit() and r[2].isdigit()}
