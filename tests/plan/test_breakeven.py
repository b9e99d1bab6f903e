import numpy as np
import pytest

from course_lib.base.errors import CourseError
from course_lib.plan.breakeven import (
    CodecTime,
    at_bandwidth,
    break_even_Bps,
    codec_seconds,
    compare,
    crossing_Bps,
    exchange_s,
    measure_codec,
    messages,
    sent_B,
)
from course_lib.plan.codecs import Dense, EightBit, LowRank, OneBit, RandomK, TopK
from course_lib.timing.tuning import predict

SIZE = 10**6


def ring_at(n):
    """A price without latency: what a ring sends, over the bandwidth."""
    share = (n - 1) / n
    return lambda rate: lambda op, m: m * share * (2 if op == "all_reduce" else 1) / rate


@pytest.mark.parametrize("n", [2, 8, 32])
@pytest.mark.parametrize(
    ("codec", "how"), [(TopK(0.001), None), (OneBit(), "two_phase"), (RandomK(0.1), None)], ids=str
)
def test_the_scan_crosses_where_the_formula_says(n, codec, how):
    time = CodecTime(codec, SIZE, 2e-3, 0.5e-3)
    formula = break_even_Bps(sent_B(Dense(), SIZE, n), sent_B(codec, SIZE, n, how=how), codec_seconds(time, n, how=how))
    rates = np.geomspace(1e6, 1e12, 400)
    scan = crossing_Bps(compare(time, n, ring_at(n), rates, how=how), rates)
    assert scan == pytest.approx(formula, rel=1e-3)


def test_top_k_saves_nothing_once_the_ranks_are_one_over_the_fraction_kept():
    dense = [sent_B(Dense(), SIZE, n) for n in (2, 10, 100, 200)]
    sparse = [sent_B(TopK(0.01), SIZE, n) for n in (2, 10, 100, 200)]
    assert np.divide(dense, sparse).round(6).tolist() == [50, 10, 1, 0.5]


def test_two_phases_of_top_k_do_not_grow_with_ranks():
    assert sent_B(TopK(0.01), SIZE, 100, how="two_phase") == pytest.approx(2 * 0.99 * 80000, rel=0.01)


def test_when_nothing_is_saved_it_never_pays_and_when_the_codec_is_free_it_always_does():
    assert break_even_Bps(1e9, 1e9, 0.1) == 0
    assert break_even_Bps(1e9, 1e9, 0.0) == 0
    assert break_even_Bps(2e9, 1e9, 0.0) == np.inf
    assert break_even_Bps([2e9, 1e9], 1e9, [0.5, 0.5]).tolist() == [2e9, 0]
    rates = np.geomspace(1e6, 1e12, 10)
    assert crossing_Bps(compare(CodecTime(TopK(0.01), SIZE, 1e-3, 1e-3), 500, ring_at(500), rates), rates) == 0
    assert crossing_Bps(compare(CodecTime(OneBit(), SIZE, 0, 0), 4, ring_at(4), rates), rates) == np.inf
    assert crossing_Bps(compare(CodecTime(OneBit(), SIZE, 1, 0), 1, ring_at(1), rates), rates) == 0


def test_gathering_decodes_a_packet_of_every_rank():
    time = CodecTime(TopK(0.01), SIZE, 3.0, 1.0)
    assert codec_seconds(time, 8) == 11
    assert codec_seconds(CodecTime(RandomK(), SIZE, 3.0, 1.0), 8) == 4
    assert codec_seconds(CodecTime(EightBit(), SIZE, 4.0, 1.0), 4, how="two_phase") == 7


def test_each_collective_is_priced_by_its_own_message():
    asked = []

    def time_of(op, message_B):
        asked.append((op, float(message_B)))
        return 1.0

    assert exchange_s(LowRank(2), 600, 4, time_of=time_of, tensors=((30, 20),)) == 2
    assert exchange_s(TopK(0.01), 1000, 8, time_of=time_of) == 1
    assert asked == [("all_reduce", 240.0), ("all_reduce", 160.0), ("all_gather", 640.0)]


def test_predict_is_what_prices_an_exchange():
    message = 8 * 80000
    assert exchange_s(TopK(0.01), SIZE, 8, system="dgx-h100") == predict("all_gather", message, "dgx-h100", 8).time_s
    assert exchange_s(Dense(), SIZE, 16, system="dgx-h100") == predict("all_reduce", 4e6, "dgx-h100", 16).time_s


@pytest.mark.parametrize("n_ranks", [8, 64])
def test_compression_pays_on_slow_links_of_a_real_system_only(n_ranks):
    time, rates = CodecTime(OneBit(), 10**8, 1e-2, 1e-2), np.geomspace(1e8, 4e11, 12)
    scan = compare(time, n_ranks, at_bandwidth("dgx-h100", n_ranks), rates, how="two_phase")
    assert scan.pays[0]
    assert not scan.pays[-1]
    assert (np.diff(scan.pays.astype(int)) <= 0).all()
    assert rates[0] < crossing_Bps(scan, rates) < rates[-1]


def test_one_rank_sends_nothing():
    assert all(m.sent_B == 0 for m in messages(EightBit(), SIZE, 1))


def test_measuring_is_of_the_codec_itself():
    time = measure_codec(TopK(0.01), 20000, repeats=3)
    assert 0 < time.encode_s < 1
    assert 0 < time.decode_s < 1
    assert measure_codec(LowRank(2), 4000, repeats=1).size == 4000


@pytest.mark.parametrize(
    "call",
    [
        lambda: sent_B(TopK(), -1, 4),
        lambda: sent_B(TopK(), 10, 0),
        lambda: sent_B(TopK(), 10, 2, how="all_reduce"),
        lambda: break_even_Bps(-1, 1, 1),
        lambda: break_even_Bps(1, 1, np.nan),
        lambda: exchange_s(Dense(), 10, 2),
        lambda: exchange_s(Dense(), 10, 2, time_of=lambda op, m: -1.0),
        lambda: measure_codec(Dense(), 0),
        lambda: crossing_Bps(compare(CodecTime(OneBit(), 10, 1, 1), 2, ring_at(2), [1, 2]), [2, 1]),
    ],
)
def test_wrong_input_gets_a_sentence(call):
    with pytest.raises(CourseError):
        call()
