from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer.data import Interactions, Vocabulary
from gossamer.models.linear import ALS
from gossamer.models.linear.least_squares import frequency_penalty
from gossamer.testing import oracles
from gossamer.testing.contracts import two_blocks


def test_fold_in_is_exact_and_batch_independent():
    history = two_blocks().history
    model = ALS(num_factors=4, epochs=3).fit(history)
    weights = history.matrix().toarray().astype(np.float64)
    penalty = frequency_penalty(history.matrix(), 0.1, 0.01, 1.0)
    expected = oracles.ials_rows(weights, model.item_factors_.astype(np.float64), penalty, 0.1)
    np.testing.assert_allclose(model.fold_in(history), expected, atol=1e-3)
    np.testing.assert_allclose(model.fold_in(history[3:4]), expected[3:4], atol=1e-3)


def test_both_solvers_reach_the_same_loss():
    history = two_blocks().history
    losses = [
        ALS(num_factors=3, epochs=60, solver=solver).fit(history).history_["epochs"][-1]["loss"]
        for solver in ("cg", "cholesky")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_history_has_the_loss_of_every_epoch_and_it_falls():
    history = ALS(num_factors=3, epochs=5).fit(two_blocks().history).history_
    losses = [epoch["loss"] for epoch in history["epochs"]]
    assert len(losses) == 5
    assert (np.diff(losses) <= 1e-6).all()


def test_the_best_epoch_by_validation_is_kept():
    held_out = two_blocks()
    model = ALS(num_factors=3, epochs=30, patience=2).fit(held_out.history, held_out)
    scores = [epoch["ndcg@100"] for epoch in model.history_["epochs"]]
    assert model.history_["stopped_early"]
    assert model.history_["best_epoch"] == int(np.argmax(scores)) == len(scores) - 3
    assert model.evaluate(held_out)["ndcg@100"] == max(scores)
    shorter = ALS(num_factors=3, epochs=model.history_["best_epoch"] + 1).fit(held_out.history)
    np.testing.assert_array_equal(model.item_factors_, shorter.item_factors_)


def test_a_resumed_run_ends_with_the_same_bits(tmp_path: Path):
    history = two_blocks().history
    straight = ALS(num_factors=3, epochs=6).fit(history)
    ALS(num_factors=3, epochs=2).fit(history, checkpoint=tmp_path / "checkpoint", log=tmp_path / "log.jsonl")
    resumed = ALS(num_factors=3, epochs=6).fit(history, checkpoint=tmp_path / "checkpoint", log=tmp_path / "log.jsonl")
    np.testing.assert_array_equal(resumed.item_factors_, straight.item_factors_)
    assert len(resumed.history_["epochs"]) == 6
    assert (tmp_path / "log.jsonl").read_text(encoding="utf-8").count('"epoch"') >= 6


def test_other_seeds_start_elsewhere():
    history = two_blocks().history
    first, second = (ALS(num_factors=3, epochs=1, random_state=seed).fit(history) for seed in (0, 1))
    assert not np.allclose(first.item_factors_, second.item_factors_)


def test_explanation_separates_the_blocks():
    table = ALS(num_factors=3, epochs=10).fit(two_blocks().history).explain(1)["directions in which items differ"]
    ends = [{name[0] for name in table[0][end].split(", ")} for end in ("one end", "other end")]
    assert sorted(map(sorted, ends)) == [["a"], ["b"]]


def test_a_second_fit_forgets_what_was_made_of_the_first_factors():
    held_out = two_blocks()
    again = ALS(num_factors=3, epochs=5).fit(held_out.history)
    again.recommend(held_out.history)
    other = Interactions.from_pairs(["ann", "ann", "bob"], ["tea", "jam", "tea"])
    again.fit(other)
    np.testing.assert_array_equal(again.fold_in(other), ALS(num_factors=3, epochs=5).fit(other).fold_in(other))


def test_an_item_that_nobody_has_stays_finite_over_many_sweeps():
    """Its factors shrink towards zero in every sweep, and squares of tiny numbers underflow in single precision."""
    data = two_blocks().history
    with_a_stranger = Interactions(data.users, Vocabulary([*data.items.ids, "nobody's"]), data.indptr, data.indices)
    model = ALS(num_factors=4, epochs=80).fit(with_a_stranger)
    assert np.isfinite(model.item_factors_).all()
    assert np.abs(model.item_factors_[-1]).max() < 1e-6
