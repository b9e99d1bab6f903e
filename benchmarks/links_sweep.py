"""Speed of a sweep of a million (link, size) pairs, beside the loop a user would write. Run: python benchmarks/links_sweep.py"""

import time

import numpy as np

from course_lib.links.alphabeta import rate_Bps, time_s
from course_lib.links.calibrate import fit, mystery_link
from course_lib.links.linerate import names, parameters, payload_Bps

PAIRS = 1_000_000


def best_of(runs, function):
    times = []
    for _run in range(runs):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def main():
    links = names()
    start = time.perf_counter()
    latency_s, bandwidth_Bps = parameters(links)
    print(f"{len(links)} links read and built: {1e3 * (time.perf_counter() - start):.1f} ms")
    sizes = np.logspace(0, 10, PAIRS // len(links))
    pairs = sizes.size * len(links)
    taken, swept = best_of(7, lambda: time_s(sizes, latency_s[:, None], bandwidth_Bps[:, None]))
    print(f"time_s over {pairs:,} pairs:   {1e3 * taken:7.1f} ms   (wanted: under 100)")
    taken, _rates = best_of(7, lambda: rate_Bps(sizes, latency_s[:, None], bandwidth_Bps[:, None]))
    print(f"rate_Bps over {pairs:,} pairs: {1e3 * taken:7.1f} ms")

    def loop():
        return [[a + m / b for m in sizes.tolist()] for a, b in zip(latency_s.tolist(), bandwidth_Bps.tolist())]

    taken, looped = best_of(2, loop)
    print(f"the same in a Python loop:      {1e3 * taken:7.1f} ms")
    print(f"largest difference: {np.abs(np.array(looped) / swept - 1).max():.1e}")
    taken, _rates = best_of(7, lambda: payload_Bps("pcie5", max_payload_B=np.full(PAIRS, 256)))
    print(f"payload_Bps of {PAIRS:,} settings: {1e3 * taken:5.1f} ms")
    link = mystery_link(0)
    taken, _fit = best_of(50, lambda: fit(link.message_B, link.time_s))
    print(f"one fit: {1e6 * taken:.0f} µs")


if __name__ == "__main__":
    main()
