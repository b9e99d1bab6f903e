"""Words: the names of algorithms, protocols and bottlenecks in the reader's language; JSON keeps the names."""

from course_lib.base.language import _

BOTTLENECKS = ("scale-up", "network", "latency", "none")
#: What the names of algorithms are put together from: `hierarchical-<inner>+<outer>`, each of these.
PARTS = ("ring", "tree", "binomial", "halving-doubling", "direct", "scatter", "in-network", "in-network tree", "sharp")
PARTS += ("hierarchical", "none")


def say_algorithm(name: str) -> str:
    """Return an algorithm's name in the reader's language, part by part where it is put together.

    >>> say_algorithm("hierarchical-direct+ring"), say_algorithm("in-network tree")
    ('hierarchical-direct+ring', 'in-network tree')
    """
    head = "hierarchical-"
    whole = _(name)
    if whole != name or not name.startswith(head):
        return whole
    return _("hierarchical") + "-" + "+".join(_(part) for part in name[len(head) :].split("+"))


def say_how(algorithm: str, protocol: str) -> str:
    """Return an algorithm with its protocol, which has no translation.

    >>> say_how("tree", "LL"), say_how("ring", "none")
    ('tree, LL', 'ring')
    """
    return say_algorithm(algorithm) if protocol == "none" else f"{say_algorithm(algorithm)}, {protocol}"
