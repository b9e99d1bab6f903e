"""Bills that add up, and designs that win one benchmark and lose the mix."""

import numpy as np
import pytest

from course_lib.base import hardware, table, tables
from course_lib.base.errors import CourseError
from course_lib.cluster import cost, loadmix, published
from course_lib.cluster.published import YEAR_s, known


def test_lines_are_all_there_and_add_up():
    b = cost.bill(1024)
    assert tuple(b.lines) == cost.LINES
    assert b.usd_per_year == pytest.approx(sum(b.lines.values()))
    assert b.usd_per_gpu_hour == pytest.approx(b.usd_per_year / 1024 / 8760)


def test_the_bill_stands_beside_what_others_print():
    b = cost.bill(1024)
    assert b.usd_per_gpu_hour == pytest.approx(known("rented_usd_per_gpu_hour").value, rel=0.2)
    network = b.switches * known("switch_usd").value + b.modules * known("optic_usd").value
    assert network / b.purchase_usd == pytest.approx(known("network_share").value, abs=0.03)


def test_every_assumed_number_can_be_replaced_and_moves_the_bill():
    base = cost.bill(1024)
    for a in (k for k in published._known().values() if k.kind == "assumed"):
        moved = cost.bill(1024, **{a.name: a.value * 1.1})
        assert moved.usd_per_year != pytest.approx(base.usd_per_year, rel=1e-9), a.name


def test_a_yearly_payment_pays_the_price_back():
    payment, owed = cost.yearly_usd(100.0, 4, 0.08), 100.0
    for _ in range(4):
        owed = owed * 1.08 - payment
    assert owed == pytest.approx(0, abs=1e-9)


def test_copper_saves_the_power_of_the_optics():
    light, copper = cost.bill(1024), cost.bill(1024, optical=False)
    assert copper.optics_W < 0.02 * light.optics_W
    assert copper.lines["optics"] == 0
    assert light.optics_W == light.modules * 17


def test_electricity_is_power_times_hours_times_price():
    """One host alone has no network: 10.2 kW, 80 % of it, 30 % more at the meter, 5 % spares, 8,760 hours, 8.06 cents."""
    b = cost.bill(8)
    assert b.power_W == pytest.approx(10_200 * 1.05 * 0.8 * 1.3)
    assert b.lines["electricity"] == pytest.approx(b.power_W / 1000 * 8760 * 0.0806)
    assert (b.switches, b.modules, b.lines["switches"]) == (0, 0, 0)
    assert b.lines["people"] == pytest.approx(0.05 * 1.05 * 317_000)


def test_a_taper_saves_switches():
    assert cost.bill(4096, oversubscription=4.0).switches < cost.bill(4096).switches


def test_a_million_tokens_cost_more_when_less_of_the_time_counts():
    assert cost.usd_per_million_tokens(YEAR_s, 1e6, [1.0, 0.5]) == pytest.approx([1.0, 2.0])
    with pytest.raises(CourseError, match="at most 1"):
        cost.usd_per_million_tokens(1.0, 1.0, 90)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: cost.bill(1001), "take 1000 or 1008"),
        (lambda: cost.bill(1024, host_price=3), "valid: host_usd"),
        (lambda: cost.bill(1024, pue=0.9), "pue"),
        (lambda: cost.bill(1024, interest=-1), "interest"),
        (lambda: loadmix.mix("training"), "mix"),
        (lambda: loadmix.mix_time("dgx-h100", []), "empty"),
        (lambda: loadmix.mix_time("dgx-h100", loadmix.mix("decoding"), neighbours=1.0), "below 1"),
        (lambda: loadmix.rank({"a": "dgx-h100"}, loadmix.mix("decoding")), "two designs"),
    ],
)
def test_bad_input_gets_a_sentence(call, word):
    with pytest.raises(CourseError, match=word):
        call()


THIN = loadmix.variant("dgx-b200", "B200 with two cards", cards=2)


@pytest.mark.parametrize("name", list(loadmix.MIXES))
def test_the_fastest_box_with_a_thin_network_wins_the_benchmark_and_loses_the_mix(name):
    r = loadmix.rank({"thin": THIN, "even": "dgx-h100"}, loadmix.mix(name))
    assert (r.wins_benchmark, r.wins_mix) == ("thin", "even")


def test_neighbours_and_late_ranks_only_cost():
    calls = loadmix.mix("expert training")
    base = loadmix.mix_time("dgx-h100", calls).total_s
    assert loadmix.mix_time("dgx-h100", calls, neighbours=0.5).total_s > 1.3 * base
    late = loadmix.mix_time("dgx-h100", calls, lateness_s=1e-5)
    harmonic = lambda n: (1 / np.arange(1, n + 1)).sum()  # noqa: E731
    assert late.late_s == pytest.approx(1e-5 * sum(c.times * harmonic(c.n_ranks) for c in calls))


def test_the_slowest_of_many_comes_as_late_as_draws_show():
    drawn = np.random.default_rng(0).exponential(1.0, (20_000, 64)).max(1).mean()
    assert drawn == pytest.approx((1 / np.arange(1, 65)).sum(), rel=0.01)


def test_inside_a_rack_neighbours_do_not_slow():
    calls = loadmix.mix("decoding")
    assert (
        loadmix.mix_time("gb200-nvl72", calls, neighbours=0.5).total_s == loadmix.mix_time("gb200-nvl72", calls).total_s
    )


def test_predictions_outside_what_was_measured_say_so():
    assert loadmix.mix_time("dgx-h100", loadmix.mix("expert training")).outside


def test_no_number_of_the_hardware_table_is_typed_again():
    """A price or a power that base knows is taken from there, so that two lessons cannot disagree."""
    known_there = {
        line.value / table.UNITS[line.unit]
        for (item, _field), line in hardware.table().values.items()
        if item == "prices"
    }
    known_there |= {
        hardware.value(item, field)
        for item in hardware.items()
        for field in hardware.record(item)
        if field.startswith("power") and field.endswith("_W")
    }
    typed = [(row["item"], row["value"]) for row in tables.rows(published.DATA / "costs.csv")]
    typed += [
        (row["part"], row[key])
        for row in tables.rows(published.DATA / "catalogue.csv")
        for key in ("unit_usd", "unit_W")
    ]
    numbers = [(name, float(text)) for name, text in typed if text.replace(".", "", 1).isdigit()]
    known_there = {float(f"{number:.12g}") for number in known_there}
    assert [(name, number) for name, number in numbers if number in known_there] == []
    prices = [number for _name, number in numbers if number >= 1e5]
    assert len(prices) == len(set(prices)), "two tables have one price: let one name the other"


def test_a_number_that_a_table_names_comes_in_the_tables_own_unit():
    assert published.known("electricity_usd_per_kWh").value == pytest.approx(0.0806)
    llama = published.fleet("llama3-405b")
    assert (llama.gpus, llama.span_s, llama.failures) == (16384, 54 * 86400, 419)
    assert hardware.in_unit("gh200.host_memory_B", "GB") == 480
    assert hardware.in_unit("1e3", "GB") == 1000
