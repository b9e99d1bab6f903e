"""The ledger of claims: every lesson, question, source and number exists, and docs/claims.md is what it says."""

import pytest

from course_lib.grading import bank, claims

ROWS = [row for part in ("claims", "systems", "practice") for row in claims.ledger()[part]]
QUESTIONS = {q.id for q in bank.all_questions()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.get("claim", row.get("name"))[:40])
def test_every_row_is_taught_and_asked_for(row):
    assert row["lessons"]
    assert row["questions"]
    for lesson in row["lessons"]:
        assert list((claims.REPOSITORY / "notebooks").glob(f"{lesson}_*.ipynb")), f"lesson {lesson} is missing"
    assert set(row["questions"]) <= QUESTIONS
    assert "{" not in claims.truth(row)
    assert row.get("verdict", "wrong") in ("wrong", "needs a condition", "true in kind")


def test_every_claim_and_system_has_a_source_with_an_address():
    for part in ("claims", "systems"):
        for row in claims.ledger()[part]:
            assert row["sources"]
            assert all(claims.source(key).address.startswith("https://") for key in row["sources"])


def test_the_page_is_generated():
    written = (claims.REPOSITORY / "docs" / "claims.md").read_text(encoding="utf-8")
    assert written == claims.page(), "run: python -m course_lib.grading.claims"
