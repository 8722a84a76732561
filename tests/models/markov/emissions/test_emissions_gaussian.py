from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from gossamer.models.markov.emissions import DiagonalGaussian, Observed, Prior, owner_sums

FAMILY = DiagonalGaussian()


def some_data(n: int = 40, dims: int = 3, shift: float = 0.0) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, dims)) * [1.0, 2.0, 0.5] + shift


def some_parameters(num_owners: int = 1, shift: float = 0.0) -> dict[str, torch.Tensor]:
    rng = np.random.default_rng(1)
    means = torch.from_numpy(rng.normal(size=(num_owners, 2, 3)) + shift)
    return {"means": means, "variances": torch.from_numpy(rng.uniform(0.5, 2.0, size=(num_owners, 2, 3)))}


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_density_is_scipys_also_far_from_zero(shift: float):
    values, parameters = some_data(shift=shift), some_parameters(shift=shift)
    found = FAMILY.log_density(FAMILY.observe(values, 3), parameters)
    scales = parameters["variances"][0].sqrt().numpy()
    for state in range(2):
        expected = stats.norm.logpdf(values, parameters["means"][0, state].numpy(), scales[state]).sum(1)
        np.testing.assert_allclose(found[:, state], expected, rtol=1e-8, atol=1e-7)


def test_a_missing_dimension_is_left_out_and_a_missing_step_says_nothing():
    values, parameters = some_data(4), some_parameters()
    whole = FAMILY.log_density(FAMILY.observe(values[:, :1], 1), {k: v[..., :1] for k, v in parameters.items()})
    partly = values.copy()
    partly[:, 1:] = np.nan
    partly[3] = np.nan
    found = FAMILY.log_density(FAMILY.observe(partly, 3), parameters)
    torch.testing.assert_close(found[:3], whole[:3])
    assert (found[3] == 0).all()


def test_every_series_can_have_its_own_parameters():
    values, parameters = some_data(6), some_parameters(2)
    series = torch.tensor([0, 0, 0, 1, 1, 1])
    observed = FAMILY.observe(values, 3)
    found = FAMILY.log_density(observed, parameters, series)
    for owner in range(2):
        mine = {name: value[owner : owner + 1] for name, value in parameters.items()}
        torch.testing.assert_close(found[series == owner], FAMILY.log_density(observed, mine)[series == owner])
    weights = torch.rand(6, 2, dtype=torch.double)
    sums = owner_sums(observed, weights, series, 2)
    apart = [owner_sums(Observed(observed.features[series == o]), weights[series == o], None, 1) for o in range(2)]
    torch.testing.assert_close(sums, torch.cat(apart))
    with pytest.raises(ValueError, match="series must say which sequence every step belongs to"):
        FAMILY.log_density(observed, parameters)


def test_maximum_is_the_weighted_mean_and_variance():
    values = some_data()
    weights = torch.from_numpy(np.random.default_rng(2).random((40, 2)))
    observed = FAMILY.observe(values, 3)
    found = FAMILY.maximise(owner_sums(observed, weights, None, 1), observed, Prior(), None)
    for state in range(2):
        share = weights[:, state].numpy() / weights[:, state].sum().item()
        mean = share @ values
        np.testing.assert_allclose(found["means"][0, state], mean)
        np.testing.assert_allclose(found["variances"][0, state], share @ np.square(values - mean))


def test_prior_and_floor_are_where_the_penalised_likelihood_is_largest():
    values = some_data(8)
    observed = FAMILY.observe(values, 3)
    weights = torch.from_numpy(np.random.default_rng(3).random((8, 2)))
    prior = FAMILY.prior_for(observed, values, Prior(variance_weight=3.0, variance_floor=0.3))
    best = FAMILY.maximise(owner_sums(observed, weights, None, 1), observed, prior, None)

    def objective(parameters: dict[str, torch.Tensor]) -> float:
        density = (weights * FAMILY.log_density(observed, parameters)).sum()
        return (density + FAMILY.log_prior(parameters, prior).sum()).item()

    highest = objective(best)
    generator = np.random.default_rng(4)
    for _ in range(50):
        other = {k: v * torch.from_numpy(np.exp(0.1 * generator.normal(size=v.shape))) for k, v in best.items()}
        other["variances"] = other["variances"].clamp_min(0.3 * prior.variance)
        assert objective(other) <= highest + 1e-9


def test_an_empty_state_keeps_its_mean_and_gets_the_datas_variance():
    values = some_data()
    observed = FAMILY.observe(values, 3)
    prior = FAMILY.prior_for(observed, values, Prior(variance_floor=0.1))
    previous = some_parameters()
    found = FAMILY.maximise(torch.zeros(1, 2, 9, dtype=torch.double), observed, prior, previous)
    torch.testing.assert_close(found["means"], previous["means"])
    torch.testing.assert_close(found["variances"][0, 0], prior.variance)


def test_density_and_maximum_are_differentiable():
    values, parameters = some_data(5), some_parameters()
    values[0, 1] = np.nan
    observed = FAMILY.observe(values, 3)
    inputs = [value.requires_grad_() for value in parameters.values()]
    names = list(parameters)
    assert torch.autograd.gradcheck(
        lambda *given: FAMILY.log_density(observed, dict(zip(names, given, strict=True))), inputs
    )
    weights = torch.rand(5, 2, dtype=torch.double).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda w: tuple(FAMILY.maximise(owner_sums(observed, w, None, 1), observed, Prior(), None).values()), [weights]
    )


def test_samples_have_the_moments_of_their_state():
    parameters = some_parameters()
    states = np.repeat([0, 1], 4000)
    drawn = FAMILY.sample(parameters, states, np.zeros(8000, dtype=np.int64), np.random.default_rng(0))
    for state in range(2):
        np.testing.assert_allclose(drawn[states == state].mean(0), parameters["means"][0, state], atol=0.1)
        np.testing.assert_allclose(drawn[states == state].var(0), parameters["variances"][0, state], rtol=0.1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones((4, 2)), "data must vary in every dimension, got the constant 1 in dimension 0"),
        (np.array([[1.0, np.nan], [2.0, np.nan]]), r"data must have a value in every dimension, got only NaN in \[1\]"),
    ],
)
def test_data_without_variance_are_refused(values: np.ndarray, message: str):
    with pytest.raises(ValueError, match=message):
        FAMILY.prior_for(FAMILY.observe(values, 2), values, Prior())


def test_bad_values_are_named():
    with pytest.raises(ValueError, match="data must have 2 dimensions, as those of the fit have, got 3"):
        FAMILY.check(some_data(), None, 2)
    with pytest.raises(ValueError, match=r"data must be finite or NaN \(missing\), got an infinite value"):
        FAMILY.check(np.array([[np.inf]]), None, None)
