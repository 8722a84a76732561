from __future__ import annotations

import numpy as np

from gossamer.data import Vocabulary
from gossamer.models.markov.explaining import state_table, transition_table


def test_states_are_described_by_what_they_emit():
    expected = np.array([[0.1, 0.9], [0.6, 0.4]])
    rows = state_table(
        np.array([1.0, 0.0]), np.array([2.0, 3.0]), expected, Vocabulary(["ham", "eggs"]), are_probs=True, n=1
    )
    assert rows == [{"state": 0, "begins": 1.0, "mean duration": 2.0, "emits": "eggs 0.90, ham 0.10"}]
    rows = state_table(np.ones(2), np.ones(2), np.arange(10.0).reshape(2, 5), None, are_probs=False, n=5)
    assert rows[1]["emits"] == "5, 6, 7, 8 …"


def test_moves_leave_out_staying():
    moves = transition_table(np.array([[0.7, 0.3], [0.4, 0.6]]), 2)
    assert moves == [{"from": 1, "to": 0, "probability": 0.4}, {"from": 0, "to": 1, "probability": 0.3}]
