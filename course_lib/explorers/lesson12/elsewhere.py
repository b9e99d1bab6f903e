"""Lesson 12: how clusters are joined above the box, from the table of hardware."""

from course_lib.base import hardware
from course_lib.base.language import _
from course_lib.base.scale import say_number, say_rate


def other_ways() -> list[str]:
    """Return how clusters are joined above the box, from the table of hardware.

    >>> len(other_ways())
    5
    """
    v = hardware.value

    def n(item: str, field: str) -> str:
        return say_number(v(item, field))

    return [
        _("DGX SuperPOD H100, one unit: {n} GPUs in boxes of 8, {k} cards of {rate} a box").format(
            n=n("superpod-h100", "gpus"), k=n("dgx-h100", "nics_per_host"), rate=say_rate(v("ib-ndr", "line_Bps"))
        ),
        _("Research SuperCluster: NVLink in boxes of 8, {rate} InfiniBand ports between them").format(
            rate=say_rate(v("ib-hdr", "line_Bps"))
        ),
        _("NVLink switch system: {n} H100 over several racks, tapered {t} : 1 above the boxes").format(
            n=n("nvlink-switch-system", "gpus"), t=n("nvlink-switch-system", "taper")
        ),
        _(
            "DGX SuperPOD GB200, one unit: {n} GPUs in racks of {k}, NVLink inside a rack, InfiniBand or Ethernet between"
        ).format(n=n("superpod-gb200", "gpus"), k=n("gb200-nvl72", "gpus")),
        _(
            "TPU v4: {n} chips in a torus of {d} dimensions, {k} links of {rate} a chip; v5e: {m} in {e} dimensions"
        ).format(
            n=n("ici-v4", "pod_chips"),
            d=n("ici-v4", "torus_dimensions"),
            k=n("ici-v4", "links"),
            rate=say_rate(v("ici-v4", "link_Bps")),
            m=n("ici-v5e", "pod_chips"),
            e=n("ici-v5e", "torus_dimensions"),
        ),
    ]


def wiring() -> str:
    """Return how the GPUs of a DGX H100 are wired.

    >>> wiring()
    '18 NVLinks of each H100 lead to 4 switch chips, none to another GPU'
    """
    return _("{n} NVLinks of each H100 lead to {k} switch chips, none to another GPU").format(
        n=say_number(hardware.value("nvlink4", "links")), k=say_number(hardware.value("dgx-h100", "switches"))
    )
