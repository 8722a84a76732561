"""Methods by which parameters of a series are made."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_series import GAUSSIAN, layers, tiny_batch, tiny_parameters, tiny_problem, tiny_series

from gossamer.data import Vocabulary
from gossamer.models.markov.neural.em_layer import log_likelihood
from gossamer.models.markov.neural.methods import hidden_steps, name_states, oracle_vectors, run_em, unrolled_for


def test_em_makes_every_series_likelier():
    batch = tiny_batch()
    problem, series = tiny_problem(batch), tiny_series(batch)
    before = log_likelihood(tiny_parameters(3), series, GAUSSIAN, 8)
    for iterations in (1, 4):
        found = run_em(tiny_parameters(), series, problem, iterations=iterations, tolerance=0.0)
        after = log_likelihood(found, series, GAUSSIAN, 8)
        assert (after > before).all()
        before = after
    one = run_em(tiny_parameters(), series, problem, iterations=1, tolerance=0.0)
    settled = run_em(tiny_parameters(), series, problem, iterations=50, tolerance=np.inf)
    again = run_em(one, series, problem, iterations=1, tolerance=0.0)
    torch.testing.assert_close(settled["emission.means"], again["emission.means"])


def test_states_are_named_after_the_truth():
    batch = tiny_batch()
    found = 1 - batch.states
    renamed = name_states(tiny_parameters(), found, batch)
    assert renamed["emission.means"].flatten().tolist() == [1.6, 0.3]
    assert renamed["transition"][0].tolist() == [[0, 1], [1, 0]]
    assert name_states(tiny_parameters(), found, batch._replace(states=None))["initial"][0, 0] == 0.6
    assert name_states(tiny_parameters(), found, batch._replace(states=found + 5))["initial"][0, 0] == 0.6


def test_hidden_steps_are_drawn():
    mask = hidden_steps(10_000, 0.4, np.random.default_rng(0))
    assert 0.38 < mask.mean() < 0.42


def test_the_rivals_have_their_layers():
    assert unrolled_for("mlp-mapping", layers()).num_layers == 0
    assert unrolled_for("em-mapping", layers()).num_layers == 0
    assert unrolled_for("initial-fusion", layers()) == layers(is_between=False, final="em")
    assert unrolled_for("neural-em", layers()) == layers()


def test_the_oracle_needs_names_of_its_data_set():
    batch = tiny_batch(1)
    problem = tiny_problem(batch)
    with pytest.raises(ValueError, match="data must be of the data set 'hsmm-collection' for method='oracle', got"):
        oracle_vectors(batch, problem)
    with pytest.raises(
        ValueError, match="series must be those of the data set 'hsmm-collection', got one called 'ann'"
    ):
        oracle_vectors(batch._replace(names=Vocabulary(["ann"])), problem)
