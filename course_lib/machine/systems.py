"""Systems: which built-in systems fit what was read; one where it is certain, candidates otherwise, nothing by guess."""

from functools import cache

from course_lib.machine.fabricof import shape_of
from course_lib.machine.gpunames import model_of
from course_lib.machine.topo import TopoMatrix
from course_lib.timing.system import load, names

# Boxes of one model: GPUs per host to systems.
_BOXES = {
    "A100 SXM": {8: ("dgx-a100",), 4: ("a100-quad", "dgx-a100"), 2: ("a100-quad", "dgx-a100")},
    "H100 SXM": {8: ("dgx-h100",), 4: ("h100-quad", "dgx-h100"), 2: ("h100-quad", "dgx-h100")},
    "V100 SXM": {8: ("dgx1-v100",), 16: ("dgx2",)},
    "P100 SXM": {8: ("dgx1-p100",)},
    "A100 PCIe": {2: ("a100-pcie-pair", "pcie4-box")},
    "H100 PCIe": {2: ("h100-pcie-pair", "pcie5-box")},
    "H100 NVL": {2: ("h100-pcie-pair",)},
    "GH200": {4: ("gh200-quad", "alps")},
}
# Cards of a box that stands under another card's name.
_CARDS = {
    "RTX 2080": "rtx2080ti-box",
    "RTX 3090": "rtx4090-box",
    "RTX 5090": "pcie5-box",
    "RTX PRO 6000": "pcie5-box",
}
# Matrices: (shape, GPUs, NVLinks of a pair) to systems.
_SHAPES = {
    ("switch", 8, 12): ("dgx-a100",),
    ("switch", 8, 8): ("hgx-h800",),
    ("switch", 16, 6): ("dgx2",),
    ("switch", 8, 18): ("dgx-h100", "dgx-h200", "dgx-b200", "dgx-b300"),
    ("switch", 4, 18): ("dgx-h100", "gb200-nvl72", "dgx-b200"),
    ("mesh", 4, 4): ("a100-quad",),
    ("mesh", 4, 6): ("h100-quad", "gh200-quad"),
}


@cache
def _first() -> dict[str, str]:
    """Return, by GPU, the first system of the table that is not one of several of its kind: `_BOXES` names those."""
    several = {model_of(gpu) for gpu in _BOXES}
    found = dict(_CARDS)
    for name in names():
        gpu = load(name).gpu
        if gpu not in several:
            found.setdefault(gpu.upper(), name)
    return found


def candidates(gpu: str | None, per_host: int | None, topo: TopoMatrix | None) -> tuple[str, ...]:
    """Return the built-in systems that fit a GPU's name, the GPUs used per host and a matrix; () where none is known to.

    >>> candidates("A100 SXM", 8, None), candidates("H100 SXM", 4, None), candidates(None, 8, None)
    (('dgx-a100',), ('h100-quad', 'dgx-h100'), ())
    """
    found: tuple[str, ...] = ()
    if gpu in _BOXES:
        found = _BOXES[gpu].get(per_host or 0, ())
    elif gpu is not None and gpu.endswith((" NVL", " PCIe")):
        found = ()  # cards with bridges, or none: no built-in system
    elif model_of(gpu) in _first():
        found = (_first()[model_of(gpu)],)
    elif gpu is not None:
        by_box = _BOXES.get(f"{gpu} SXM", {}).get(per_host or 0, ())
        found = by_box if topo is not None else ()
    if topo is None or not topo.complete:
        return found
    links = topo.nvlinks
    shape, _odd = shape_of(links)
    fits = _SHAPES.get((shape, len(topo.gpus), int(links.max(initial=0))), ())
    if shape == "partial mesh" and len(topo.gpus) == 8 and int(links.sum(1).max()) == 6:
        fits = ("dgx1-v100",)
    if gpu is None:
        return fits
    if shape == "pcie":
        return tuple(name for name in found if load(name).scale_up.kind == "pcie")
    both = tuple(name for name in found if name in fits)
    kinds = {"mesh": "mesh", "partial mesh": "mesh", "switch": "switch"}
    if not both and shape in kinds:
        both = tuple(name for name in found if load(name).scale_up.kind == kinds[shape])
    return both or found
