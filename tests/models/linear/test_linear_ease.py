from __future__ import annotations

import logging

import numpy as np
import pytest

from gossamer.data.interactions import Interactions
from gossamer.models.linear import EASE, ease
from gossamer.testing import oracles
from gossamer.testing.contracts import two_blocks


def test_weights_are_those_of_the_closed_form():
    history = two_blocks().history
    model = EASE(regularization=2.0, weighted=True).fit(history)
    expected = oracles.ease_weights(history.matrix("rating").toarray().astype(float), 2.0)
    np.testing.assert_allclose(model.weights_, expected, atol=1e-4)


def test_memory_is_stated_before_it_is_taken(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, logger="gossamer"):
        EASE().fit(two_blocks().history)
    assert "EASE needs 0.00 GB for 12 items" in caplog.text
    assert EASE.memory_needed(12) == 4 * 12 * 12


def test_too_many_items_are_refused_with_a_way_out():
    with pytest.raises(
        ValueError, match=r"^data must have fewer items for EASE, got 12, .* max_bytes, or use SLIM or ALS$"
    ):
        EASE(max_bytes=4 * 12 * 12 - 1).fit(two_blocks().history)
    EASE(max_bytes=4 * 12 * 12).fit(two_blocks().history)


def test_the_default_limit_is_what_the_machine_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ease, "available_bytes", lambda: 100)
    with pytest.raises(ValueError, match="for EASE, got 12"):
        EASE().fit(two_blocks().history)
    monkeypatch.setattr(ease, "available_bytes", lambda: None)
    EASE().fit(two_blocks().history)


def test_scores_do_not_depend_on_how_users_are_batched(monkeypatch: pytest.MonkeyPatch):
    history: Interactions = two_blocks().history
    model = EASE(regularization=1.0).fit(history)
    whole = model.recommend(history, n=5)
    monkeypatch.setattr("gossamer.models.item_ranker.batch_rows", lambda _: 7)
    parts = model.recommend(history, n=5)
    np.testing.assert_array_equal(whole.items, parts.items)
    np.testing.assert_array_equal(whole.scores, parts.scores)
