"""Verdicts and causes that exercise A asks for, and what the wrong models share."""

VERDICTS = ("healthy", "finding", "cannot tell")

CAUSES = (
    "a link is down", "peer access is off", "peer copies are redirected", "the sweep is too short", "ranks never joined",
    "the network", "all-to-all is broken", "none",
)  # fmt: skip


def largest(log: str, column: int) -> float:
    """The number in a column of the last row of a table of nccl-tests."""
    rows = [line.split() for line in log.splitlines() if line.strip() and line.split()[0].isdigit()]
    return float(rows[-1][column])
