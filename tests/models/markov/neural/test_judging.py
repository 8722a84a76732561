"""Measures of models of single series."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data import Sequences, Vocabulary
from gossamer.models.markov import NeuralEM
from gossamer.models.markov.neural.judging import hidden_log_likelihood, next_hits, split_last
from gossamer.testing.right_answers import two_phases


def alternating(num_series: int = 8, length: int = 12) -> Sequences:
    """Return series of two categories in runs of three, the last of them whole."""
    runs = [np.tile([number % 2] * 3 + [1 - number % 2] * 3, 3)[:length] for number in range(num_series)]
    events = np.concatenate(runs)
    return Sequences(events, np.arange(num_series + 1) * length, vocabulary=Vocabulary(["a", "b"]))


def test_hits_of_the_next_category():
    data = alternating()
    model = NeuralEM(method="pooled-em", num_states=2, emission="categorical", num_starts=2).fit(data)
    hits = model.evaluate(data)
    assert hits["top1"] == 1.0  # a run goes on, more likely than not
    assert hits["top3"] == hits["top5"] == 1.0
    assert next_hits(model, data[:0]) == {}


def test_hits_count_any_category_of_a_step():
    shares = np.eye(3)[alternating().observations] + np.array([0, 0, 0.5])
    data = Sequences(shares, alternating().offsets)
    model = NeuralEM(method="pooled-em", num_states=2, emission="multinomial", num_starts=2).fit(data)
    assert model.evaluate(data)["top3"] == 1.0


def test_the_last_step_is_split_off():
    earlier, last = split_last(alternating(2))
    assert earlier.lengths.tolist() == [11, 11]
    assert last.tolist() == [1, 0]


def test_hidden_steps_are_predicted_from_the_others():
    parts = two_phases()
    model = NeuralEM(method="pooled-em", num_states=2).fit(parts.train)
    measured = model.evaluate(parts.test)
    assert measured["hidden_loglik"] == pytest.approx(
        measured["loglik"], abs=0.6
    )  # one model for all: none has seen it
    assert hidden_log_likelihood(model, model._read(parts.test)) == measured["hidden_loglik"]
    assert measured["label_accuracy"] == measured["matched_accuracy"] == 1.0
