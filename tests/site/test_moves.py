"""A page without a kernel offers the positions that the questions of its lesson, and their answers, name."""

import importlib
import tomllib
from pathlib import Path

import pytest

from course_lib.comm import ring

from ..scripts import scripts

ROOT = Path(__file__).parents[2]

# What a lesson asks its reader to set, or answers with, beside its explorer: as it is written on the control.
NAMED = [
    ("00", "decoder", "line", ["46.6 GiB/s per direction", "900 GB/s", "400G"]),
    ("00", "decoder", "unsaid", ["ask me"]),
    ("02", "many_or_one", "total_B", ["1 MB", "1 GB"]),
    ("02", "drag_the_line", "latency_s", ["1.8 µs"]),
    ("02", "drag_the_line", "bandwidth_Bps", ["11 GB/s"]),  # the answer says 11.2; positions have two digits
    ("04", "stepper", "message_B", ["8 B", "1 GiB", "16 GiB"]),
    ("05", "ring_tree_or_switch", "n_ranks", ["8", "64"]),
    ("06", "tensor_degree", "tensor", ["8", "16", "64"]),
    ("07", "pipeline_timeline", "p", ["4", "8"]),
    ("07", "pipeline_timeline", "m", ["1", "4", "8", "32"]),
    ("07", "pipeline_timeline", "v", ["2", "4"]),
    ("08", "buckets", "bucket_B", ["1 MiB", "32 MiB", "256 MiB", "4 GiB"]),
    ("08", "buckets", "tokens", ["1,024", "4,096", "8,192", "16,384"]),
    ("09", "when_it_pays", "n_ranks", ["8", "64", "256"]),
    ("09", "when_it_pays", "slower", ["1 ×", "10 ×", "30 ×"]),
    ("09", "when_it_pays", "bandwidth_Bps", ["3.6 Tb/s"]),
    ("10", "boxes_or_rack", "degree", ["8", "64", "72", "256"]),
    ("10", "boxes_or_rack", "tokens", ["8", "128"]),
    ("11", "hash_or_spread", "seed", [str(i) for i in range(1, 13)]),  # "in these twelve"
    ("12", "plan_picker", "tensor", ["2", "4", "16"]),
    ("12", "plan_picker", "expert", ["8", "64"]),
    ("13", "cluster", "n_gpus", ["512", "8,192", "131,072"]),
    ("13", "cluster", "rate", ["3.79"]),
    ("13", "cluster", "save_s", ["500 ms", "10 s"]),
    ("14", "picker", "units", ["1", "3", "4"]),
    ("14", "picker", "spares", ["4"]),
    ("14", "picker", "expert", ["16"]),
    ("14", "picker", "per_gpu", ["160"]),
    ("14", "picker", "interval_s", ["8 h"]),
    ("A", "read_a_log", "system", ["dgx-a100", "dgx-b200"]),
]


@pytest.fixture(scope="module")
def moving():
    """Return site/moving.py as a module."""
    return scripts("site", "moving")[0]


@pytest.mark.parametrize(("lesson", "name", "control", "texts"), NAMED, ids=[f"{n[0]}-{n[2]}" for n in NAMED])
def test_what_a_question_names_can_be_set_on_the_page(moving, lesson, name, control, texts):
    explorer = getattr(importlib.import_module(f"course_lib.explorers.lesson{lesson}"), name)
    shown = explorer(ring.all_reduce(8)) if name == "stepper" else explorer()
    plan = tomllib.loads((ROOT / "site" / "moves.toml").read_text(encoding="utf-8")).get(lesson, {})
    offered = moving.offer(control, shown.controls[control], plan.get(control)).texts
    assert [text for text in texts if text not in offered] == [], offered
