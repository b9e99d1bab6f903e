"""Lesson 12: all legal plans of a model on a system."""

from functools import lru_cache

from course_lib.base.language import _
from course_lib.explorers.lesson12.job import SYSTEM
from course_lib.figures.searched import all_plans
from course_lib.plan.search import Found, search


@lru_cache(maxsize=4)
def plans(name: str = "megatron-1t", system: str = SYSTEM, gpus: int = 4096, global_batch: int = 2048) -> Found:
    """Return every legal plan of a model on a system, priced.

    >>> plans("llama3-8b", "dgx-h100", 8, 64).n_fit > 50
    True
    """
    return search(name, system, gpus, global_batch=global_batch)


def plan_name(row: dict) -> str:
    """Return a plan in short.

    >>> plan_name({"tensor": 8, "pipeline": 4, "data": 2, "expert": 1, "interleave": 3, "micro_batch": 1, "recompute": "none", "zero": 1})
    'TP 8 × PP 4 × DP 2, chunks 3, micro-batch 1, recompute none, ZeRO-1'
    """
    words = f"TP {row['tensor']} × PP {row['pipeline']} × DP {row['data']}"
    if row["expert"] > 1:
        words += f" × EP {row['expert']}"
    return _("{words}, chunks {v}, micro-batch {b}, recompute {r}, ZeRO-{z}").format(
        words=words, v=row["interleave"], b=row["micro_batch"], r=row["recompute"], z=row["zero"]
    )


def plans_picture(found: Found):
    """Return all plans that fit, and those that nothing beats.

    >>> len(plans_picture(plans("llama3-8b", "dgx-h100", 8, 64)).data)
    3
    """
    n, front = found.n_fit, found.frontier
    names = [plan_name(found.row(int(i))) for i in front]
    return all_plans(
        found.table["step_s"][:n], found.table["memory_B"][:n], front, names, found.capacity_B, n_plans=found.n_plans
    )
