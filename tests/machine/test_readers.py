"""What readers return for single shapes: blanks, N/A, damage, unknowns, dropped secrets."""

import json

import numpy as np
import pytest

from course_lib.machine import fabricof, nccltests, nvbandwidth, nvlink, p2p, ranks, recognise, topo
from course_lib.machine.gallery import FIXTURES
from course_lib.machine.judging.bounds import network_bounds

ROW = "   134217728      33554432     float     sum      -1    631.2  212.64  372.12      0    630.5  212.87  372.53      0"


def jobs(text):
    return nccltests.read(text + "\n").jobs


def test_trailing_columns_and_dates_do_not_shift_a_row():
    want = jobs(ROW)[0].rows[0]
    for extra in ("  2026-11-29 17:20:41", "  RING  SIMPLE  16", "   # note", "  99.8%"):
        row = jobs(ROW + extra)[0].rows[0]
        assert (row.out, row.inplace) == (want.out, want.inplace)


def test_a_row_without_a_number_is_damaged_not_shifted():
    words = ROW.split()
    for k in range(5, len(words) - 1):
        if k == 12:
            continue
        log = nccltests.read("  ".join(words[:k] + words[k + 1 :]) + "\n")
        assert log.rows == (), k
        assert log.n_damaged == 1


def test_two_rows_in_one_line_are_two_rows():
    second = ROW.replace("134217728      33554432", " 268435456      67108864").replace(
        "631.2  212.64", "1262.4  212.64"
    )
    second = second.replace("630.5  212.87", "1261.0  212.87")
    assert [row.size_B for row in jobs(ROW + second)[0].rows] == [134217728, 268435456]


def test_not_available_is_none():
    row = jobs(ROW.replace("372.53      0", "372.53    N/A"))[0].rows[0]
    assert row.inplace.wrong is None
    assert row.out.wrong == 0


def test_an_error_column_is_a_magnitude_not_a_count():
    text = (FIXTURES / "nccl_allreduce_64.txt").read_text(encoding="utf-8")
    half = nccltests.read(text).rows[0].out
    assert half.wrong is None
    assert half.error == 3e-6


def test_rounded_rates_leave_a_range_of_ranks():
    job = nccltests.read(FIXTURES / "nccl_allreduce_64.txt").jobs[0]
    assert job.n_ranks is None
    low, high = job.ranks_range
    assert low <= 64 <= high


def test_size_over_count_gives_the_ranks_of_a_collective_that_splits():
    assert nccltests.read(FIXTURES / "nccl_alltoall_64.txt").jobs[0].n_ranks == 64


def test_devices_that_contradict_the_numbers_leave_the_ranks_unknown():
    text = "#  Rank  0 Group  0 Pid  1 on h device  0 [0000:41:00] NVIDIA H100\n" * 1
    text += "#  Rank  1 Group  0 Pid  2 on h device  1 [0000:42:00] NVIDIA H100\n" + ROW
    job = jobs(text)[0]
    assert job.contradicts
    assert job.n_ranks != 2


def test_several_jobs_in_one_log_are_several_jobs():
    one = "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728\n" + ROW + "\n# Avg bus bandwidth    : 300.1\n"
    log = nccltests.read(one + one.replace("372.12", "186.06 ".strip()).replace("372.53", "186.26"))
    assert len(log.jobs) == 2
    assert [job.average_Bps for job in log.jobs] == [300.1e9, 300.1e9]
    assert log.jobs[0].n_ranks == 8


def test_the_environment_of_json_is_nowhere():
    text = (FIXTURES / "nccl_json_v3.json").read_text(encoding="utf-8")
    assert "planted-secret" in text
    for form in (text, json.dumps(json.loads(text)), text[: len(text) // 2]):
        reading = recognise.read(form + "\n")
        assert "planted-secret" not in repr(reading)
        assert "host-a" not in repr(reading)
        assert reading.nccl is not None
    whole = recognise.read(text).nccl
    assert whole.jobs[0].n_ranks == 8
    assert recognise.read(text[: len(text) // 2]).nccl.damaged


def test_nvbandwidth_json_gives_the_same_matrices():
    case = {
        "name": "device_to_device_memcpy_read_ce",
        "status": "Passed",
        "bandwidth_description": "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
        "bandwidth_matrix": [["N/A", "271.5"], ["270.9", "N/A"]],
    }
    waived = {"name": "x_y_z", "status": "Waived"}
    data = {"nvbandwidth": {"GPU Device List": ["0: NVIDIA A100-SXM4-40GB: (0)"], "testcases": [case, waived]}}
    found = recognise.read(json.dumps(data) + "\n").nvbandwidth
    assert found.matrices[0].off_diagonal().tolist() == [271.5, 270.9]
    assert found.waived == 1
    assert found.gpus == ("A100 SXM",)


def test_a_matrix_with_a_short_row_keeps_the_others():
    text = (FIXTURES / "nvbandwidth_8gpu.txt").read_text(encoding="utf-8").split("\n")
    text[5] = text[5][:40]
    found = nvbandwidth.read("\n".join(text))
    assert found.matrices[0].values.shape == (7, 8)
    assert found.damaged[0].line == 6


def test_an_unknown_unit_is_kept_and_not_judged():
    text = "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (MB/s)\n D\\D 0 1\n 0 900 22\n 1 22 900\n"
    from course_lib.machine.diagnose import diagnose

    assert p2p.read(text).matrices[0].unit == "MB/s"
    assert diagnose(text).exit_status == 2


def test_links_below_no_gpu_are_damage():
    status = nvlink.read("Link 0: 25 GB/s\nGPU 1: Tesla V100-SXM2-16GB (UUID: x)\n Link 0: 25 GB/s\n Link 0: 25 GB/s\n")
    assert [g.gpu for g in status.gpus] == [1]
    assert len(status.damaged) == 2


MATRIX = [
    "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity",
    "GPU0\t X \tNV4\tSYS\t0-7\t0",
    "GPU1\tNV4\t X \tSYS\t0-7\t0",
    "GPU2\tSYS\tSYS\t X \t8-15\t1",
]


def test_a_lost_cell_is_never_shifted_over():
    lost = [*MATRIX[:2], "GPU1\t X \tSYS\t0-7\t0", MATRIX[3]]
    made = topo.read("\n".join(lost) + "\n")
    assert made.damaged
    assert made.links[1][2] == "SYS"  # known from the row of GPU2
    assert made.links[0][1] == "NV4"


def test_cells_that_disagree_are_unknown():
    made = topo.read("\n".join([*MATRIX[:2], "GPU1\tNV2\t X \tSYS\t0-7\t0", MATRIX[3]]) + "\n")
    assert made.asymmetric == (("GPU0", "GPU1"),)
    assert made.links[0][1] == ""
    assert not made.complete


def test_rows_in_any_order_and_a_wrapped_header_are_read():
    wrapped = ["\tGPU0", "GPU1\tGPU2\tCPU Affinity\tNUMA Affinity", MATRIX[3], MATRIX[1], MATRIX[2]]
    assert topo.read("\n".join(wrapped) + "\n").links == topo.read("\n".join(MATRIX) + "\n").links


def test_without_a_header_columns_behind_the_gpus_stay_unknown():
    made = topo.read("GPU0  X  NV12  PXB  SYS  0-7\nGPU1  NV12  X  SYS  PXB  0-7\n")
    assert made.gpus == ("GPU0", "GPU1")
    assert made.nics == ()
    assert any("last 2 columns" in word for word in made.unknown)


@pytest.mark.parametrize(
    ("name", "shape", "per_gpu", "link_GBps", "bisection"),
    [
        ("topo_a100_nv12.txt", "switch", 12, 25, 1200),
        ("topo_a100_mesh_spaces.txt", "mesh", 12, 25, 400),
        ("topo_v100_cube_tabs.txt", "partial mesh", 6, 25, None),
        ("topo_2gpu_phb.txt", "pcie", 0, None, None),
        ("topo_h100_nic_rows_cut.txt", "switch", 18, None, None),
    ],
)
def test_a_matrix_becomes_a_topology(name, shape, per_gpu, link_GBps, bisection):
    made = fabricof.fabric(topo.read(FIXTURES / name))
    assert made.shape == shape
    assert set(made.links_per_gpu) == {per_gpu}
    assert made.link_Bps == (None if link_GBps is None else link_GBps * 1e9)
    if bisection:
        from course_lib.fabric.cuts import bisection_Bps

        assert bisection_Bps(made.topology) == pytest.approx(bisection * 1e9)


def test_a_named_gpu_settles_the_rate():
    matrix = topo.read(FIXTURES / "topo_h100_nic_rows_cut.txt")
    assert fabricof.fabric(matrix, "H100 SXM").link_Bps == 25e9
    assert fabricof.fabric(matrix, "B200").link_Bps == 50e9
    assert fabricof.fabric(matrix, "B200").topology.bandwidth_Bps.max() == 900e9
    assert {rate for rate, _models in fabricof.fabric(matrix).candidates} == {25e9, 50e9}


def test_bounds_of_the_network():
    two = {b.name: b.busbw_Bps for b in network_bounds("all_reduce", 16, 2, 50e9)}
    assert two["two-host tree"] == pytest.approx(93.75e9)
    four = {b.name: b.busbw_Bps for b in network_bounds("all_reduce", 32, 4, 50e9)}
    assert four["hard"] == pytest.approx(64.58e9, rel=1e-3)
    assert network_bounds("all_reduce", 8, 1, 50e9) == []


def test_bus_factors_give_the_ranks_back():
    for n in (2, 3, 8, 72):
        low, high = ranks._ranks_of("all_reduce", (2 * (n - 1) / n - 1e-5, 2 * (n - 1) / n + 1e-5))
        assert low <= n <= high


def test_memory_stays_small_in_a_long_log(tmp_path):
    import tracemalloc

    line = "host:1:1 [0] NCCL INFO Channel 07/1 : 0[0] -> 1[1] via P2P/direct pointer/read\n"
    path = tmp_path / "long.log"
    with open(path, "w", encoding="utf-8") as file:
        for _k in range(300):
            file.write(line * 100 + ROW + "\n")
    tracemalloc.start()
    log = recognise.read(path).nccl
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(log.rows) == 300
    assert peak < 4e6  # the file has 2.5 MB, rows take the most
    assert np.isfinite(peak)


def test_a_cell_lost_before_the_x_moves_no_card():
    text = "\tGPU0\tGPU1\tmlx5_0\tmlx5_1\nGPU0\t X \tNV4\tPIX\tSYS\nGPU1\t X \tSYS\tPIX\n"
    made = topo.read(text)
    assert made.to_nics[1] == ("", "")
    assert made.to_nics[0] == ("PIX", "SYS")
    assert made.links[1][0] == "NV4"


def test_the_environment_is_dropped_while_parsing():
    from course_lib.machine.jsonresults import parse

    assert parse('{"env": ["A=b"], "args": ["c"], "results": [], "config": {"env": "d"}}')[0] == {
        "results": [],
        "config": {},
    }
