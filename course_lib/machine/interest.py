"""Interest: which readers a line can matter to, by its shape (digits all 0), so that a long log is not searched by all."""

import re

from course_lib.machine.ncclfacts import WORDS
from course_lib.machine.ncclrow import ELEMENT_B
from course_lib.machine.nccltests import ROW
from course_lib.machine.topocells import LABEL

TOPO, NCCL, BANDS, PEER, LINKS, LINK, OTHER = (1 << k for k in range(7))
EVERYBODY = (1 << 7) - 1
_ZEROS = str.maketrans("123456789", "0" * 9)
_ZERO_BYTES = bytes.maketrans(b"123456789", b"0" * 9)


def shape_of(text: str) -> str:
    """Return a text with every digit as 0.

    >>> shape_of("Link 12: 26.562 GB/s")
    'Link 00: 00.000 GB/s'
    """
    return text.translate(_ZEROS)


def key_of(text: str) -> bytes:
    """Return the shape as bytes, which takes a fifth of the time.

    >>> key_of("Link 12: 26.562 GB/s")
    b'Link 00: 00.000 GB/s'
    """
    return text.encode("utf-8", "surrogatepass").translate(_ZERO_BYTES)


# Words without which a reader does nothing with a line unless it is inside its own table.
_FACTS = tuple({shape_of(word) for word in (*WORDS, "nccl_", "-> algo", "nranks", "nnodes", "error", "rccl")} - {"000"})
_WORDS = (
    (NCCL, ("algbw", "busbw", "(B)", "(elements)", "Rank", "minBytes", "Avg bus bandwidth", "bounds", "_perf", "NCCL")),
    (BANDS, ("(row)", "Running ", "SUM ", "aiv", "Invalid value when", "nvbandwidth", "Device ")),
    (PEER, ("P0P",)),
    (LINKS, ("GPU ", "ctive")),
    (LINK, ("Link ",)),
)
_TYPE = re.compile(r"\d\s+(?:" + "|".join(sorted({shape_of(t) for t in ELEMENT_B}, key=len, reverse=True)) + ")")


def interest_of(shape: str, other: re.Pattern) -> int:
    """Return the readers (bits) that a line of this shape can matter to; `other` finds what is none of ours.

    >>> import re
    >>> none = re.compile("(?!)")
    >>> interest_of("step 00 loss 0.0000", none), interest_of("\\t Link 0: 00.000 GB/s", none) == LINK
    (0, True)
    """
    small, bits = shape.lower(), 0
    for bit, words in _WORDS:
        if any(word in shape for word in words):
            bits |= bit
    if "GPU" in shape or "NIC" in shape or "hfi" in shape or LABEL.match(shape.strip().lstrip("#>|").strip() + " "):
        bits |= TOPO
    if "evice" in shape and ("pcibu" in small or "peer" in small):
        bits |= PEER
    if (
        any(word in small for word in _FACTS)
        or _TYPE.search(shape)
        or ROW.match(shape)
        or ("#" in shape and "(" in shape)
    ):
        bits |= NCCL
    if other.search(shape) or "-p0p" in shape:
        bits |= OTHER
    return bits
