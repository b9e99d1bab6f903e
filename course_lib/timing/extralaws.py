"""Laws of algorithms that are forced: the library's own where it has them, else counted on the schedule itself."""

from collections.abc import Sequence

from course_lib.base.errors import CourseError
from course_lib.base.language import _
from course_lib.timing import constants
from course_lib.timing.ideal import known
from course_lib.timing.laws import Law
from course_lib.timing.lines import lines
from course_lib.timing.system import System

_OWN = {"in-network": ("in-network", "in-network tree"), "direct": ("direct",), "ring": ("ring",), "tree": ("tree",)}


def forced_laws(
    op: str, algorithm: str, system: System, n: int, n_hosts: int, column: str, found: Sequence[Law]
) -> list[Law]:
    """Return the laws of one algorithm.

    What a library does not have is counted on its schedule: steps inside and across at the family's step times, bytes at the
    family's efficiencies, and the family's filling of a pipeline where the algorithm has one.

    >>> from course_lib.timing.system import load
    >>> from course_lib.timing.tuning import candidates
    >>> s = load("dgx-h100")
    >>> [law.protocol for law in forced_laws("all_reduce", "halving-doubling", s, 8, 1, "shipped", candidates("all_reduce", s, 8, 1))]
    ['LL', 'LL128', 'Simple']
    """
    name = known(op, algorithm, system, n, n_hosts)
    own = [law for law in found if law.algorithm in _OWN.get(algorithm, ())]
    if own:
        return own
    shallow, deep = lines(op, name, system, n, n_hosts)[0], lines(op, name, system, n, n_hosts)[-1]
    up = constants.load("up", system.scale_up.family, column)
    across = shallow.repeats[1] > 0
    net = constants.load("net", system.scale_out.family, column) if across else {}
    if across and not system.scale_out:
        raise CourseError(_("{name} has no network.").format(name=system.name))
    steps = up["step"] * shallow.fixed_s[0], net.get("net_ring", 0.0) * shallow.fixed_s[1]
    launch = (up["launch_us"] + net.get("net_launch_us", 0.0)) * 1e-6
    efficiency = up["nvls_eff"] if "in-network" in name else up["ring_eff"]
    if "in-network" in name:
        launch += up["nvls_us"] * 1e-6
    transfer = deep.per_byte_s[0] / efficiency, deep.per_byte_s[1] / net.get("net_eff", 1.0)
    kappa, bulk = (net["net_kappa"], net["net_bulk_latency"]) if across else (up["kappa"], up["bulk_latency"])
    rate = net["net_ll_rate"] if across else up["ll_rate"]
    little = kappa * (net["net_ll_kappa"] if across else up["ll_kappa"])
    worst = "network" if transfer[1] > transfer[0] else "scale-up"
    forms = [("LL", 1.0, rate, little), ("LL128", up["ll128_latency"], 120 / 128, kappa * up["ll128_kappa"])]
    forms = (
        [("Simple", bulk, 1.0, kappa)]
        if "in-network" in name or "sharp" in name
        else [*forms, ("Simple", bulk, 1.0, kappa)]
    )
    return [
        Law(
            name,
            protocol,
            {"launch": launch, "scale-up steps": steps[0] * stretch, "network steps": steps[1] * stretch},
            {"scale-up transfer": transfer[0] / part, "network transfer": transfer[1] / part},
            k,
            worst,
        )
        for protocol, stretch, part, k in forms
    ]
