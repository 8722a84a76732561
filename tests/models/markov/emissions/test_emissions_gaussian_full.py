from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from gossamer.models.markov.emissions import FullGaussian, Prior, owner_sums

FAMILY = FullGaussian()


def some_data(n: int = 60) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 2)) @ np.array([[1.0, 0.4], [0.0, 0.7]]) + 5


def some_parameters() -> dict[str, torch.Tensor]:
    covariances = torch.tensor([[[[2.0, 0.5], [0.5, 1.0]], [[1.0, -0.3], [-0.3, 0.5]]]], dtype=torch.double)
    return {"means": torch.tensor([[[5.0, 4.0], [6.0, 5.0]]], dtype=torch.double), "covariances": covariances}


def test_density_is_scipys_and_a_missing_step_says_nothing():
    values, parameters = some_data(), some_parameters()
    values[3] = np.nan
    found = FAMILY.log_density(FAMILY.observe(values, 2), parameters)
    seen = ~np.isnan(values[:, 0])
    for state in range(2):
        mean, covariance = (parameters[name][0, state].numpy() for name in ("means", "covariances"))
        np.testing.assert_allclose(found[seen, state], stats.multivariate_normal.logpdf(values[seen], mean, covariance))
    assert (found[3] == 0).all()


def test_maximum_is_the_weighted_covariance():
    values = some_data()
    weights = torch.from_numpy(np.random.default_rng(2).random((60, 2)))
    observed = FAMILY.observe(values, 2)
    found = FAMILY.maximise(owner_sums(observed, weights, None, 1), observed, Prior(), None)
    for state in range(2):
        expected = np.cov(values.T, aweights=weights[:, state].numpy(), ddof=0)
        np.testing.assert_allclose(found["covariances"][0, state], expected, rtol=1e-9)


def test_floor_and_prior_are_where_the_penalised_likelihood_is_largest():
    values = some_data(6)
    observed = FAMILY.observe(values, 2)
    weights = torch.from_numpy(np.random.default_rng(3).random((6, 2)) ** 4)
    prior = FAMILY.prior_for(observed, values, Prior(variance_weight=0.5, variance_floor=0.4))
    best = FAMILY.maximise(owner_sums(observed, weights, None, 1), observed, prior, None)
    scale = prior.variance.sqrt()
    relative = best["covariances"] / (scale[:, None] * scale)
    assert torch.linalg.eigvalsh(relative).min() >= 0.4 - 1e-9

    def objective(parameters: dict[str, torch.Tensor]) -> float:
        density = (weights * FAMILY.log_density(observed, parameters)).sum()
        return (density + FAMILY.log_prior(parameters, prior).sum()).item()

    highest, generator = objective(best), np.random.default_rng(4)
    for _ in range(50):
        turn = torch.eye(2) + torch.from_numpy(0.1 * generator.normal(size=(1, 2, 2, 2)))
        moved = turn @ best["covariances"] @ turn.transpose(-1, -2)
        if torch.linalg.eigvalsh(moved / (scale[:, None] * scale)).min() >= 0.4:
            assert objective(best | {"covariances": moved}) <= highest + 1e-9


def test_density_is_differentiable():
    values, parameters = some_data(4), some_parameters()
    observed = FAMILY.observe(values, 2)
    means, factors = parameters["means"].requires_grad_(), torch.linalg.cholesky(parameters["covariances"])
    factors = factors.detach().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda m, f: FAMILY.log_density(observed, {"means": m, "covariances": f @ f.transpose(-1, -2)}),
        [means, factors],
    )


def test_samples_have_the_covariance_of_their_state():
    parameters = some_parameters()
    drawn = FAMILY.sample(
        parameters, np.ones(8000, dtype=np.int64), np.zeros(8000, dtype=np.int64), np.random.default_rng(0)
    )
    np.testing.assert_allclose(np.cov(drawn.T), parameters["covariances"][0, 1], atol=0.05)


def test_partly_missing_steps_are_refused_with_advice():
    with pytest.raises(ValueError, match=r"whole steps for 'gaussian-full', got step 1 .* NaN; use 'gaussian'"):
        FAMILY.check(np.array([[1.0, 2.0], [1.0, np.nan]]), None, None)


def test_sizes():
    assert FAMILY.shapes(3, 2) == {"means": (3, 2), "covariances": (3, 2, 2)}
    assert FAMILY.num_free(3, 2) == 3 * (2 + 3)
