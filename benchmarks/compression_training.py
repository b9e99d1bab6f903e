"""Compressed training and the explorer-sized calls of lessons 08 and 09: how long each takes on this machine.

Run: python benchmarks/compression_training.py
"""

from time import perf_counter

import numpy as np

from course_lib.plan.breakeven import CodecTime, break_even_Bps, codec_seconds, compare, measure_codec, sent_B
from course_lib.plan.codecs import Dense, EightBit, LowRank, OneBit, RandomK, TopK
from course_lib.plan.compression import train, with_and_without_feedback
from course_lib.plan.lossscale import train_scaled
from course_lib.plan.narrowsum import error_against_ranks
from course_lib.plan.sharding import bucket_search, overlap
from course_lib.plan.zero import sharded_step

CODECS = [Dense(), TopK(0.01), RandomK(0.1), EightBit(), OneBit(), LowRank(2)]


def line(message_B):
    return 3e-5 + message_B / 5e10


def seconds(call, repeats=5):
    call()
    times = []
    for _run in range(repeats):
        begin = perf_counter()
        call()
        times.append(perf_counter() - begin)
    return float(np.median(times))


def training():
    print("120 steps on 4 ranks            loss with / without error feedback   sent per step   both runs")
    begin = perf_counter()
    for codec in CODECS:
        start = perf_counter()
        kept, lost = with_and_without_feedback(codec)
        took = perf_counter() - start
        print(f"  {codec!s:52.52} {kept.loss[-1]:8.3f} {lost.loss[-1]:8.3f} {kept.sent_B:10.0f} B {took:8.2f} s")
    print(f"  all of them: {perf_counter() - begin:.1f} s (promised: one comparison under 10 s)")


def codec_times(size=10**6, n_ranks=8):
    print(f"\ncodec of {size:,} values here   encode      decode      pays below, against FP32 on {n_ranks} ranks")
    for codec in CODECS:
        time = measure_codec(codec, size)
        how = "two_phase" if isinstance(codec, EightBit | OneBit) else None
        tensors = ((1000, size // 1000),) if isinstance(codec, LowRank) else None
        packed = sent_B(codec, size, n_ranks, how=how, tensors=tensors)
        edge = break_even_Bps(sent_B(Dense(), size, n_ranks), packed, codec_seconds(time, n_ranks, how=how))
        print(f"  {codec!s:28.28} {time.encode_s * 1e3:8.2f} ms {time.decode_s * 1e3:8.2f} ms {edge / 1e9:8.3f} GB/s")


def updates():
    print("\none explorer update (promised: under 20 ms)")
    rng = np.random.default_rng(0)
    backward_s, gradient_B = rng.uniform(1e-4, 1e-3, 100), rng.uniform(1e6, 1e8, 100)
    rates = np.geomspace(1e8, 1e12, 40)
    calls = {
        "overlap, 100 layers": lambda: overlap(backward_s, gradient_B, 25e6, line),
        "bucket search, 100 layers, 64 sizes": lambda: bucket_search(backward_s, gradient_B, line),
        "ZeRO-3 step, 100 layers": lambda: sharded_step(backward_s, backward_s, gradient_B, line, line),
        "narrow sum, ring of 64, 256 values": lambda: error_against_ranks([64], "bf16"),
        "break-even over 40 bandwidths": lambda: compare(
            CodecTime(TopK(0.01), 10**7, 1e-3, 1e-3), 8, lambda rate: lambda op, m: m / rate, rates
        ),
    }
    for name, call in calls.items():
        print(f"  {name:40} {seconds(call) * 1e3:7.2f} ms")
    print(f"  {'loss scaling, 100 steps (on a button)':40} {seconds(lambda: train_scaled('fp16'), 1) * 1e3:7.0f} ms")
    print(f"  {'training, 120 steps (on a button)':40} {seconds(lambda: train(TopK(0.01)), 1) * 1e3:7.0f} ms")


if __name__ == "__main__":
    training()
    codec_times()
    updates()
