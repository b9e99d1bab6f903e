"""Names in published tables of training: the model, the system and the precision that each stands for."""

import functools
import re
from dataclasses import replace

from course_lib.plan.transformer import Shape, model
from course_lib.timing.system import System, load

MODELS = {
    "deepseekv3": "deepseek-v3",
    "deepseekv3 (w/ mtp)": "deepseek-v3",
    "deepseekv3 (w/o mtp)": "deepseek-v3",
    "deepseekv3 (dropless)": "deepseek-v3",
    "gpt oss 120b": "gpt-oss-120b",
    "llama3_8b": "llama3-8b",
    "llama3_70b": "llama3-70b",
    "llama3.1_405b": "llama3-405b",
    "llama3.1 405b": "llama3-405b",
    "llama3.1 70b": "llama3-70b",
    "llama3.1-8b": "llama3-8b",
    "llama3.1-70b": "llama3-70b",
    "llama2-7b": "llama2-7b",
    "llama2-34b": "llama2-34b",
    "llama2-70b": "llama2-70b",
    "qwen3_30b_a3b": "qwen3-30b",
    "qwen3_235b_a22b": "qwen3-235b",
    "grok1 314b": "grok1-314b",
    "nemotron4 15b": "nemotron4-15b",
    "nemotron4 340b": "nemotron4-340b",
    "megatron-22b": "megatron-22b",
    "gpt3-175b": "gpt3-175b",
    "turing-530b": "turing-530b",
    "megatron-1t": "megatron-1t",
    "nanotron-3b": "nanotron-3b",
    "gpt3-5b": "gpt3-5b",
    "gpt3-20b": "gpt3-20b",
    "llama2-13b": "llama2-13b",
    "llama3-8b": "llama3-8b",
    "llama3-70b": "llama3-70b",
    "nemotron-8b": "nemotron3-8b",
    "nemotron-340b": "nemotron4-340b",
    "deepseek v3 671b": "deepseek-v3",
    "kimi k2": "kimi-k2",
    "qwen3 moe 30b": "qwen3-30b",
}
#: Built-in system for each name in the tables; network cards of the host where they differ: (cards, bytes/s of each).
SYSTEMS = {
    "gb200": ("gb200-nvl72", None),
    "dgx-gb200": ("gb200-nvl72", None),
    "gb300": ("gb300-nvl72", None),
    "dgx-gb300": ("gb300-nvl72", None),
    "b200": ("dgx-b200", None),
    "dgx-b200": ("dgx-b200", None),
    "b300": ("dgx-b300", None),
    "dgx-b300": ("dgx-b300", None),
    "h100": ("dgx-h100", None),
    "dgx-h100": ("dgx-h100", None),
    "h100 cluster": ("dgx-h100", None),
    "h100_80gb": ("dgx-h100", None),
    "h100 96 gb, 500 w": ("dgx-h100", None),
    "a100_80gb": ("dgx-a100", None),
    "a100 80 gb": ("dgx-a100", None),
    "a100_40gb": ("dgx-a100", None),
    "selene a100-80gb": ("dgx-a100", None),
    "a100 80 gb, 400 gb/s": ("dgx-a100", (2, 25e9)),
    "jean zay a100": ("dgx-a100", (4, 12.5e9)),
}
PRECISIONS = {
    "amp_bf16": "bf16",
    "bf16": "bf16",
    "fp16": "fp16",
    "amp_fp8": "fp8",
    "fp8": "fp8",
    "fp8-cs": "fp8",
    "fp8-mx": "fp8",
    "mxfp8": "fp8",
    "nvfp4": "fp4",
}
ZERO = {"full_shard": 3, "shard_grad_op": 2}


@functools.lru_cache(maxsize=64)
def system_of(name: str) -> System:
    """Return the system that a name of the tables stands for, with its own network cards.

    >>> system_of("jean zay a100").scale_out.nics_per_host
    4
    """
    base, cards = SYSTEMS[name]
    place = load(base)
    if cards:
        out = replace(place.scale_out, nics_per_host=cards[0], bandwidth_Bps=cards[1])
        place = replace(place, scale_out=out)
    return place


@functools.lru_cache(maxsize=256)
def shape_of(name: str) -> Shape | None:
    """Return the shape of a model as the tables name it, "gpt 72x14336/64" by layers × width / heads; None: not described here.

    >>> shape_of("LLAMA3_70B").n_layers, shape_of("gpt 72x14336/64").hidden, shape_of("Nemotron_3_Nano")
    (80, 14336, None)
    """
    plain = name.strip().lower()
    if gpt := re.fullmatch(r"gpt (\d+)x(\d+)/(\d+)", plain):
        layers, width, heads = map(int, gpt.groups())
        return Shape(name, layers, width, heads, heads, width // heads, 4 * width, 250880, 2048, source="as printed")
    if plain in MODELS or plain.startswith("mpt-"):
        return model(MODELS.get(plain, plain))
    return None
