"""Cells: the words of a topology matrix, its header, and the columns of affinity behind it."""

import re

CELL = re.compile(r"X|NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC")
GLUED = re.compile(r"(?:NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC){2,}")
PERMISSION = re.compile(r"X|OK|NS|CNS|GNS|TNS|DR|U")
_NIC = r"NIC\d{1,3}|mlx\d?_\w{1,12}|(?:rdmap|efa|irdma|bnxt_re|hfi1_|hns_|qedr|ib|ibp|roce|rocep|eth|enp|cxi)\w{1,14}"
LABEL = re.compile(rf"(?:GPU\d{{1,3}}|{_NIC})(?=\s)")
_NAME = re.compile(rf"GPU\d{{1,3}}|{_NIC}")
_NIC_ONLY = re.compile(_NIC)
_GLUED_NAMES = re.compile(r"(?:GPU\d{1,3}|NIC\d{1,3}){2,}")
_TAIL = ("CPU", "NUMA", "GPU", "Affinity", "ID")
_LIST = re.compile(r"\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*")
MOST_NUMBERS = 8192


def label_known(word: str) -> bool:
    """Whether a word is the name of a network card as the tools print them.

    >>> label_known("mlx5_0"), label_known("hunter2")
    (True, False)
    """
    return _NIC_ONLY.fullmatch(word) is not None


def header_of(text: str, before=None) -> tuple[list[str], list[str], int, bool] | None:
    """Return (GPUs, cards, columns of affinity, glued names?) of a header line, or None; `before` is a header it goes on.

    >>> header_of("GPU0 GPU1 mlx5_0 CPU Affinity NUMA Affinity")
    (['GPU0', 'GPU1'], ['mlx5_0'], 2, False)
    >>> header_of("Note: GPU0 detected at startup") is None
    True
    """
    at = re.search(r"GPU\d", text)
    if at is None and before is None:
        return None
    words = text[at.start() :].split() if at else text.split()
    names, rest, glued = [], [], False
    for k, word in enumerate(words):
        if _NAME.fullmatch(word):
            names.append(word)
        elif _GLUED_NAMES.fullmatch(word):
            names += re.findall(r"GPU\d{1,3}|NIC\d{1,3}", word)
            glued = True
        else:
            rest = words[k:]
            break
    if rest and any(word not in _TAIL for word in rest):
        return None
    if before is not None:
        names = [*before[0], *before[1], *names]
    if not names and before is None:
        return None
    gpus = [name for name in names if name.startswith("GPU")]
    nics = [name for name in names if not name.startswith("GPU")]
    if len(set(names)) != len(names) or names != gpus + nics:
        return None
    tail = " ".join(rest)
    count = ("CPU Affinity" in tail) + ("NUMA Affinity" in tail) + ("NUMA ID" in tail)
    return gpus, nics, count, glued


def cells_of(text: str) -> tuple[list[str], str, bool]:
    """Return (cells, what stands behind them, were some glued?) of a row without its label.

    >>> cells_of("X NV18 SYSSYS  0-27 0 N/A")
    (['X', 'NV18', 'SYS', 'SYS'], '  0-27 0 N/A', True)
    """
    cells, at, glued = [], 0, False
    for found in re.finditer(r"\S+", text):
        word = found.group()
        if CELL.fullmatch(word):
            cells.append(word)
        elif GLUED.fullmatch(word):
            cells += re.findall(r"NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC", word)
            glued = True
        else:
            break
        at = found.end()
    return cells, text[at:], glued


def numbers_of(text: str) -> tuple[int, ...] | None:
    """Return the numbers of a list such as `0,3-9`, or None for anything else.

    >>> numbers_of("0,3-5,8"), numbers_of("N/A") is None
    ((0, 3, 4, 5, 8), True)
    """
    if not _LIST.fullmatch(text):
        return None
    out: list[int] = []
    for part in text.split(","):
        first, _dash, last = part.partition("-")
        span = range(int(first), int(last or first) + 1)
        if not span or len(out) + len(span) > MOST_NUMBERS:
            return None
        out += span
    return tuple(out)


def affinities(tail: str, tabs: bool, columns: int) -> tuple:
    """Return (CPUs, NUMA nodes, NUMA node of the GPU's memory) from what stands behind the cells; None: not printed.

    With tabs an empty field keeps its place. With blanks fewer words than columns cannot be told apart, so they stay unknown.

    >>> affinities("  0-3  0  N/A", False, 3)
    ((0, 1, 2, 3), (0,), None)
    >>> affinities("\\t\\t1\\t\\tN/A", True, 3)
    (None, (1,), None)
    """
    words = tail.split()
    cpu = numa = own = None
    if tabs and tail.startswith("\t"):
        fields = [field.strip() for field in tail[1:].split("\t")]
        cpu, rest = numbers_of(fields[0]), fields[1:]
        if rest and rest[0]:
            numa = rest[0]
        filled = [field for field in rest[1:] if field]
        if columns != 3 and numa is None and filled:
            numa = filled[0]
        elif columns != 2 and filled:
            own = filled[-1]
    elif words and (columns in (0, len(words))):
        cpu, numa, own = (numbers_of(words[0]), *words[1:3], None, None)[:3]
    elif len(words) > columns > 0:
        cpu, numa, own = (numbers_of(words[0]), *words[1:columns], None, None)[:3]
    elif len(words) == 2 and columns == 3 and words[1] != "N/A" and "-" in words[0]:
        cpu, numa = numbers_of(words[0]), words[1]
    nodes = numbers_of(numa) if isinstance(numa, str) else None
    memory = numbers_of(own) if isinstance(own, str) else None
    return cpu, nodes, memory[0] if memory and len(memory) == 1 else None
