"""Tables of links between the GPUs that exercise 03 asks about."""

from itertools import combinations

import numpy as np

LINK_GBps, PCIE_GBps = 25.0, 15.75


def link_table(n: int, pairs) -> list[list[int]]:
    """Return a symmetric table of links from (a, b, links)."""
    links = np.zeros((n, n), int)
    for a, b, count in pairs:
        links[a, b] = links[b, a] = count
    return links.tolist()


def renumbered(rng: np.random.Generator, links: list[list[int]]) -> list[list[int]]:
    """Return the same machine with its GPUs numbered in another order."""
    order = rng.permutation(len(links))
    return np.array(links)[np.ix_(order, order)].tolist()


def some_links(rng: np.random.Generator, n: int, most: int) -> list[list[int]]:
    """Return a machine of n GPUs with 0 to `most` links a pair, each as likely."""
    return link_table(n, [(a, b, int(rng.integers(0, most + 1))) for a, b in combinations(range(n), 2)])
