"""Measured exchanges of experts beside the model, and what the lesson says of domains and copies."""

from dataclasses import dataclass

import numpy as np

from course_lib.base import hardware
from course_lib.base.language import _
from course_lib.base.scale import say_bytes, say_number, say_rate
from course_lib.explorers.lesson10.machines import BOXES, MODEL
from course_lib.plan import expertruns
from course_lib.plan.experts import sent_copies, token_B


@dataclass(frozen=True, slots=True)
class Exchanges:
    """Measured exchanges: tokens or ranks (n,), measured and modelled seconds (2, n), the library's (n,) for a dispatch."""

    x: np.ndarray
    measured_s: np.ndarray
    model_s: np.ndarray
    library_s: np.ndarray
    source: str

    @property
    def columns(self) -> tuple:
        """As the figure takes them."""
        return self.x, self.measured_s, self.model_s, self.library_s


def in_one_box() -> Exchanges:
    """Return exchanges over tokens in one box of eight B300, which no constant saw.

    >>> found = in_one_box()
    >>> bool(np.abs(np.log(found.model_s / found.measured_s)).max() < 0.06)
    True
    """
    chosen = [r for r in expertruns.runs() if (r.system, r.n_experts, r.way) == ("dgx-b300", 256, "low-latency")]
    return _exchanges(chosen, "tokens")


def across_boxes() -> Exchanges:
    """Return exchanges of 128 tokens over boxes of eight H800, by the number of GPUs.

    >>> found = across_boxes()
    >>> found.x.tolist(), bool(found.library_s[-1] > 8 * found.measured_s[0, -1])
    ([8, 16, 32, 64, 128, 256], True)
    """
    return _exchanges([r for r in expertruns.runs() if r.system == "hgx-h800"], "n_ranks")


def _exchanges(chosen: list, x: str) -> Exchanges:
    out, back = (expertruns.compare(chosen, phase) for phase in ("dispatch", "combine"))
    return Exchanges(
        getattr(out, x),
        np.stack([out.measured_s, back.measured_s]),
        np.stack([out.model_s, back.model_s]),
        out.library_s,
        expertruns.sources()[chosen[0].source].title,
    )


def launches(most_tokens: int = 8) -> list[str]:
    """Return how many times as long as the model says a dispatch of few tokens took, on machines that no constant saw.

    >>> launches()[1]
    'gb200-nvl72, 4 GPUs, 256 experts: 0.79 ×'
    """
    lines = []
    for system, n_experts in (("dgx-b300", 256), ("gb200-nvl72", 256), ("dgx-b300", 384)):
        found = [r for r in expertruns.runs() if (r.system, r.n_experts, r.way) == (system, n_experts, "low-latency")]
        few = expertruns.compare([r for r in found if r.tokens <= most_tokens], "dispatch")
        text = _("{system}, {n} GPUs, {experts} experts: {times} ×")
        times = say_number(float(np.median(few.measured_s / few.model_s)), 2)
        lines.append(text.format(system=system, n=few.n_ranks[0], experts=n_experts, times=times))
    return lines


def copies_in_words(way: str) -> str:
    """Return how many copies of a token cross a card, and NVLink, on 64 GPUs in boxes of eight.

    >>> copies_in_words("low-latency")
    '7 over a card, 0.88 over NVLink'
    """
    net, up = sent_copies(MODEL, BOXES, 64, way)
    return _("{net} over a card, {up} over NVLink").format(net=say_number(net, 2), up=say_number(up, 2))


def domains() -> list[str]:
    """Return how many GPUs and hosts one NVLink domain had, from 2017 on.

    >>> domains()[-1]
    'GB200 NVL72: 72 GPUs in 18 hosts'
    """
    known = [hardware.system(n) for n in ("dgx-1-v100", "dgx-2", "dgx-h100", "gh200-nvl32", "gb200-nvl72")]
    return [
        _("{title}: {n} GPUs in {hosts}").format(
            title=_(s.title), n=s.gpus, hosts=_("1 host") if s.hosts == 1 else _("{n} hosts").format(n=s.hosts)
        )
        for s in known
    ]


def where_it_came_from(*names: str) -> list[str]:
    """Return title and address of published runs.

    >>> where_it_came_from("deepep-v1")[0].startswith("DeepEP")
    True
    """
    return [f"{s.title}: {s.address}" for s in (expertruns.sources()[n] for n in names)]


def bytes_of_a_copy() -> str:
    """Return what one copy of a token weighs on its way out and on its way back.

    >>> bytes_of_a_copy().startswith("out")
    True
    """
    return _("out {a} (FP8 and its scales), back {b} (BF16); a card carries {rate}, a GPU's NVLink {more}").format(
        a=say_bytes(token_B(7168, "dispatch"), 3),
        b=say_bytes(token_B(7168, "combine"), 3),
        rate=say_rate(hardware.link("ib-ndr").line_Bps),
        more=say_rate(hardware.link("nvlink5").line_Bps),
    )
