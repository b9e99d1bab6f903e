"""A model by whatever name people give it, or described in a small TOML file."""

import os
import re
import tomllib
from dataclasses import fields
from pathlib import Path

from course_lib.base.errors import CourseError, finite, one_of, whole
from course_lib.base.language import _
from course_lib.plan.transformer import Shape, model, models
from course_lib.timing.tomlfile import check_keys, line_of

#: Keys of a model's file that may be left out, with what they follow.
_NEEDED = ("n_layers", "hidden", "n_heads", "vocab", "seq")
MOST = 10**9  # of any size of a model: more is a slip of the pen
_SAID = ((r"^llama-?(\d)(\.\d)?-", r"llama\1-"), (r"^gpt-?3-", "gpt3-"), (r"^(deepseek)-?v(\d)", r"\1-v\2"))
_ALIASES = {
    "gpt3": "gpt3-175b",
    "gpt-3": "gpt3-175b",
    "megatron-175b": "gpt3-175b",
    "megatron-530b": "turing-530b",
    "mt-nlg-530b": "turing-530b",
    "bloom": "bloom-176b",
    "llama3.1-405b": "llama3-405b",
    "deepseek-v3-671b": "deepseek-v3",
    "qwen3-235b-a22b": "qwen3-235b",
    "qwen3-30b-a3b": "qwen3-30b",
    "grok1": "grok1-314b",
    "grok-1": "grok1-314b",
}


def named(name: "str | os.PathLike | Shape") -> Shape:
    """Return a model's shape by its name, spelled as people do, or from a TOML file; a Shape passes through.

    A word that ends in `.toml` or holds a path separator is a path. Unknown names raise CourseError with the nearest.

    >>> named("Llama-3.1-405B").name, named("GPT-3").name, named("DeepSeekV3").name
    ('llama3-405b', 'gpt3-175b', 'deepseek-v3')
    """
    if isinstance(name, Shape):
        return name
    text = os.fspath(name) if isinstance(name, (str, os.PathLike)) else str(name)
    if text.endswith(".toml") or os.sep in text:
        return from_toml(text)
    plain = text.strip().lower().replace("_", "-").replace(" ", "-")
    known = models()
    if plain in known:
        return model(plain)
    plain = _ALIASES.get(plain, plain)
    for pattern, put in _SAID:
        plain = re.sub(pattern, put, plain)
    plain = _ALIASES.get(plain, plain)
    return model(plain if plain in known else text)


def described(**sizes: object) -> Shape:
    """Return a shape from sizes; what is left out follows: as many key-value heads as heads, an MLP of four widths.

    >>> described(n_layers=2, hidden=256, n_heads=4, vocab=1000, seq=128).ffn
    1024
    """
    values = {key: value for key, value in sizes.items() if value is not None}
    missing = [key for key in _NEEDED if key not in values]
    if missing:
        raise CourseError(_("A model needs {keys}.").format(keys=", ".join(missing)))
    for key in _NEEDED:
        values[key] = whole(key, values[key], at_least=1)
    for key, value in values.items():
        if isinstance(value, int) and not isinstance(value, bool):
            whole(key, value, at_most=MOST)
    heads, hidden = values["n_heads"], values["hidden"]
    values.setdefault("n_kv_heads", heads)
    if "head_size" not in values:
        if hidden % heads:
            raise CourseError(
                _("A width of {hidden} does not divide into {heads} heads; give head_size.").format(
                    hidden=hidden, heads=heads
                )
            )
        values["head_size"] = hidden // heads
    values.setdefault("ffn", 4 * hidden)
    values.setdefault("name", _("own"))
    return Shape(**values)


def from_toml(path: "str | os.PathLike") -> Shape:
    """Read a model from a TOML file whose keys are the fields of Shape; errors name the file, the line and the valid keys.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "tiny.toml"
    ...     _n = file.write_text("n_layers = 4\\nhidden = 512\\nn_heads = 8\\nvocab = 32000\\nseq = 1024\\n")
    ...     from_toml(file).name
    'tiny'
    """
    path = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise CourseError(_("The model file {path} cannot be read: {why}.").format(path=path, why=why)) from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CourseError(_("{path} is not valid TOML: {why}.").format(path=path, why=error)) from None
    kinds = {f.name: f.type for f in fields(Shape) if f.name not in ("source", "address", "published_params_B")}
    check_keys(path, text, data, "", tuple(kinds))
    values = {"name": Path(path).stem}
    for key, value in data.items():
        kind = kinds[key]
        try:
            if kind is int:
                values[key] = whole(key, value, at_least=0)
            elif kind is float:
                values[key] = finite(key, value)
            elif not isinstance(value, kind):
                expected = _("true or false") if kind is bool else _("text")
                raise CourseError(
                    _("{key} is {value!r}; {expected} is expected.").format(key=key, value=value, expected=expected)
                )
            else:
                values[key] = one_of(_("norm"), value, ("layer", "rms")) if key == "norm" else value
        except CourseError as error:
            line = line_of(text, "", key)
            raise CourseError(_("{path}, line {line}: {why}").format(path=path, line=line, why=error)) from None
    missing = [key for key in _NEEDED if key not in values]
    if missing:
        raise CourseError(_("{path}: needs the key '{key}'.").format(path=path, key=missing[0]))
    try:
        return described(**values)
    except CourseError as error:
        raise CourseError(_("{path}: {why}").format(path=path, why=error)) from None
