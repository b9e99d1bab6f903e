"""The ideal time: α–β of the system alone, each algorithm stepped on its machine at the best pipeline depth."""

import functools

import numpy as np

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.comm import registry
from course_lib.timing.beyond import SHARDED
from course_lib.timing.laws import Law
from course_lib.timing.lines import MOST_QUICK, halves, lines, overlapped, several
from course_lib.timing.onedepth import CUBE, MOST_PRICED, domains_and_ranks
from course_lib.timing.system import System

NONE = "none"


def algorithms(op: str, system: System, n: int, n_hosts: int) -> list[str]:
    """Return the algorithms that an ideal time chooses from on these ranks.

    >>> from course_lib.timing.system import load
    >>> algorithms("all_reduce", load("dgx-a100"), 8, 1)
    ['ring', 'tree', 'binomial', 'halving-doubling', 'direct']
    """
    domains, k = domains_and_ranks(system, n, n_hosts)
    adds_up, adds_out = (
        system.scale_up.in_network_reduction,
        bool(system.scale_out and system.scale_out.in_network_reduction),
    )
    flat = [a for a in registry.algorithms(op, hierarchical=False) if a not in ("in-network", "sharp")]
    if domains == 1:
        return flat + (["in-network"] if adds_up and "in-network" in registry.algorithms(op) else [])
    if adds_out and op == "all_reduce" and n % domains == 0:
        flat.append("sharp" if k == 1 else "hierarchical-sharp")
    inner = "direct+" if system.scale_up.kind == "mesh" and system.scale_up.family != CUBE else ""
    if op == "all_reduce" and k > 1 and n % domains == 0:
        flat += [f"hierarchical-{inner}{outer}" for outer in ("ring", "tree", "halving-doubling")]
        if adds_up:
            flat += ["hierarchical-in-network+ring", "hierarchical-in-network+tree"]
            flat += ["hierarchical-in-network+sharp"] if adds_out else []
    if op in ("reduce_scatter", "all_gather") and k > 1 and n % domains == 0 and n <= MOST_PRICED:
        flat += [f"hierarchical-{inner}{outer}" for outer in ("ring", "halving-doubling", "direct")]
    if k > 1 and n % domains == 0 and n <= MOST_PRICED:
        if op in ("broadcast", "reduce"):
            flat += ["hierarchical-scatter+ring", "hierarchical-scatter+tree"]
        elif op in ("scatter", "gather"):
            flat.append("hierarchical-direct")
    if n > MOST_PRICED and op in ("broadcast", "reduce"):
        flat.remove("ring")  # a chain of so many takes minutes to step and is never the quickest
    if n > MOST_QUICK:
        if op == "all_reduce" and k > 1 and n % domains == 0:
            flat = [a for a in flat if a in SHARDED or "sharp" in a]
        elif n & (n - 1) and "halving-doubling" in flat:
            flat.remove("halving-doubling")  # two whole messages more than the others, and minutes to build
    return flat


@functools.lru_cache(maxsize=64)
def ideal_laws(op: str, system: System, n: int, n_hosts: int, algorithm: str | None) -> tuple[list[Law], np.ndarray]:
    """Return laws without fitted constants, and the pipeline depth of each, for one algorithm or for all that fit.

    >>> from course_lib.timing.system import load
    >>> laws, pieces = ideal_laws("all_reduce", load("dgx-h100"), 8, 1, "ring")
    >>> [round(x * 1e6, 3) for x in laws[0].fixed_s.values()]
    [14.0, 0.0]
    """
    names = algorithms(op, system, n, n_hosts) if algorithm is None else [known(op, algorithm, system, n, n_hosts)]
    laws, pieces = [], []
    for name in names:
        try:
            found = lines(op, name, system, n, n_hosts)
            if name.startswith("hierarchical-"):  # its parts use different links
                found += overlapped(op, name, system, n, n_hosts)
            elif name == "ring":
                found += several(op, system, n, n_hosts)
            elif name == "direct" and op in ("broadcast", "reduce"):
                found += halves(op, system, n, n_hosts)
        except CourseError:
            if algorithm is not None or len(names) == 1:
                raise
            continue
        for one in found:
            fixed = dict(zip(("scale-up steps", "network steps"), one.fixed_s, strict=True))
            per_byte = dict(zip(("scale-up transfer", "network transfer"), one.per_byte_s, strict=True))
            worst = "network" if one.per_byte_s[1] > one.per_byte_s[0] else "scale-up"
            laws.append(Law(name, NONE, fixed, per_byte, 0.0, worst))
            pieces.append(one.pieces)
    return laws, np.array(pieces)


def known(op: str, algorithm: str, system: System, n: int, n_hosts: int) -> str:
    """Return an algorithm's name as it runs here, or say in words why it cannot.

    >>> from course_lib.timing.system import load
    >>> known("all_reduce", "in-network", load("dgx-h100"), 16, 2)
    'hierarchical-in-network+tree'
    """
    domains, _k = domains_and_ranks(system, n, n_hosts)
    up, out = system.scale_up, system.scale_out
    if algorithm == "in-network" and domains > 1:
        if out.in_network_reduction:
            return (
                "sharp"
                if _k == 1
                else "hierarchical-sharp"
                if not up.in_network_reduction
                else "hierarchical-in-network+sharp"
            )
        if not up.in_network_reduction:
            raise CourseError(_("No switch of {name} adds.").format(name=system.name))
        return "hierarchical-in-network+tree" if _k > 1 else "tree"
    inner, _plus, outer = algorithm.removeprefix("hierarchical-").rpartition("+")
    if algorithm.startswith("hierarchical-") and outer == "in-network":  # between domains it is the network that adds
        algorithm = f"hierarchical-{inner}+sharp" if inner else "hierarchical-sharp"
    if "in-network" in algorithm and not up.in_network_reduction:
        raise CourseError(
            _("The scale-up switches of {name} do not add; in-network needs some that do.").format(name=system.name)
        )
    if "sharp" in algorithm and not (domains > 1 and out.in_network_reduction):
        raise CourseError(_("The network of {name} does not add here.").format(name=system.name))
    if algorithm.startswith("hierarchical-") and domains == 1:
        raise CourseError(
            _("{algorithm} needs two domains or more; these {n} ranks are all in one.").format(algorithm=algorithm, n=n)
        )
    return algorithm
