"""Lesson 12: one step term by term, its memory, and the same in boxes and in racks."""

from functools import lru_cache

from course_lib.base.language import _
from course_lib.base.scale import say_rate, say_time
from course_lib.explorers.lesson12.job import BATCH, MODEL, PLAN, SEQUENCES, SYSTEM
from course_lib.figures import planning
from course_lib.plan import picked
from course_lib.plan.picked import GROUPS, Picked, grouped
from course_lib.plan.steptime import Step, step

GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}


@lru_cache(maxsize=64)
def plan_step(**change: object) -> Step:
    """Return a step of GPT-3 on 1,024 A100 with the lesson's plan, some settings changed.

    >>> plan_step(interleave=3).step_s < plan_step().step_s
    True
    """
    return step(MODEL, SYSTEM, gpus=1024, global_batch=BATCH, **(PLAN | change))


def terms_picture(**change: object):
    """Return the terms of that step as bars.

    >>> terms_picture().layout.title.text.startswith("Matrix products take")
    True
    """
    return planning.terms(plan_step(**change).terms, groups=GROUP_OF)


def crossings(found: Step) -> list[str]:
    """Return what every kind of group of a step crosses, one line each.

    >>> crossings(plan_step())[0]
    'tensor: 8 ranks, switch inside a host, 300 GB/s for each GPU'
    """
    return [
        _("{axis}: {n} ranks, {link}, {rate} for each GPU").format(
            axis=_(s.axis), n=s.n_ranks, link=s.link, rate=say_rate(s.bandwidth_Bps)
        )
        for s in found.spans
    ]


def exposed_s(found: Step) -> float:
    """Return the seconds of communication that nothing hides.

    >>> 0 < exposed_s(plan_step()) < plan_step().step_s
    True
    """
    return float(grouped(found.terms)["exposed communication"])


def memory_lines() -> list[str]:
    """Return what the fullest GPU holds under plans of GPT-3 on 1,024 A100 that differ in one setting.

    >>> lines = memory_lines()
    >>> len(lines), "weights" in lines[0]
    (6, True)
    """
    changes = {
        _("as above"): {},
        _("ZeRO-0"): {"zero": 0},
        _("ZeRO-3"): {"zero": 3, "software": "megatron"},
        _("TP 4"): {"tensor": 4},
        _("PP 16"): {"pipeline": 16},
        _("recompute all"): {"recompute": "full"},
    }
    lines = []
    for name, change in changes.items():
        found = plan_step(**({"recompute": "selective", "check_memory": False} | change))
        parts = ", ".join(f"{_(k)} {v / 1e9:.1f}" for k, v in found.memory.items() if v > 5e8)
        lines.append(
            _("{name}: {total} GB ({parts}), {t} a step").format(
                name=name, total=f"{found.memory_B / 1e9:.0f}", parts=parts, t=say_time(found.step_s)
            )
        )
    return lines


@lru_cache(maxsize=1)
def box_and_rack() -> tuple[Picked, Picked]:
    """Return Llama 3 405B on 1,024 GPUs at every tensor degree, on H100 in boxes and on GB200 in racks, layers recomputed.

    >>> box, rack = box_and_rack()
    >>> bool(box.step_s[4] / box.step_s[3] > 1.1)
    True
    """
    common = {"pipeline": 8, "global_batch": SEQUENCES, "recompute": "full"}
    return tuple(picked.over_tensor("llama3-405b", s, 1024, **common) for s in ("dgx-h100", "gb200-nvl72"))


def box_and_rack_lines() -> list[str]:
    """Return their exposed communication, from TP 8 to TP 16.

    >>> len(box_and_rack_lines())
    2
    """
    lines = []
    for name, f in zip((_("H100, boxes of 8"), _("GB200, racks of 72")), box_and_rack(), strict=True):
        i, j = f.at(8), f.at(16)
        talk = f.groups["exposed communication"]
        lines.append(
            _("{name}: TP 8 {a} a step, {b} of it exposed communication; TP 16 {c} and {d}").format(
                name=name,
                a=say_time(float(f.step_s[i])),
                b=say_time(float(talk[i])),
                c=say_time(float(f.step_s[j])),
                d=say_time(float(talk[j])),
            )
        )
    return lines
