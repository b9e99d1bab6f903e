"""NVLink status: which links of which GPU are up, as `nvidia-smi nvlink -s` prints them."""

import re
from dataclasses import dataclass

from course_lib.base.language import _
from course_lib.machine.gpunames import known_gpu
from course_lib.machine.text import Damage, Damages, Line, lines

MOST_LINKS = 64
_GPU = re.compile(r"(?:^|\s)GPU (\d{1,3}):\s*(.*)")
_LINK = re.compile(r"\bLink (\d{1,2}):\s*(\S.*?)?\s*$")
_RATE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*(GB/s|MB/s|GBps|Gb/s|Gbps)")
_ALL_DOWN = re.compile(r"all links are in-?active", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GpuLinks:
    """Links of one GPU: (number, rate in bytes per second, one direction, as printed; None where it is inactive)."""

    gpu: int
    model: str | None
    links: tuple[tuple[int, float | None], ...]

    @property
    def inactive(self) -> tuple[int, ...]:
        """Numbers of the links that are down."""
        return tuple(number for number, rate in self.links if rate is None)


@dataclass(frozen=True, slots=True)
class NvlinkStatus:
    """All GPUs that were printed; `capabilities` says that the listing is that of `nvlink -c`, which holds no states."""

    gpus: tuple[GpuLinks, ...]
    capabilities: bool
    damaged: tuple[Damage, ...]
    unknown: tuple[str, ...]


class NvlinkReader:
    """Collects GPUs line by line; `done` returns the record."""

    def __init__(self):
        self.damage = Damages()
        self.gpus: dict[int, tuple[str | None, dict[int, float | None]]] = {}
        self.now: int | None = None
        self.again = False  # inside a GPU that was listed before
        self.capabilities = False

    def feed(self, line: Line) -> None:
        """Take one line."""
        text = line.text
        if "Link " in text and self.again:
            return
        if "Link " in text and (found := _LINK.search(text)):
            self._link(int(found.group(1)), found.group(2) or "", line.number)
        elif "GPU " in text and (found := _GPU.search(text)):
            number = int(found.group(1))
            if number < 256:
                self.now, self.again = number, False
                if number in self.gpus:
                    if self.gpus[number][1]:
                        self.damage.say(line.number, _("GPU {gpu} is listed twice; the first is used"), gpu=number)
                        self.now, self.again = None, True
                else:
                    self.gpus[number] = (known_gpu(found.group(2)), {})
        elif self.now is not None and "ctive" in text and _ALL_DOWN.search(text):
            self.gpus[self.now][1].setdefault(-1, None)

    def _link(self, number: int, said: str, line: int) -> None:
        if "supported" in said or "Sysmem" in said or "SLI" in said:
            self.capabilities = True
            return
        if "inactive" in said.lower():
            rate = None
        elif found := _RATE.match(said):
            unit = {"GB/s": 1e9, "GBps": 1e9, "MB/s": 1e6}.get(found.group(2))
            if unit is None:
                self.damage.add(line, _("a link's rate in bits; nvidia-smi prints GB/s"))
                return
            rate = float(found.group(1)) * unit or None  # a link at 0 GB/s carries nothing
        else:
            if said and self.now is not None and re.match(r"[\d<]", said):
                self.damage.add(line, _("the state of link {link} cannot be read").format(link=number))
            return
        if self.now is None:
            self.damage.add(line, _("link {link} stands below no GPU").format(link=number))
        elif number in self.gpus[self.now][1]:
            self.damage.add(line, _("link {link} of GPU {gpu} is listed twice").format(link=number, gpu=self.now))
        elif number < MOST_LINKS:
            self.gpus[self.now][1][number] = rate

    def done(self) -> NvlinkStatus | None:
        """Return the record, or None where no link was listed."""
        made = []
        for number in sorted(self.gpus):
            model, links = self.gpus[number]
            if links:
                made.append(GpuLinks(number, model, tuple(sorted(links.items()))))
        if not made and not self.capabilities:
            return None
        unknown = [_("models of the GPUs")] if all(g.model is None for g in made) else []
        return NvlinkStatus(tuple(made), self.capabilities, tuple(self.damage.kept), tuple(unknown))


def read(source) -> NvlinkStatus | None:
    """Read the output of `nvidia-smi nvlink -s` (see `text.raw_lines` for sources); None where there is none.

    >>> status = read("GPU 0: Tesla V100-SXM2-16GB (UUID: x)\\n\\t Link 0: 25.781 GB/s\\n\\t Link 1: <inactive>\\n")
    >>> status.gpus[0].inactive, status.gpus[0].model
    ((1,), 'V100 SXM')
    """
    reader = NvlinkReader()
    for line in lines(source):
        reader.feed(line)
    return reader.done()
