"""What is linear in features, by rounds of EM and ridge regression."""

from __future__ import annotations

import torch
from test_neural_training import SMALL, shifted
from tiny_series import tiny_batch, tiny_parameters, tiny_problem, tiny_series

from gossamer.models.markov import NeuralEM
from gossamer.models.markov.neural.regression import regress_on_features, weighted_ridge


def test_weights_and_ridge_of_planted_columns():
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(200, 3, dtype=torch.double, generator=generator)
    true = torch.tensor([[2.0, 0.0, -1.0], [0.0, 0.0, 0.0]], dtype=torch.double)
    targets = 5 + features @ true.T + 0.1 * torch.randn(200, 2, dtype=torch.double, generator=generator)
    weights = torch.ones_like(targets)
    targets[:20], weights[:20] = 100.0, 0.0  # what was not observed does not count
    usual = torch.full((2,), 5.0, dtype=torch.double)
    found = weighted_ridge(features, targets, weights, usual)
    torch.testing.assert_close(found.weights, true, atol=0.1, rtol=0)
    torch.testing.assert_close(found.intercept, usual, atol=0.1, rtol=0)
    nothing = weighted_ridge(features, targets, 0 * weights, usual)
    torch.testing.assert_close(nothing.predict(features), usual.expand(200, 2))


def test_without_rounds_there_is_the_start():
    batch = tiny_batch()
    problem = tiny_problem(batch)
    start = problem.layout.pack(tiny_parameters())[0]
    features = torch.randn(3, 2, dtype=torch.double)
    found = regress_on_features(start, features, tiny_series(batch), problem, 0)
    torch.testing.assert_close(found.predict(features), start.expand(3, -1))


def test_the_network_begins_with_it():
    train, test = shifted(), shifted(seed=1)
    still = {"method": "mlp-mapping", "epochs": 1, "learning_rate": 1e-9, **SMALL}
    with_rounds, without = (
        NeuralEM(regression_rounds=rounds, **still).fit(train).evaluate(test)["hidden_loglik"] for rounds in (5, 0)
    )
    assert with_rounds > without + 0.3
