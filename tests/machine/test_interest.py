"""What is passed over for speed would have said nothing: the same is read as when every reader sees every line."""

import json
import random

import pytest

from course_lib.machine import gallery, jsonresults, nccltests, nvbandwidth, nvlink, p2p, recognise, topo
from course_lib.machine.ncclrow import Columns, cut, parse, plain

TEXTS = {p.name: p.read_text("utf-8") for p in sorted(gallery.FIXTURES.glob("*.txt")) if "utf16" not in p.name}
PREFIXES = ("", "", "[1,0]<stdout>:", "node-7: ", "2026-11-29 09:15:00,123 ")


def mixed(seed):
    rng, out = random.Random(seed), ["a log of several tools"]
    for name in rng.choices(sorted(TEXTS), k=6):
        prefix, text = rng.choice(PREFIXES), TEXTS[name].splitlines()
        for line in text * rng.choice((1, 2)):
            out.append(prefix + line)
            if rng.random() < 0.05:
                out.append(rng.choice(rng.choice(list(TEXTS.values())).splitlines() or [""]))
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("seed", range(40))
def test_one_pass_reads_what_every_reader_reads_alone(seed):
    text = mixed(seed)
    reading = recognise.read(text)
    assert repr(reading.topo) == repr(topo.read(text))
    assert repr(reading.p2p) == repr(p2p.read(text))
    alone = nvlink.read(text)
    assert reading.nvlink == (alone if alone is not None and alone.gpus else None)
    assert repr(reading.nccl) == repr(nccltests.read(text))
    if reading.nvbandwidth is not None:
        assert repr(reading.nvbandwidth) == repr(nvbandwidth.read(text))


@pytest.mark.parametrize("seed", range(20))
def test_a_plain_row_is_the_row_that_the_careful_reader_makes(seed):
    rng, taken = random.Random(seed), 0
    for _row in range(300):
        size = rng.choice((0, 8, 1000, 1 << 20, 1 << 33))
        words = [
            str(size),
            str(size // rng.choice((4, 4, 4, 8))),
            "float",
            *rng.choice((["sum", "-1"], ["sum"], ["3"], [])),
        ]
        for _half in range(2):
            time = round(rng.uniform(0.001, 900), rng.choice((0, 2)))
            rate = size / max(time, 0.01) / 1e3 * rng.choice((1, 1, 1, 1, 1.005, 1e-3))
            words += [
                f"{time:g}",
                f"{rate:.2f}",
                f"{rate * rng.choice((1, 1.75, 2.2)):.2f}",
                rng.choice(("0", "0", "7", "1e-06", "0.5")),
            ]
        if rng.random() < 0.1:
            words[rng.randrange(3, len(words))] = rng.choice(("N/A", ".5", "5.", "1.2.3", "-4", "7*", "٣"))
        text = "  ".join(words)
        columns = Columns(
            rng.choice((None, True, False)), None, rng.choice((None, True, False)), rng.choice((2, 2, 2, 1))
        )
        found = plain(text, columns)
        if found is None:
            continue
        taken += 1
        ((start, rest),) = cut(text)
        row, why = parse(start, rest, 5, columns)
        assert (found.row(5), "") == (row, why)
        assert found.wrong == bool(row.out.wrong or row.inplace.wrong)
    assert taken > 10


def test_a_control_character_is_no_blank_of_a_row():
    row = "1048576\x0c262144 float sum -1 50.00 20.97 36.70 0 50.10 20.93 36.63 0"
    assert plain(row, Columns()) is None


def test_json_rows_that_are_cut_off_are_all_read_again(monkeypatch):
    monkeypatch.setattr(jsonresults, "MOST_ROWS", 10)
    half = {"time": 50.0, "alg_bw": 20.97, "bus_bw": 36.7, "nwrong": 0}
    row = {"size": 1048576, "count": 262144, "type": "float", "out_of_place": half, "in_place": half}
    text = json.dumps({"results": [row] * 18})
    data, whole = jsonresults.parse(text[:-4])
    assert not whole
    assert data["results"] == [row] * 10
    data, whole = jsonresults.parse(json.dumps({"results": [row] * 50}))
    assert whole
    assert len(data["results"]) == 50
    assert data["results"][:10] == [row] * 10
