"""What attacks on the readers found, each as its whole kind: rows, matrices and links made here with numbers of their own."""

import json

import numpy as np
import pytest

from course_lib.machine.diagnose import diagnose
from course_lib.machine.fabricof import fabric, short_pairs
from course_lib.machine.recognise import read
from course_lib.machine.say import as_json, in_words
from course_lib.machine.text import MOST_DAMAGES

HEAD = """# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
# Using devices
{devices}
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
FOOT = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 61.3 \n"


def devices(n, gpu, host="box"):
    return "\n".join(
        f"#  Rank {r} Group  0 Pid {70 + r} on {host}-{r // 8} device {r % 8} [0x{r + 16:x}] {gpu}" for r in range(n)
    )


def row(size, busbw, factor, check="0"):
    rate = busbw / factor
    half = f"{size / rate / 1e3:.2f} {rate:.2f} {busbw:.2f} {check}"
    return f"{size:12d} {size // 4:12d}     float     sum      -1  {half}  {half}\n"


def log(busbw, n=8, gpu="NVIDIA A100-SXM4-80GB", host="box", check="0", low=20, high=30):
    factor = 2 * (n - 1) / n
    rows = "".join(
        row(2**p, busbw * 2**p / (2**p + 4e6), factor, check if p == high else "0") for p in range(low, high + 1)
    )
    return HEAD.format(devices=devices(n, gpu, host)) + rows + FOOT


def matrix(count):
    g = len(count)
    head = "\t" + "\t".join(f"GPU{k}" for k in range(g)) + "\tCPU Affinity\n"
    cell = lambda a, b: " X " if a == b else f"NV{count[a][b]}"  # noqa: E731
    return head + "".join(f"GPU{a}\t" + "\t".join(cell(a, b) for b in range(g)) + "\t0-31\n" for a in range(g))


@pytest.mark.parametrize(("gpus", "most", "left"), [(8, 12, 11), (8, 18, 16), (16, 6, 4), (4, 18, 9)])
def test_a_gpu_with_fewer_links_to_the_switch_is_a_finding(gpus, most, left):
    own = np.full(gpus, most)
    own[gpus // 2] = left
    count = np.minimum(own[:, None], own[None, :])
    report = diagnose(matrix(count))
    assert (report.exit_status, report.shape) == (1, "switch")
    assert [f.code for f in report.findings] == ["fewer-links"]
    assert f"GPU{gpus // 2} has {left} NVLinks" in report.headline
    assert f"{most - left}/{most}" in report.headline
    assert fabric(read(matrix(count)).topo).links_per_gpu == tuple(own)


def test_one_pair_of_a_mesh_with_fewer_links_is_a_finding_and_a_cube_is_none():
    count = 4 * (1 - np.eye(4, dtype=int))
    count[1, 3] = count[3, 1] = 2
    report = diagnose(matrix(count))
    assert report.exit_status == 1
    assert "GPU1 and GPU3 are joined by 2 NVLinks" in report.headline
    uneven = np.array([[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]])
    assert short_pairs(uneven) == []
    assert diagnose(matrix(uneven)).exit_status == 0


@pytest.mark.parametrize("mark", ["3*", "0*"])
def test_an_asterisk_behind_the_check_is_wrong_data(mark):
    report = diagnose(log(228, check=mark))
    assert report.exit_status == 1
    assert report.findings[0].code == "wrong-data"
    assert not report.sweeps
    assert "DATA CORRUPTION" in report.headline
    assert "1 GiB" in report.headline


@pytest.mark.parametrize("host", ["nccl-test-worker", "rccl", "node-nccl"])
def test_hosts_and_pods_called_after_the_library_are_no_log_lines(host):
    report = diagnose(log(228, host=host))
    assert report.exit_status == 0
    assert report.sweeps[0].system == "dgx-a100"
    tagged = "".join(f"{host}-launcher nccl {line}\n" for line in log(228).splitlines())
    assert diagnose(tagged).sweeps[0].system == "dgx-a100"


@pytest.mark.parametrize(("gpu", "busbw"), [("NVIDIA A100-SXM4-80GB", 610), ("NVIDIA H100 80GB HBM3", 1700)])
def test_more_than_the_links_let_through_is_never_healthy(gpu, busbw):
    report = diagnose(log(busbw, gpu=gpu))
    assert report.exit_status == 1
    assert "above-bound" in {f.code for f in report.findings}


def test_no_fit_is_shown_where_the_bandwidth_collapses():
    text = HEAD.format(devices=devices(8, "NVIDIA A100-SXM4-80GB"))
    text += "".join(row(2**p, 2.0 if p == 27 else 180.0, 1.75) for p in range(22, 31)) + FOOT
    report = diagnose(text)
    assert report.findings[0].code == "dip"
    assert report.sweeps[0].fit is None
    assert "fitted" not in in_words(report)


def test_a_rising_end_is_not_called_a_plateau():
    report = diagnose(log(200, low=18, high=24))
    assert report.sweeps[0].rising
    assert "plateau" not in report.headline
    assert "still rising" in report.headline


def test_the_network_that_was_given_is_not_asked_for():
    report = diagnose(log(40, n=16), host_Bps=50e9)
    assert not any("give --network" in note for note in report.notes)
    assert any("give --network" in note for note in diagnose(log(40, n=16)).notes)


def test_a_slow_link_is_held_against_a_rate_that_was_printed():
    rates = {0: "25.781", 1: "12.890"}
    text = "".join(
        f"GPU {g}: Tesla V100-SXM2-32GB (UUID: GPU-{g})\n" + "".join(f"\t Link {k}: {rate} GB/s\n" for k in range(6))
        for g, rate in rates.items()
    )
    report = diagnose(text)
    assert report.exit_status == 1
    assert "25.8 GB/s: on GPU 1" in report.headline


def test_nvbandwidth_that_copied_wrong_data_or_waived_everything():
    start = "nvbandwidth Version: v0.7\nDevice 0: NVIDIA L40S\n\nRunning device_to_device_memcpy_read_ce.\n"
    wrong = diagnose(start + " Invalid value when checking the pattern at 0x7f00\n Current offset : 12\n")
    assert wrong.exit_status == 1
    assert "DATA CORRUPTION" in wrong.headline
    assert wrong.causes
    waived = diagnose("Device 0: NVIDIA L40S\n\nWaiving device_to_device_memcpy_write_ce.\n")
    assert waived.exit_status == 2
    assert "peer access: 1" in waived.headline


def test_names_of_tests_are_repeated_only_where_all_their_words_are_known():
    text = "Running to_device_hunter2_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n 0 1\n0 51.0 50.1\n\nSUM hunter2_x 4.0\n"
    report = diagnose(text)
    assert "hunter2" not in in_words(report) + json.dumps(as_json(report)) + repr(report.readings)


def test_one_rank_that_was_asked_for_is_told_from_ranks_that_did_not_join():
    text = HEAD.format(devices=devices(1, "NVIDIA A10G"))
    for size in (2**24, 2**26, 2**28):
        text += f"{size:12d} {size // 4:12d} float sum -1 {size / 3e5:.2f} 300.00 0.00 0 0.50 {size / 500:.2f} 0.00 0\n"
    report = diagnose(text)
    assert report.exit_status == 1
    assert [c.code for c in report.causes] == ["one-rank", "not-joined"]
    assert not report.sweeps


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Failed to get topology: Not Supported\n", "error message"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", ""),
        ("[CUDA Bandwidth Test] - Starting...\n Host to Device Bandwidth, 1 Device(s)\n", "bandwidthTest"),
        ("GPU 0: NVIDIA L4 (UUID: GPU-0)\nGPU 1: NVIDIA L4 (UUID: GPU-1)\n", "list of GPUs"),
        ("==============NVSMI LOG==============\n", "nvidia-smi -q"),
        ("[77.123] NVRM: Xid (PCI:0000:3b:00): 74, pid=1\n", "Xid"),
    ],
)
def test_neighbours_of_what_is_read_are_called_by_name(text, word):
    report = diagnose(text)
    assert report.exit_status in (1, 2)
    assert word in " ".join(report.saw)
    assert not report.sweeps


def test_what_is_repeated_for_ever_is_kept_only_up_to_a_bound():
    links = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: x)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n"
    found = read(links * 3000).nvlink
    assert len(found.gpus) == 1
    assert len(found.damaged) == MOST_DAMAGES
    assert len(read(matrix(4 * (1 - np.eye(4, dtype=int))) * 300).topos) <= 64
    peers = "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n     0 900.0 20.0\n     1 21.0 900.0\n"
    assert len(read(peers * 2000).p2p.matrices) == 1


def test_wrong_data_behind_twenty_thousand_rows_is_seen():
    good, bad = row(2**22, 150, 1.75), row(2**23, 160, 1.75, check="9")
    report = diagnose(HEAD.format(devices=devices(8, "NVIDIA A100-SXM4-80GB")) + good * 20_050 + bad)
    assert report.findings[0].code == "wrong-data"
    assert not report.sweeps


@pytest.mark.parametrize("keys", [("log", "stream"), ("time", "message"), ("msg", "level")])
def test_a_container_log_of_json_lines_is_unwrapped_and_its_other_fields_dropped(keys):
    entry = lambda line: {key: line + "\n" if key in ("log", "message", "msg") else "hunter2" for key in keys}  # noqa: E731
    report = diagnose("".join(json.dumps(entry(line)) + "\n" for line in log(228).splitlines()))
    assert (report.exit_status, report.sweeps[0].system, len(report.sweeps[0].message_B)) == (0, "dgx-a100", 11)
    assert "hunter2" not in json.dumps(as_json(report)) + repr(report.readings)


def test_sockets_between_hosts_are_a_finding_where_nothing_else_judges():
    said = "box-0:70:99 [0] NCCL INFO Using network Socket\n"
    report = diagnose(said + log(2.1, n=16))
    assert report.exit_status == 1
    assert report.findings[0].code == "over-sockets"
    assert diagnose(said + log(2.1, n=16), host_Bps=2.5e9).exit_status == 0


def test_shapes_are_told_as_they_are():
    some = [[0, 4, 0], [4, 0, 0], [0, 0, 0]]
    text = matrix(np.array(some)).replace("NV0", "SYS")
    assert diagnose(text).notes[0].startswith("two of 3 GPUs")
    every = np.array([[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]])
    assert "joined pair by pair, up to 2" in diagnose(matrix(every)).notes[0]


@pytest.mark.parametrize("word", ["1e999", "-1e999", "9" * 400, "1" + "0" * 400 + ".5", "1e308"])
@pytest.mark.parametrize("place", range(9))
def test_numbers_beyond_every_machine_are_no_numbers(word, place):
    words = row(2**22, 150, 1.75).split()
    words[4 + place] = word
    text = HEAD.format(devices=devices(8, "NVIDIA A100-SXM4-80GB")) + row(2**21, 120, 1.75) + "  ".join(words) + "\n"
    report = diagnose(text + f"# Avg bus bandwidth : {word}\n")
    said = in_words(report) + json.dumps(as_json(report), allow_nan=False)
    assert not {"inf", "nan"} & set(said.lower().replace(":", " ").split())


def test_a_footer_of_zero_does_not_stop_the_judging():
    report = diagnose(log(228).replace("61.3", "0"))
    assert report.exit_status == 0
    assert any("footer's average 0" in note for note in report.notes)
