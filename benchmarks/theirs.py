"""What mlsysim answers; run by the Python of its own environment, a question a line in, an answer a line out.

Its formulas take one message at a time, so that a sweep is a loop. Nothing of ours is imported here.
"""

import contextlib
import io
import json
import resource
import sys
import time


def collectives(asks: list[dict]) -> list[dict]:
    """Return for each ask (sizes, ranks, domains, rates and latencies) the seconds of each size by each formula, and of the sweep."""
    import pint
    from mlsysim.physics import communication as c

    u = pint.get_application_registry()
    told = []
    for ask in asks:
        n, domains = ask["n"], ask["domains"]
        inside, across = ask["bandwidth_Bps"] * u.byte / u.second, ask["net_bandwidth_Bps"] * u.byte / u.second
        wait, far = ask["latency_s"] * u.second, ask["net_latency_s"] * u.second
        each = n // domains
        calls = {
            "ring": lambda m: c.calc_ring_allreduce_time(m, n, inside, wait),  # noqa: B023
            "double tree": lambda m: c.calc_double_binary_tree_allreduce_time(m, n, inside, wait),  # noqa: B023
            "hierarchical": lambda m: c.calc_hierarchical_allreduce_time(m, domains, each, inside, across, wait, far),  # noqa: B023
        }
        begin, cpu = time.perf_counter(), time.process_time()
        found = {
            name: [calls[name](m * u.byte).to("second").magnitude for m in ask["sizes"]] for name in ask["formulas"]
        }
        told.append({"wall_s": time.perf_counter() - begin, "cpu_s": time.process_time() - cpu, "time_s": found})
    return told


def _nodes():
    from mlsysim.systems import Systems

    return {
        "dgx-a100": (Systems.Nodes.DGX_A100, Systems.Fabrics.InfiniBand_HDR),
        "dgx-h100": (Systems.Nodes.DGX_H100, Systems.Fabrics.InfiniBand_NDR),
    }


def _workload(p: dict):
    from mlsysim.core.units import ureg
    from mlsysim.models.types import TransformerWorkload

    return TransformerWorkload(
        name="m",
        architecture="Transformer",
        parameters=p["parameters"] * ureg.count,
        layers=p["layers"],
        hidden_dim=p["hidden"],
        heads=p["heads"],
        kv_heads=p["kv_heads"],
        vocab_size=p["vocab"],
    )


def _fleet(p: dict):
    from mlsysim.systems.types import Fleet

    node, fabric = _nodes()[p["system"]]
    return Fleet(name="f", node=node, count=max(1, -(-p["gpus"] // 8)), fabric=fabric)


def _step_s(solver, p: dict, efficiency: float) -> float:
    made = solver.solve(
        _workload(p),
        _fleet(p),
        batch_size=p["batch"],
        efficiency=efficiency,
        tp_size=p["tensor"],
        pp_size=p["pipeline"],
        v_stages=p["interleave"],
        microbatch_count=p["n_micro"],
        zero_stage=p["zero"],
        seq_len=p["seq"],
        activation_recomputation=p["recompute"] == "full",
        overlap_comm=True,
    )
    return float(made.step_latency_total.to("s").magnitude)


def steps(ask: dict) -> dict:
    """Return the step times of plans at each efficiency (None where it refuses), and the processor seconds of plan `one`."""
    from mlsysim.engine.solvers.distributed import DistributedModel

    solver, found, taken = DistributedModel(), {}, []
    for efficiency in ask["efficiencies"]:
        row = []
        for p in ask["plans"]:
            try:
                row.append(_step_s(solver, p, efficiency))
            except Exception:
                row.append(None)
        found[str(efficiency)] = row
    for _again in range(20):
        begin = time.process_time()
        _step_s(solver, ask["one"], 0.5)
        taken.append(time.process_time() - begin)
    return {"step_s": found, "one_s": min(taken)}


def search(ask: dict) -> dict:
    """Return what its search of plans finds, how many plans it priced, and its processor seconds."""
    from mlsysim.engine.solvers.distributed import ParallelismOptimizer

    work, fleet = _workload(ask), _fleet(ask)
    told = []
    for recompute in (False, True):
        begin = time.process_time()
        try:
            made = ParallelismOptimizer().solve(
                work,
                fleet,
                batch_size=ask["batch"],
                efficiency=ask["efficiency"],
                seq_len=ask["seq"],
                activation_recomputation=recompute,
            )
            best = {"plan": made.best_config, "step_s": float(made.best_step_time.to("s").magnitude)}
            best["n_plans"] = made.total_searched
        except ValueError:
            best = {"plan": None, "step_s": None, "n_plans": 0}
        told.append(best | {"recompute": recompute, "cpu_s": time.process_time() - begin})
    return {"searches": told}


def main() -> None:
    """Answer a question a line, until there are no more."""
    begin, cpu = time.perf_counter(), time.process_time()
    out = sys.stdout
    with contextlib.redirect_stdout(io.StringIO()):
        import mlsysim
        import mlsysim.physics  # noqa: F401

        imported = {"wall_s": time.perf_counter() - begin, "cpu_s": time.process_time() - cpu}
        unit_B = 1 if sys.platform == "darwin" else 1024
        for line in sys.stdin:
            asked = json.loads(line)
            answer = {"collectives": collectives, "steps": steps, "search": search}[asked["kind"]](asked["ask"])
            peak_MB = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit_B / 1e6
            out.write(json.dumps({"answer": answer, "peak_MB": peak_MB, "import": imported}) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
