"""The hardware table: lines that nobody could trust are refused, and the numbers agree with each other."""

import math
import re
from pathlib import Path

import pytest

from course_lib.base import hardware, sources, table
from course_lib.base.errors import CourseError
from course_lib.base.hardware import line, named, record, value
from course_lib.grading import claims
from course_lib.plan.efficiency import families

ITEMS = [
    {"item": name, "kind": kind, "title": name, "family": "", "note": "", "line": str(i)}
    for i, (name, kind) in enumerate((("a", "switch"), ("b", "gpu")), 2)
]
GOOD = {"item": "a", "field": "rate_Bps", "value": "900", "unit": "GB/s", "direction": "both", "basis": "raw", "kind": "spec",
        "formula": "", "source": "s", "as_of": "2026-01-01", "note": "", "line": "2"}  # fmt: skip


def built(*changes):
    return table.build(ITEMS, [GOOD | change for change in changes], {"s"})


def test_a_value_for_both_directions_becomes_one_on_loading():
    assert built({}).values["a", "rate_Bps"].value == 450e9
    assert built({"direction": "per direction"}).values["a", "rate_Bps"].value == 900e9


def test_a_bus_bandwidth_is_never_halved():
    change = {"field": "x_busbw_Bps", "direction": "busbw"}
    assert built(change).values["a", "x_busbw_Bps"].value == 900e9
    for wrong in ({"direction": "busbw"}, {"field": "x_busbw_Bps", "direction": "both"}):
        with pytest.raises(CourseError, match="bus bandwidth"):
            built(wrong)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"item": "c"}, "items.csv"),
        ({"unit": "furlongs"}, "unit"),
        ({"unit": "GB"}, "unit GB does not fit .*_Bps; fitting: GB/s, MB/s, TB/s"),
        ({"direction": ""}, "direction"),
        ({"direction": "sideways"}, "direction"),
        ({"kind": "guess"}, "kind"),
        ({"source": ""}, "source"),
        ({"source": "t"}, "source"),
        ({"value": ""}, "missing"),
        ({"value": "nan"}, "finite"),
        ({"value": "inf"}, "finite"),
        ({"value": "fast"}, "not a number"),
        ({"kind": "assumed", "source": ""}, "note"),
        ({"kind": "derived"}, "formula"),
        ({"kind": "derived", "formula": "2 * 3"}, "no typed number"),
        ({"field": "two words"}, "identifier"),
        *(
            ({"as_of": day}, "as_of")
            for day in ("", "yesterday", "2026", "2026-13", "2026-02-30", "20260101", "30.11.2026")
        ),
        *(
            (
                {"field": field, "unit": unit, "direction": "", "value": value},
                "below zero" if value == "-1" else "is zero",
            )
            for field, unit in (
                ("hbm_B", "GB"),
                ("hbm_B", "B"),
                ("bf16_flops", "TFLOPS"),
                ("tdp_W", "W"),
                ("n", "lanes"),
            )
            for value in ("-1", "0")
        ),
        ({"value": "0"}, "is zero"),
        *(
            ({"field": field, "unit": unit, "direction": "", "value": "-1"}, "below zero")
            for field, unit in (("latency_s", "us"), ("frame_B", "B"), ("faults", "events"), ("share", "fraction"))
        ),
    ],
)
def test_a_line_that_cannot_be_trusted_is_refused_with_its_number(change, complaint):
    with pytest.raises(CourseError, match=f"hardware.csv, line 2 .*{complaint}"):
        built(change)


@pytest.mark.parametrize("day", ["2026-11-30", "2026-11"])
def test_a_day_or_a_month_says_when_a_value_was_read(day):
    assert built({"as_of": day}).values["a", "rate_Bps"].as_of == day


def test_what_a_frame_or_a_week_may_lack_is_zero():
    for field, unit in (("check_B", "B"), ("faults", "events"), ("latency_s", "us"), ("share", "fraction")):
        assert built({"field": field, "unit": unit, "direction": "", "value": "0"}).values["a", field].value == 0


def test_a_formula_that_gives_nothing_or_less_is_refused():
    for formula, said in (("rate_Bps - rate_Bps", "is zero"), ("rate_Bps - 2 * rate_Bps", "below zero")):
        with pytest.raises(CourseError, match=f"hardware.csv, line 2 .*{said}"):
            built({}, DERIVED | {"formula": formula})


LINK = ITEMS[0] | {"item": "nvlink-x", "kind": "link", "line": "9"}


@pytest.mark.parametrize("has", [(), ("latency_s",), ("advertised_Bps",)])
def test_a_link_without_line_rate_is_refused_with_its_line_and_the_one_to_add(has):
    rows = [
        GOOD | {"item": "nvlink-x", "field": f} | ({"unit": "us", "direction": ""} if f == "latency_s" else {})
        for f in has
    ]
    with pytest.raises(CourseError, match=r"items.csv, line 9: the link nvlink-x .*hardware.csv: `nvlink-x,line_Bps,"):
        table.build([*ITEMS, LINK], rows, {"s"})
    example = dict(zip(GOOD, (*table.EXAMPLE.format("nvlink-x").split(","), "3")))
    assert table.build([*ITEMS, LINK], [example], {"source"}).values["nvlink-x", "line_Bps"].value == 450e9


@pytest.mark.parametrize(("field", "wanted"), table.NAMES.items())
def test_a_field_that_names_an_item_names_one_of_its_kind(field, wanted):
    with pytest.raises(CourseError, match=f"line 2 .*; {field} names a {wanted}"):
        table.build(
            [*ITEMS, ITEMS[0] | {"item": "c", "kind": "cost"}], [GOOD | POINTER | {"field": field, "value": "c"}], {"s"}
        )


def test_an_item_without_values_is_answered_in_words(monkeypatch):
    """Whoever holds a table that was not read from files (a link without any line in it) gets a sentence, too."""
    real = hardware.table()
    items = {**real.items, "nvlink-x": table.Item("nvlink-x", "link", "X", "", "")}
    monkeypatch.setattr(hardware, "table", lambda: table.Table(items, real.aliases, real.values))
    for ask in (hardware.link, lambda name: value(name, "line_Bps"), lambda name: named(name, "to")):
        with pytest.raises(CourseError, match="no values of nvlink-x"):
            ask("nvlink-x")
    assert record("nvlink-x") == {}


def test_a_value_given_twice_is_refused():
    with pytest.raises(CourseError, match="twice"):
        built({}, {"line": "3"})


DERIVED = {"field": "y_Bps", "kind": "derived", "value": "", "source": "", "direction": "per direction"}
POINTER = {"field": "to", "value": "b", "unit": "name", "direction": ""}
OTHER = {"item": "b", "field": "z_Bps"}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("rate_Bps", 450e9),
        ("2 * rate_Bps - rate_Bps / 2", 675e9),
        ("to.z_Bps", 450e9),
        ("-(-rate_Bps)", None),
        ("rate_Bps * 1.5", 675e9),
    ],
)
def test_formulas_are_computed_over_fields_and_named_items(formula, expected):
    if expected is None:
        with pytest.raises(CourseError):
            built({}, POINTER, OTHER, DERIVED | {"formula": formula})
    else:
        assert built({}, POINTER, OTHER, DERIVED | {"formula": formula}).values["a", "y_Bps"].value == pytest.approx(
            expected
        )


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os').getcwd()",
        "rate_Bps ** 2",
        "rate_Bps[0]",
        "(lambda: 1)()",
        "rate_Bps if 1 else 2",
        "True * rate_Bps",
        "'a' * 2",
        "missing * 2",
        "y_Bps",
        "rate_Bps / 0",
        "to",
        "to * 2",
        "rate_Bps.z_Bps",
        "to.missing",
        "2 *",
        "rate_Bps // 2",
        "[1]",
        "1j * 2",
    ],
)
def test_nothing_else_gets_through_a_formula(formula):
    with pytest.raises(CourseError, match=r"hardware.csv, line"):
        built({}, POINTER, OTHER, DERIVED | {"formula": formula})


def test_a_name_has_to_exist():
    with pytest.raises(CourseError, match="names c"):
        built(POINTER | {"value": "c"})


def test_every_value_is_finite_sourced_or_reasoned_and_in_si():
    for found in hardware.table().values.values():
        if found.unit == "name":
            assert found.value in hardware.table().items
            continue
        assert math.isfinite(found.value)
        assert found.value >= 0
        assert hardware.source_of(found.item, found.field).title
        if found.kind in ("spec", "measured", "reported"):
            assert sources.source(found.source).address.startswith("https://")


def test_every_source_is_used_and_has_a_year():
    used = {v.source for v in hardware.table().values.values()}
    ledger = claims.ledger()
    used |= {key for part in ("claims", "systems") for row in ledger[part] for key in row["sources"]}
    for name in ("copies.csv", "series_index.csv", "matrices_index.csv"):
        used |= {row["source"] for row in sources.rows(name)}
    assert used - {""} == set(sources.sources())
    assert all(2010 <= s.year <= 2026 for s in sources.sources().values())


# The numbers agree with each other.


@pytest.mark.parametrize("generation", [3, 4, 5, 6, 7])
def test_pcie_lanes_times_rate_times_encoding_is_the_line_rate(generation):
    name = f"pcie{generation}"
    assert value(name, "raw_Bps") == 2.0 ** (generation + 1) * 1e9
    code = {3: 128 / 130, 4: 128 / 130, 5: 128 / 130}.get(generation, 242 / 256)
    assert value(name, "line_Bps") == pytest.approx(value(name, "raw_Bps") * code, rel=1e-12)
    if generation >= 6:
        assert value(name, "after_crc_Bps") == pytest.approx(value(name, "line_Bps"), rel=1e-12)
        assert value(name, "flit_payload_B") + 6 + value(name, "flit_check_B") == value(name, "flit_B")


def test_pcie_7_doubled_is_the_headline():
    assert value("pcie7", "advertised_Bps") == value("pcie7", "raw_Bps")


@pytest.mark.parametrize("generation", [1, 2, 3, 4, 5])
def test_nvlink_links_times_rate_doubled_is_the_headline(generation):
    name = f"nvlink{generation}"
    assert value(name, "links") * value(name, "link_Bps") == value(name, "line_Bps") == value(name, "advertised_Bps")
    assert line(name, "advertised_Bps").direction == "both"


def test_nvidia_smi_shows_seventeen_sixteenths_of_the_data_sheet():
    for name in ("nvlink4", "nvlink5"):
        assert value(name, "smi_link_Bps") * 16 / 17 == pytest.approx(value(name, "link_Bps"), rel=1e-12)
        assert value(name, "raw_Bps") == pytest.approx(value(name, "links") * value(name, "smi_link_Bps"), rel=1e-12)
    assert value("nvlink4", "raw_Bps") / 1e9 == pytest.approx(478.125)
    assert value("nvlink4", "lane_bps") == pytest.approx(value("nvlink4", "lane_raw_bps"), rel=1e-12)


def test_c2c_pins_make_the_advertised_rate():
    assert value("c2c", "line_Bps") == value("c2c", "advertised_Bps") == 450e9


@pytest.mark.parametrize(("name", "gbit"), [("ib-edr", 100), ("ib-hdr", 200), ("ib-ndr", 400), ("ib-xdr", 800)])
def test_four_lanes_make_an_infiniband_port(name, gbit):
    assert value(name, "line_Bps") * 8 / 1e9 == gbit == value(name, "port_bps") / 1e9


def test_switch_ports_times_link_rate_is_the_advertised_capacity():
    for name in ("nvswitch1", "nvswitch4", "quantum-2", "spectrum-4"):
        assert value(name, "line_Bps") == pytest.approx(value(name, "advertised_Bps"), rel=1e-9)
    # The same 51.2 Tb/s is two directions on one box and one direction on the other.
    assert value("spectrum-4", "line_Bps") == 2 * value("quantum-2", "line_Bps")


def test_every_gpu_of_a_switched_system_has_its_links_on_switch_ports():
    for name in hardware.items("system"):
        system = hardware.system(name)
        if system.switch in (None, "nvswitch6"):
            continue
        links = system.gpus * value(system.scale_up, "links")
        assert links <= system.switches * value(system.switch, "ports")
        if "nvl72" in name:
            assert links == system.switches * value(system.switch, "ports")


def test_racks_are_trays_times_gpus_and_totals_round_to_the_headline():
    for name, gpus in (
        ("gb200-nvl72", 72),
        ("gb300-nvl72", 72),
        ("vera-rubin-nvl72", 72),
        ("dgx-2", 16),
        ("dgx-h100", 8),
    ):
        assert hardware.system(name).gpus == gpus
    for name in ("dgx-a100", "dgx-b200", "gb200-nvl72", "gb300-nvl72", "vera-rubin-nvl72"):
        assert value(name, "aggregate_Bps") == pytest.approx(value(name, "advertised_aggregate_Bps"), rel=0.005)
    assert value("gb200-nvl72", "bisection_Bps") * 2 == value("gb200-nvl72", "aggregate_Bps")
    assert value("dgx-h100", "bisection_Bps") == value("dgx-h100", "advertised_bisection_Bps")


def test_spine_cables_are_gpus_times_links_times_pairs():
    pairs = 2 * value("nvlink5", "lanes_per_link")
    assert value("gb200-nvl72", "spine_cables") == 72 * value("nvlink5", "links") * pairs


def test_memories_add_up():
    for name in ("dgx-b200", "gb200-nvl72", "gh200-nvl32", "vera-rubin-nvl72"):
        assert value(name, "hbm_B") == pytest.approx(value(name, "advertised_hbm_B"), rel=0.005)


def test_somebody_reads_every_value():
    """A model, a lesson, a formula of the table, or a test that holds it against what the table computes."""
    root = Path(__file__).parents[2]
    places = ("course_lib", "notebooks", "solutions", "tests")
    files = [
        p for place in places for kind in ("py", "ipynb", "toml", "csv") for p in (root / place).rglob(f"*.{kind}")
    ]
    text = " ".join(p.read_text(encoding="utf-8") for p in files if p.name not in ("hardware.csv", Path(__file__).name))
    text += " ".join(found.formula for found in hardware.table().values.values()) + Path(__file__).read_text("utf-8")
    words = set(re.findall(r"\w+", text)) | {
        f"h200_{n}_{way}_busbw_Bps" for n in range(4, 9) for way in ("nvls", "ring")
    }
    words |= {f"{word}_busbw_Bps" for word in words}  # lesson 05 puts these names together
    assert {field for _item, field in hardware.table().values} - words == set()


def test_pods_are_hosts_times_gpus():
    for name in hardware.items("cluster"):
        if "advertised_gpus" in record(name):
            assert value(name, "gpus") == value(name, "advertised_gpus")
    taper = (
        value("nvlink-switch-system", "gpus") * value("nvlink4", "line_Bps") / value("nvlink-switch-system", "taper")
    )
    assert value("nvlink-switch-system", "all_to_all_Bps") == pytest.approx(taper, rel=1e-9)


def test_fp8_is_twice_bf16_where_both_are_given():
    for name in hardware.items("gpu"):
        gpu = hardware.gpu(name)
        if gpu.fp8_flops and name != "rubin":
            assert gpu.fp8_flops == pytest.approx(2 * gpu.bf16_flops, rel=0.01)


def test_wrong_numbers_that_circulate_are_not_in_the_table():
    assert value("nvlink5", "line_Bps") < 1e12
    assert value("c2c", "line_Bps") != 900e9
    assert value("nvswitch4", "ports") == 72
    assert hardware.system("gb200-nvl72").gpus_per_host == 4
    assert "links" not in record("nvlink6")
    assert hardware.gpu("b200").host_link == "pcie5"


@pytest.mark.parametrize("name", hardware.items("gpu"))
def test_a_gpu_has_what_its_recipe_asks_for(name):
    missing = [field for field in ("hbm_B", "hbm_Bps", "bf16_flops", "scale_up") if field not in record(name)]
    assert not missing, f"hardware.csv has no {missing} of {name}: docs/add_a_gpu.md, step 3"
    assert hardware.gpu(name).family in ("", *families()), (
        f"items.csv names no family of {name}: docs/add_a_gpu.md, step 1"
    )


# Asking for what is not there.


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(CourseError, match="nvlink6"):
        hardware.link("nvlink7")
    with pytest.raises(CourseError, match="h100"):
        hardware.gpu("H-100")
    with pytest.raises(CourseError, match="line_Bps"):
        value("pcie5", "line_bps")
    with pytest.raises(CourseError):
        hardware.items("planet")
    with pytest.raises(CourseError):
        hardware.gpu(None)
    assert hardware.system("DGX_H100").name == "dgx-h100"


def test_names_and_numbers_are_not_mixed():
    assert named("h100", "scale_up") == "nvlink4"
    with pytest.raises(CourseError, match="named"):
        value("h100", "scale_up")
    with pytest.raises(CourseError, match="value"):
        named("h100", "hbm_B")


def test_records_cannot_be_changed():
    with pytest.raises(AttributeError):
        hardware.gpu("h100").hbm_B = 1
    with pytest.raises(TypeError):
        hardware.table().values["h100", "hbm_B"] = 1


def test_links_between_pairs_of_a_mesh_use_every_link_of_a_gpu():
    assert value("gh200-quad", "links_per_pair") * 3 == value("nvlink4", "links")
