"""Lesson 11: what networks cost in switches and cables, published designs, and where numbers come from."""

from course_lib.base.language import _
from course_lib.fabric.bill import bill, published
from course_lib.timing.acrossboxes import runs, two_boxes


def bills(n_gpus: int = 8192, ratios: tuple = (1, 2, 3, 7)) -> list[str]:
    """Return what a network costs in switches and cables at several ratios, a line each.

    >>> bills(4096, (1,))[0]
    '1:1: 320 switches (128 + 128 + 64), 12,288 cables'
    """
    found = [bill(n_gpus, oversubscription=r) for r in ratios]
    return [
        _("{r}:1: {n} switches ({a} + {b} + {c}), {m} cables").format(
            r=r, n=b.n_switches, a=b.n_leaves, b=b.n_spines, c=b.n_cores, m=f"{b.n_cables:,}"
        )
        for r, b in zip(ratios, found, strict=True)
    ]


def reference_designs() -> list[str]:
    """Return the published designs beside the bill, a line each.

    >>> all("as published" in line for line in reference_designs())
    True
    """
    return [
        _("{n} GPUs: {a} leaves, {b} spines, {c} cores; {verdict}").format(
            n=f"{p.bill.n_gpus:,}",
            a=p.bill.n_leaves,
            b=p.bill.n_spines,
            c=p.bill.n_cores,
            verdict=_("as published") if p.agrees else _("published: {said}").format(said=p.switches),
        )
        for p in published()
    ]


def sources_of_runs() -> list[str]:
    """Return title and address of the runs over boxes.

    >>> len(sources_of_runs())
    4
    """
    known = [f"{r.title}, {r.settings}: {r.address}" for r in runs().values()]
    return [*known, _("Two boxes: {address}").format(address=two_boxes()[1])]
