"""Systems: the table, aliases, and files of one's own with their mistakes named by line."""

import csv

import pytest

from course_lib.base import hardware, tables
from course_lib.base.errors import CourseError
from course_lib.base.hardware import value
from course_lib.timing import system as systems
from course_lib.timing.tuning import predict

DATA = systems.Path(systems.__file__).parent / "data"
SYSTEMS, CONSTANTS = DATA / "systems.csv", DATA / "constants.csv"
OWN = """\
name = "my-boxes"
hosts = 64
gpus_per_host = 8
[scale_up]
kind = "switch"
bandwidth_GBps = 450
latency_us = 1.0
in_network_reduction = false
[scale_out]
nics_per_host = 8
bandwidth_GBps = 50
latency_us = 5.0
oversubscription = 1.0
"""


def written(tmp_path, text):
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_file_gives_a_system_and_names_what_it_borrows(tmp_path):
    path = written(tmp_path, OWN)
    own = systems.load(path)
    assert (own.name, own.hosts, own.gpus_per_host, own.n_max) == ("my-boxes", 64, 8, 512)
    assert (own.scale_up.bandwidth_Bps, own.scale_out.latency_s) == pytest.approx((450e9, 5e-6))
    p = predict("all_reduce", 2**20, path, 64)
    assert "nvlink4-switch" in p.valid.reason
    assert "ib" in p.valid.reason
    assert not p.valid.inside


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("bandwidth_GBps = 450", "bandwith_GBps = 450", "line 6.*bandwidth_GBps"),
        ("nics_per_host", "nic_per_host", "line 10.*nics_per_host"),
        ("gpus_per_host", "gpu_per_host", "line 3.*gpus_per_host"),
        ("[scale_out]", "[scaleout]", "line 9.*scale_out"),
        ('"switch"', '"swich"', "line 5.*switch"),
        ("450", "-450", "line 6.*more than 0"),
        ("450", '"450"', "line 6.*number"),
        ("oversubscription = 1.0", "oversubscription = 0.5", "line 13.*at least 1"),
        ("hosts = 64", "hosts = 2.5", "line 2.*whole number"),
        ("hosts = 64", "hosts = ", "not valid TOML.*line 2"),
        ("false", '"no"', "line 8.*true or false"),
        ("latency_us = 1.0\n", "", "scale_up.*latency_us"),
        ("latency_us = 1.0", "latency_us = nan", "line 7.*finite"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_line(tmp_path, old, new, said):
    with pytest.raises(CourseError, match=said):
        systems.load(written(tmp_path, OWN.replace(old, new, 1)))


KEYS = [
    (number, line.split(" = ")[0]) for number, line in enumerate(OWN.splitlines(), 1) if " = " in line and number > 1
]
WRONG = ("[450]", "{x = 1}", '"many"', "-3", "nan", "1979-05-27", "1" + "0" * 400)


@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize(("number", "key"), KEYS)
def test_any_wrong_value_of_any_key_is_a_sentence_with_its_line(tmp_path, number, key, value):
    lines = OWN.splitlines()
    lines[number - 1] = f"{key} = {value}"
    with pytest.raises(CourseError, match=f"line {number}\\b.*{key}"):
        systems.load(written(tmp_path, "\n".join(lines)))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("hosts = 2\nscale_up.kind = 'mesh'\nscale_up.speed = 3\n", 3),
        ("hosts = 2\nscale_up = {kind = 'mesh', speed = 3}\n", 2),
        ("hosts = 2\n[scale_up]\nkind = 'mesh'\n[scale_up.speed]\nx = 1\n", 4),
        ('name = """\nspeed = 1\n"""\n[scale_up]\n# speed = 2\n"speed" = 3\n', 6),
        ("[scale_out]\nspeed = 1\n[scale_up]\nspeed = 2\n", 4),
    ],
)
def test_an_unknown_key_has_its_line_however_it_is_written(tmp_path, text, number):
    with pytest.raises(CourseError, match=rf"line {number}: there is no key 'speed' in \[scale_up\]"):
        systems.load(written(tmp_path, text))


@pytest.mark.parametrize("kind", ["mesh", "ring", "pcie"])
def test_only_a_switch_can_add(tmp_path, kind):
    text = OWN.replace('"switch"', f'"{kind}"').replace("false", "true")
    with pytest.raises(CourseError, match=f"line 8.*a {kind} has no switch"):
        systems.load(written(tmp_path, text))


def test_a_file_saved_by_notepad_is_read(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN, encoding="utf-8-sig")
    assert systems.load(path).hosts == 64


def test_hosts_without_a_network_are_refused(tmp_path):
    with pytest.raises(CourseError, match="scale_out"):
        systems.load(written(tmp_path, OWN.split("[scale_out]")[0]))


def test_a_missing_file_is_said():
    with pytest.raises(CourseError, match="cannot be read"):
        systems.load("nowhere.toml")


@pytest.mark.parametrize("kind", systems.KINDS)
@pytest.mark.parametrize("ideal", [False, True])
def test_every_kind_of_own_system_predicts(tmp_path, kind, ideal):
    path = written(tmp_path, OWN.replace('"switch"', f'"{kind}"'))
    for n in (2, 3, 8, 16):
        assert predict("all_reduce", 2**20, path, n, ideal=ideal).time_s > 0


@pytest.mark.parametrize("ideal", [False, True])
def test_a_host_of_one_gpu_works(tmp_path, ideal):
    path = written(tmp_path, OWN.replace("gpus_per_host = 8", "gpus_per_host = 1"))
    assert predict("all_reduce", 2**20, path, 4, ideal=ideal).bottleneck in ("network", "latency")


def test_zero_latencies_are_fine(tmp_path):
    path = written(
        tmp_path, OWN.replace("latency_us = 1.0", "latency_us = 0").replace("latency_us = 5.0", "latency_us = 0")
    )
    assert predict("all_reduce", 2**30, path, 16, ideal=True).time_s > 0


def test_a_mesh_splits_its_bandwidth_over_the_peers(tmp_path):
    path = written(tmp_path, OWN.replace('"switch"', '"mesh"').replace("450", "448"))
    pair, all_eight = (predict("send_recv", 2**36, path, n, ideal=True).algbw_Bps for n in (2, 8))
    assert pair == pytest.approx(64e9, rel=1e-3)
    assert all_eight == pytest.approx(64e9, rel=1e-3)


def test_a_name_in_any_case_and_an_alias_are_found():
    assert systems.load("DGX_H100") is systems.load("h100") is systems.load("dgx-h100")
    assert systems.load("p5.48xlarge").name == "aws-p5"


def test_no_alias_stands_for_two_systems():
    _systems, aliases = systems._table()
    with open(SYSTEMS, encoding="utf-8", newline="") as file:
        words = [word for row in csv.DictReader(file) for word in row["aliases"].split()]
    assert len(words) == len(set(words)) == len(aliases)
    assert not set(words) & set(systems.names())


# GPUs whose own numbers the hardware table does not have: their boxes price collectives, their steps ask for another GPU.
ELSEWHERE = {"gpu", "GB10", "H20", "H800", "L40S", "MI325X", "RTX 2080 Ti", "RTX 4090"}
ELSEWHERE |= {"PCIe 3 cards", "PCIe 4 cards", "PCIe 5 cards"}
UNMEASURED = {"nvlink-bridge"}  # no sweep was found: its starting values, as every prediction says
STEP = "systems.csv: docs/add_a_gpu.md, step 5"


@pytest.mark.parametrize("row", tables.rows(SYSTEMS), ids=lambda row: row["name"])
def test_every_line_of_the_table_can_be_trusted(row):
    assert row["up_kind"] in systems.KINDS, STEP
    for kind in ("up", "net"):
        families = sorted({known["family"] for known in tables.rows(CONSTANTS) if known["kind"] == kind} | UNMEASURED)
        assert row[f"{kind}_family"] in families, f"{STEP}; families: {families}"
        assert row[f"{kind}_in_network"] in ("yes", "no"), STEP
        rate, latency = row[f"{kind}_bandwidth_GBps"], row[f"{kind}_latency_us"]
        if hardware.names_a_value(rate):  # a link of the table: its latency stands there, too, and only there
            assert latency == f"{rate.split('.')[0]}.step_s", (
                f"{STEP}: the latency is step_s of the link, as step 4 has it"
            )
        assert hardware.in_unit(latency, "us") >= 0, STEP
        assert hardware.names_a_value(latency) or "assumed" in row["note"], f"{STEP}: a typed latency is assumed"
    assert row["source"], f"a source is missing; {STEP}"


@pytest.mark.parametrize("row", tables.rows(SYSTEMS), ids=lambda row: row["name"])
def test_the_gpu_of_every_line_is_in_the_hardware_table(row):
    known = row["gpu"].removesuffix(" PCIe").lower() in hardware.items("gpu")
    assert known != (row["gpu"] in ELSEWHERE), (
        f"the column gpu says {row['gpu']!r}: a GPU of items.csv (step 1) or one of {sorted(ELSEWHERE)}; {STEP}"
    )


@pytest.mark.parametrize("name", systems.names())
def test_no_rate_inside_a_host_differs_from_the_hardware_table(name):
    """The link of the system's GPU where the table knows it, else one of its links (PCIe is rounded to 10 MB/s)."""
    own = systems.load(name)
    try:
        links = [hardware.gpu(hardware.find(own.gpu.lower(), "gpu")).scale_up]
    except CourseError:
        links = [item for item in hardware.items() if "line_Bps" in hardware.record(item)]
    rates = [value(link, "line_Bps") for link in links]
    assert any(own.scale_up.bandwidth_Bps == pytest.approx(rate, rel=1e-3) for rate in rates), rates
