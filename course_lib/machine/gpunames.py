"""GPU names: the models that outputs name, reduced to a few known words, so that no other text of a log is repeated."""

import re
from functools import cache

from course_lib.base import hardware
from course_lib.base.hardware import value
from course_lib.fabric.rates import nvlink_Bps

# Models that the table of hardware does not carry, with the NVLink and PCIe generations of those that are known here.
_OTHERS = (
    "B100",
    "H800",
    "H20",
    "A800",
    "V100S",
    "L40S",
    "L40",
    "L20",
    "L4",
    "A40",
    "A30",
    "A16",
    "A10G?",
    "T4",
    "GB10",
)
_OTHERS += ("MI355X", "MI350X", "MI325X", "MI300A", "MI250X?", "MI210", "MI100")
_NVLINK = {"V100S": 2, "A800": 3, "H800": 4, "H20": 4, "B100": 5}
_PCIE = {"A800": 4, "H800": 5, "H20": 5, "B300": 5}
_CARDS = (
    (r"\bRTX\s*PRO\s*6000\b", "RTX PRO 6000"),
    (r"\bRTX\s*6000\s*Ada\b", "RTX 6000 Ada"),
    (r"\bRTX\s*A?(?:2000|4000|4500|5000|5500|6000|8000)\b", None),
    (r"\bRTX\s*[2345]0[5-9]0\b", None),
)


@cache
def _models() -> tuple[tuple[re.Pattern, str | None], ...]:
    """Return what to search for, and the model that is meant: GPUs of the table under their own names, then the others."""
    words = (*(name.upper() for name in hardware.items("gpu")), *_OTHERS)
    found = (*((rf"\b{word}\b", word) for word in words), *_CARDS)
    return tuple((re.compile(pattern, re.IGNORECASE), name) for pattern, name in found)


@cache
def _generations(field: str, prefix: str, rate: str) -> dict[str, int]:
    """Return the generation of a link by GPU, read off the link's name, where the table has its rate."""
    found = {}
    for name in hardware.items("gpu"):
        link = hardware.record(name).get(field, "")
        if link.removeprefix(prefix).isdigit() and rate in hardware.record(link):
            found[name.upper()] = int(link.removeprefix(prefix))
    return found


def nvlink_generation(gpu: str | None) -> int | None:
    """Return the NVLink generation of a known GPU, or None.

    >>> nvlink_generation("H100 SXM"), nvlink_generation("L40S") is None
    (4, True)
    """
    model = model_of(gpu)
    return _NVLINK.get(model) or _generations("scale_up", "nvlink", "link_Bps").get(model)


def pcie_generation(gpu: str | None) -> int | None:
    """Return the PCIe generation of the slot that a known GPU is made for, or None.

    >>> pcie_generation("H100 SXM"), pcie_generation("GB200") is None
    (5, True)
    """
    model = model_of(gpu)
    return _PCIE.get(model) or _generations("host_link", "pcie", "line_Bps").get(model)


# Cards with the GA102 chip run the links of their bridge slower.
GA102 = ("RTX 3090", "RTX A6000", "RTX A5500", "RTX A5000", "RTX A4500", "A40")
CONSUMER = re.compile(r"^RTX [2345]0\d0$")


def known_gpu(text: str) -> str | None:
    """Return the model that a text names, with SXM, PCIe or NVL where it says so, or None.

    >>> known_gpu("A100-SXM4-40GB"), known_gpu("NVIDIA H100 80GB HBM3"), known_gpu("NVIDIA GeForce RTX 4090")
    ('A100 SXM', 'H100 SXM', 'RTX 4090')
    >>> known_gpu("my password") is None
    True
    """
    for pattern, name in _models():
        found = pattern.search(text)
        if found:
            said = name if name and "?" not in name else re.sub(r"\s+", " ", found.group().upper())
            said = re.sub(r"^RTX\s*", "RTX ", said)
            if re.search(r"SXM", text, re.IGNORECASE) or (said in ("H100", "H800") and re.search(r"HBM3\b", text)):
                return f"{said} SXM"
            if re.search(r"PCI-?E", text, re.IGNORECASE):
                return f"{said} PCIe"
            return f"{said} NVL" if re.search(r"\bNVL\b", text) else said
    return None


def model_of(gpu: str | None) -> str | None:
    """Return the bare model of a known name: `A100` of `A100 SXM`."""
    return None if gpu is None else re.sub(r" (?:SXM|PCIe|NVL)$", "", gpu)


def link_Bps(gpu: str | None) -> float | None:
    """Return one direction of one NVLink of a known GPU, or None.

    >>> link_Bps("A100 SXM"), link_Bps("RTX 3090"), link_Bps("RTX 4090") is None
    (25000000000.0, 14062500000.0, True)
    """
    if model_of(gpu) in GA102:
        return value("nvlink-bridge-ga102", "link_Bps")
    generation = nvlink_generation(gpu)
    return None if generation is None else nvlink_Bps(generation)
