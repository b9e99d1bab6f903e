"""Lesson 12: tokens for readers, from GPUs that share every layer."""

from functools import lru_cache

import numpy as np

from course_lib.base.language import _
from course_lib.base.scale import say_number, say_time
from course_lib.figures import growing
from course_lib.plan.served import Layout, most_requests
from course_lib.plan.serving import Step as Served
from course_lib.plan.serving import decode, prefill

READERS, CONTEXT = "llama3-70b", 4096


def token_step(tensor: int, requests: int, system: str = "dgx-h100") -> Served:
    """Return a decoding step of Llama 3 70B, FP8 weights.

    >>> token_step(8, 64).n_gpus
    8
    """
    return decode(READERS, system, Layout(tensor=tensor), requests, CONTEXT)


def token_line(tensor: int, requests: int, system: str = "dgx-h100") -> str:
    """Return a decoding step in words: its time, and the part of the all-reduces.

    >>> token_line(8, 1).startswith("8 GPUs")
    True
    """
    found = token_step(tensor, requests, system)
    who = _("1 reader") if requests == 1 else _("{r} readers").format(r=say_number(requests))
    text = _("1 GPU, {who}: {step} a token, all-reduces {share} % of it")
    if tensor > 1:
        text = _("{n} GPUs, {who}: {step} a token, all-reduces {share} % of it")
    return text.format(
        n=tensor,
        who=who,
        step=say_time(float(found.step_s)),
        share=f"{100 * float(found.communicate_s / found.step_s):.0f}",
    )


def prompt_line(tensor: int, tokens: int, system: str = "dgx-h100") -> str:
    """Return how long a prompt takes to read, and the part of the all-reduces.

    >>> prompt_line(8, 8192).startswith("8 GPUs")
    True
    """
    found = prefill(READERS, system, Layout(tensor=tensor), tokens)
    return _("{n} GPUs: {t} for {k} tokens, all-reduces {share} % of it").format(
        n=tensor,
        t=say_time(float(found.step_s)),
        k=say_number(tokens),
        share=f"{100 * float(found.communicate_s / found.step_s):.0f}",
    )


@lru_cache(maxsize=1)
def reader_curves() -> tuple:
    """Return names, tokens a second for a reader and from a GPU, and requests, for 2 to 16 GPUs that share every layer.

    >>> names, reader, gpu, requests = reader_curves()
    >>> len(names), bool(reader[2][0] > reader[0][0])
    (4, True)
    """
    names, reader, gpu, asked = [], [], [], []
    for t in (2, 4, 8, 16):
        most = most_requests(READERS, Layout(tensor=t), "h100", CONTEXT)
        r = 2.0 ** np.arange(0, np.floor(np.log2(most)) + 1)
        found = decode(READERS, "dgx-h100", Layout(tensor=t), r, CONTEXT)
        names.append(_("{n} GPUs").format(n=t))
        reader.append(1 / found.step_s)
        gpu.append(found.tokens_per_s_per_gpu)
        asked.append(r)
    return names, reader, gpu, asked


def readers_picture():
    """Return them as a figure.

    >>> len(readers_picture().data)
    8
    """
    names, reader, gpu, asked = reader_curves()
    head = _("One reader gets {a} tokens per second from 8 GPUs, and {b} from 16 in two boxes").format(
        a=say_number(float(reader[2][0]), 2), b=say_number(float(reader[3][0]), 2)
    )
    return growing.readers(names, reader, gpu, asked, title=head)
