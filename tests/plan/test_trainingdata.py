import numpy as np
import pytest

from course_lib.plan import stepcompared, stepevidence, trainingdata
from course_lib.plan.efficiency import DESCRIBED, constants
from course_lib.plan.trainingdata import dropped, pairs, runs, sources, taken_apart, two

ROW = dict.fromkeys(trainingdata._SIZES, "1") | {"model": "LLAMA3_8B", "precision": "FP8"}


def test_judging_pairs_train_nothing():
    judged, trained = set(pairs(runs("judging"))), set(pairs(runs("training")))
    assert not judged & trained
    assert len(judged) > 20
    assert len(trained) > 30


def test_every_setting_is_there_once_and_has_a_source():
    keys = [
        (
            r.model,
            r.system,
            r.on,
            r.layout,
            r.global_batch,
            r.micro_batch,
            r.interleave,
            r.seq,
            r.precision,
            r.recompute,
            r.zero,
            r.sequence,
        )
        for r in runs()
        if not r.model.startswith("mpt")  # the same plan on 40 and 80 GB cards is two settings
    ]
    assert len(keys) == len(set(keys))
    for r in runs():
        assert r.sources
        assert all(sources()[s][1].startswith("https://") for s in r.sources)
        assert r.step_s > 0
        assert r.layout.n_ranks >= 1


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("597[^note]", ("597", "597")),
        ("1 (2)", ("1", "2")),
        ("(8)", None),
        ("{1}", None),
        ("n/a", ("n/a", "n/a")),
        ("", ("", "")),
    ],
)
def test_cells_are_read_by_the_rule(cell, value):
    assert two(cell) == value


def test_rows_with_two_values_are_two_settings_only_with_two_precisions():
    twice = ROW | {"tensor": "1 (2)", "tokens_per_s_per_gpu": "20 (10)"}
    assert taken_apart(twice) == []
    both = taken_apart(twice | {"precision": "FP8-CS (FP8-MX)"})
    assert [r["tensor"] for r in both] == ["1", "2"]
    assert taken_apart(ROW | {"precision": " "}) == []
    assert taken_apart(ROW | {"model": "Qwen3 (tokendrop)"}) == []
    assert sum(dropped().values()) > 50


def test_held_out_pairs_are_met_within_the_target():
    found = stepcompared.compare("judging")
    assert found.median <= stepcompared.TARGET
    assert np.median([np.median(np.abs(e)) for e in found.by_pair().values()]) <= stepcompared.TARGET


def test_shown_tables_are_met():
    assert max(abs(row.error) for row in stepcompared.korthikanti()) < 0.2
    assert max(abs(row.error) for row in stepcompared.llama3()) < 0.25


def test_constants_are_what_the_fit_wrote():
    for column in ("shipped", "training"):
        k = constants(column)
        assert set(k) == {c.name for c in DESCRIBED}
        assert all(0 < k[n] < 1 for n in k if n.startswith(("best_", "attention_")) or n in ("hbm", "hidden_by"))


def test_the_page_is_the_generators():
    page = stepevidence.Path(__file__).parents[2] / "docs" / "accuracy_training.md"
    assert page.read_text(encoding="utf-8") == stepevidence.report()


def test_memory_is_near_what_was_displayed():
    ratio = np.array([predicted / seen for _run, seen, predicted in stepcompared.memory_rows()])
    assert 0.6 < np.median(ratio) < 1.05


def test_blind_rows_are_no_part_of_what_was_fitted_or_judged():
    blind = set(trainingdata.BLIND)
    assert len(runs("blind")) > 20
    for run in runs("blind"):
        assert run.part == "blind"
        assert set(run.sources) <= blind
    assert not any(blind & set(run.sources) for run in runs())


def test_blind_rows_are_met_as_well_as_promised():
    for column in ("training", "shipped"):
        assert stepcompared.compare("blind", column).median <= stepcompared.TARGET


def test_calculon_stands_beside_every_row_of_its_table():
    rows = {tuple(row.name.split(", ")): row.published for row in stepcompared.korthikanti()}
    assert rows.keys() == stepcompared.calculon().keys()
    for key, seconds in stepcompared.calculon().items():
        assert abs(seconds / rows[key] - 1) < 0.1
