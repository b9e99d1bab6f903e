"""Whatever launchers, schedulers, editors and pipes put in front of lines, the same is read."""

import pytest

from course_lib.machine import gallery, recognise
from course_lib.machine.text import clean, lines

PREFIXES = {
    "mpirun": "[1,0]<stdout>:",
    "mpirun without a stream": "[1,0]:",
    "mpich": "[0] ",
    "srun": "0: ",
    "padded srun": " 0: ",
    "rank": "rank0: ",
    "torchrun": "[rank0]: ",
    "grep of a file": "run-12.log:",
    "grep of a path": "./logs/job_7/run.out:",
    "time": "2026-11-29T09:15:00.123Z ",
    "time with blanks": "2026-11-29 09:15:00,123 ",
    "time in brackets": "[2026-11-29 09:15:00] ",
    "clock": "[09:15:00] ",
    "syslog": "Nov 29 09:15:00 node-7 job[4711]: ",
    "host": "node-7: ",
    "compose": "worker-1  | ",
    "pod": "[pod/nccl-test-launcher-x7k2/main] ",
    "quotation": "> ",
    "kubernetes with a time": "2026-11-29T09:15:00.123456789Z [1,0]<stdout>:",
    "host and tag": "node-7: [1,0]<stdout>: ",
}
NAMES = [
    "nccl_old_error_column.txt", "nccl_alltoall_blank_redop.txt", "nccl_timestamps.txt", "nccl_rccl_extra_columns.txt",
    "topo_h100_nic_rows_cut.txt", "topo_a100_mesh_spaces.txt", "topo_v100_cube_tabs.txt", "nvlink_six_gpus.txt",
    "p2p_enabled_slower.txt", "nvbandwidth_8gpu.txt", "nvbandwidth_waived.txt",
]  # fmt: skip


def plain(reading):
    """What was read, without line numbers and tags."""
    out = [reading.kinds]
    if reading.topo:
        t = reading.topo
        out += [t.gpus, t.nics, t.links, t.to_nics, t.cpu_affinity, t.numa, t.gpu_numa, t.nic_names, t.missing_rows]
    if reading.nccl:
        for job in reading.nccl.jobs:
            rows = [(r.size_B, r.count, r.type, r.redop, r.root, r.out, r.inplace) for r in job.rows]
            out += [job.op, job.n_ranks, job.n_hosts, job.devices, job.average_Bps, job.out_of_bounds, rows]
        out.append(reading.nccl.n_damaged)
    for record in (reading.p2p, reading.nvbandwidth):
        if record:
            out += [(m.name, m.unit, m.arrow, m.rows, m.columns, m.values.tolist()) for m in record.matrices]
            out.append(len(record.damaged))
    if reading.nvlink:
        out.append(reading.nvlink.gpus)
    return repr(out)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_prefix_changes_nothing(prefix):
    for name in NAMES:
        text = (gallery.FIXTURES / name).read_text(encoding="utf-8")
        prefixed = "\n".join(PREFIXES[prefix] + line for line in text.rstrip("\n").split("\n")) + "\n"
        assert plain(recognise.read(prefixed)) == plain(recognise.read(text)), (prefix, name)


@pytest.mark.parametrize("name", NAMES)
def test_encodings_line_ends_codes_and_line_numbers_change_nothing(name):
    text = (gallery.FIXTURES / name).read_text(encoding="utf-8")
    same = plain(recognise.read(text))
    windows = text.replace("\n", "\r\n")
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        assert plain(recognise.read(windows.encode(encoding))) == same, encoding
    assert plain(recognise.read("".join(f"{k}:{line}\n" for k, line in enumerate(text.split("\n")[:-1], 1)))) == same
    assert plain(recognise.read("".join(f"\x1b[32m{line}\x1b[0m\n" for line in text.split("\n")[:-1]))) == same
    assert plain(recognise.read("```\n" + text + "```\n")) == same
    assert plain(recognise.read(text.replace("  ", "\u00a0 "))) == same


def test_tags_stay_with_their_lines():
    assert clean("[1,3]<stderr>:boom")[1:3] == ("3", True)
    assert [line.tag for line in lines("0: a\n1: b\n0: c\n0: d\n")] == ["", "", "0", "0"]
    assert [line.tag for line in lines("3:a\n7:b\n9:c\n")] == ["", "", ""]


def test_processes_that_print_the_same_table_did_not_join():
    text = (gallery.FIXTURES / "nccl_same_gpu_twice.txt").read_text(encoding="utf-8")
    both = "".join(line + "\n" + line.replace("[1,0]", "[1,1]") + "\n" for line in text.split("\n") if "stdout" in line)
    log = recognise.read(both).nccl
    assert [job.tag for job in log.jobs] == ["0", "1"]
    from course_lib.machine.diagnose import diagnose

    assert diagnose(both).findings[0].code == "not-joined"
