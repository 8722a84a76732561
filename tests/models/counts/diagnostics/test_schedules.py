"""Refined early against refined late, from made-up histories."""

from __future__ import annotations

import pytest

from gossamer.models.counts.diagnostics.schedules import compare_schedules

MEASURE = "perplexity_document_refined"


def history(values: list[float], used: list[int] | None = None) -> list[dict[str, float]]:
    records: list[dict[str, float]] = [{"epoch": epoch, MEASURE: value} for epoch, value in enumerate(values)]
    for record, number in zip(records, used or [], strict=False):
        record["used_directions"] = float(number)
    return records


@pytest.mark.parametrize(
    ("late", "epoch"),
    [
        ([12, 11, 10], None),  # never
        ([12, 8, 7.5], None),  # equal for a while, then behind again
        ([12, 8, 6], 2),
        ([9, 8, 7], 1),  # never worse
        ([12, 7, 9], None),
    ],
)
def test_when_the_late_one_catches_up_for_good(late, epoch):
    assert compare_schedules(history([9, 8, 7]), history(late)).catches_up == epoch


def test_the_table_has_best_and_last_values_and_directions():
    found = compare_schedules({"epochs": history([9, 7, 8], [3, 4, 5])}, history([12, 11, 10]))
    early, late = found.rows()
    assert early == {
        "schedule": "early",
        "epochs": 3,
        f"best {MEASURE}": 7,
        f"last {MEASURE}": 8,
        "directions used": 5,
    }
    assert late["directions used"] is None
    assert found.used["early"].values.tolist() == [3, 4, 5]


def test_only_epochs_that_both_have_are_compared():
    stopped = history([12, 8])
    assert compare_schedules(history([9, 8, 7]), stopped).catches_up == 2


def test_mistakes_are_answered_with_a_sentence():
    with pytest.raises(ValueError, match="history must have 'valid_loss'"):
        compare_schedules(history([1]), history([2]), measure="valid_loss")
    with pytest.raises(ValueError, match="early and late must have an epoch in common, got none"):
        compare_schedules(history([1]), [{"epoch": 5, MEASURE: 1.0}])
