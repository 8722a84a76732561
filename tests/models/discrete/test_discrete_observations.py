from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from gossamer.models.discrete.observations import BinaryObservation, CountObservation, RealObservation

X = torch.tensor([[1.0, 0.0, 3.0], [0.0, 2.0, 1.0]], dtype=torch.float64)
OUTPUTS = torch.tensor([[0.3, -1.2, 2.0], [0.1, 0.4, -0.7]], dtype=torch.float64)


def test_binary_likelihoods_are_scipys():
    observation = BinaryObservation(torch.tensor([0.5, 0.0, 1.0], dtype=torch.float64))
    x = (X > 0).double()
    expected = stats.bernoulli.logpmf(x.numpy(), torch.sigmoid(OUTPUTS).numpy()).sum(axis=1)
    np.testing.assert_allclose(observation.log_likelihood(OUTPUTS, x), expected)
    torch.testing.assert_close(observation.inputs(x), x - observation.center)
    assert torch.isfinite(observation.first_outputs()).all()


def test_real_likelihoods_are_densities_in_the_datas_units():
    mean, scale = torch.tensor([1.0, -2.0, 0.5]).double(), torch.tensor([0.1, 3.0, 7.0]).double()
    observation = RealObservation(mean, scale).double()
    with torch.no_grad():
        observation.log_variance.copy_(torch.tensor([0.2, -0.4, -1.0]))
    spread = (observation.log_variance.exp().sqrt() * scale).detach().numpy()
    location = observation.mean(OUTPUTS).detach().numpy()
    expected = stats.norm.logpdf(X.numpy(), location, spread).sum(axis=1)
    np.testing.assert_allclose(observation.log_likelihood(OUTPUTS, X).detach(), expected)


def test_count_likelihoods_are_multinomial_without_the_coefficient():
    observation = CountObservation(torch.tensor([0.2, 0.5, 0.3]).double())
    probs = OUTPUTS.softmax(dim=1).numpy()
    for row in range(2):
        words = [column for column, count in enumerate(X[row].int().tolist()) for _ in range(count)]
        expected = sum(np.log(probs[row, word]) for word in words)
        assert observation.log_likelihood(OUTPUTS, X)[row].item() == pytest.approx(expected)
    assert observation.inputs(torch.zeros(1, 3)).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("kind", ["binary", "real", "counts"])
def test_likelihoods_of_many_draws_at_once_are_those_of_each(kind: str):
    third = torch.full((3,), 1 / 3).double()
    observation = {
        "binary": BinaryObservation(third),
        "real": RealObservation(third, third),
        "counts": CountObservation(third),
    }[kind]
    x = (X > 0).double() if kind == "binary" else X
    many = torch.stack([OUTPUTS, 2 * OUTPUTS])
    found = observation.log_likelihood(many, x)
    torch.testing.assert_close(found[1], observation.log_likelihood(2 * OUTPUTS, x))
    leaf = OUTPUTS.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda outputs: observation.log_likelihood(outputs, x), (leaf,))
