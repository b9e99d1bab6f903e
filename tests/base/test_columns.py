"""Tables of the command line line up in every language: counted in columns of a terminal, a Chinese character is two."""

import re

import pytest

from course_lib.base.columns import lined_up, padded, width
from course_lib.base.language import _, punctuated
from course_lib.cli.main import main

LANGUAGES = ("en", "zh_CN", "zh_TW")


def ends(line: str) -> list[int]:
    """Return the columns at which a line's cells end; two blanks part cells."""
    return [width(line[: found.end()]) for found in re.finditer(r"\S+(?: \S+)*", line)]


def starts(line: str) -> list[int]:
    return [width(line[: found.start()]) for found in re.finditer(r"\S+(?: \S+)*", line)]


def test_cells_line_up_and_the_punctuation_of_the_whole_leaves_them():
    rows = [
        ["大小", "算法, 协议", "瓶颈"],
        ["64 MiB", "机箱内由交换机归约、机箱间用环", "延迟"],
        ["1 GiB", "in-network, Simple", "network"],
    ]
    lines = lined_up(rows, "><<")
    assert len({ends(line)[0] for line in lines}) == 1
    assert len({tuple(starts(line)[1:]) for line in lines}) == 1
    assert [punctuated(line) for line in lines] == lines
    assert punctuated("\n".join(lines)) == "\n".join(lines)
    assert padded("环", 4) == "环  "


def printed(capsys, *words) -> list[str]:
    assert main(list(words)) in (0, 1, 2)
    return capsys.readouterr().out.splitlines()


def block(lines: list[str], head: str) -> list[str]:
    """Return the table that begins with the line whose first cell is `head`."""
    first = next(k for k, line in enumerate(lines) if line.strip().startswith(head + "  "))
    last = first
    while last < len(lines) and len(starts(lines[last])) == len(starts(lines[first])):
        last += 1
    return lines[first:last]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_tables_line_up(capsys, monkeypatch, language):
    from course_lib.machine import gallery

    monkeypatch.setenv("INTERCONNECT_LANG", language)
    ask = ["predict", "all_reduce", "--system", "dgx-h100"]
    many = printed(capsys, *ask, "--ranks", "32", "--size", "8", "64KiB", "16MiB", "1GiB")
    log = str(gallery.FIXTURES / "nccl_old_error_column.txt")
    plan = printed(
        capsys, "plan", "--model", "llama3-8b", "--system", "dgx-h100", "--gpus", "8", "--global-batch", "16"
    )
    tables = [
        (block(many, _("size")), ">>>><<"),
        (block(printed(capsys, "diagnose", log), _("size")), ">>>>><"),
        (block(plan, _("GPUs")), ">" * 13),
    ]
    for rows, align in tables:
        assert len(rows) > 2
        for k, side in enumerate(align):
            edge = {(ends if side == ">" else starts)(line)[k] for line in rows}
            assert len(edge) == 1, (k, rows)


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_no_cell_of_a_prediction_stays_english(capsys, monkeypatch, language):
    from course_lib.timing.system import KINDS, names
    from course_lib.timing.words import BOTTLENECKS, PARTS, say_algorithm

    monkeypatch.setenv("INTERCONNECT_LANG", language)
    for word in (*BOTTLENECKS, *PARTS, *KINDS):
        assert _(word) != word, word
    for name in ("hierarchical-direct+halving-doubling", "hierarchical-scatter+tree", "in-network tree"):
        assert not re.search("[a-z]", say_algorithm(name)), say_algorithm(name)
    lines = printed(capsys, "predict", "--list-systems")
    for name, line in zip(names(), lines, strict=True):
        assert not re.search(r"\b(of|a|cards|switch|mesh|ring|pcie)\b", line.removeprefix(name)), line


def test_every_algorithm_and_bottleneck_of_a_prediction_has_its_words():
    from course_lib.comm.meaning import OPS
    from course_lib.comm.registry import algorithms
    from course_lib.timing.words import PARTS

    for op in OPS:
        for name in algorithms(op):
            assert set(name.removeprefix("hierarchical-").split("+")) <= set(PARTS), name
