from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from gossamer.models.markov.emissions import Poisson, Prior, owner_sums

FAMILY = Poisson()
RATES = torch.tensor([[[1.5, 4.0], [0.0, 9.0]]], dtype=torch.double)


def test_density_is_scipys_without_what_is_missing():
    values = np.array([[0.0, 3.0], [2.0, 5.0], [np.nan, 1.0], [np.nan, np.nan]])
    found = FAMILY.log_density(FAMILY.observe(values, 2), {"rates": RATES})
    expected = np.nansum(
        np.where(
            np.isnan(values)[:, None], 0.0, stats.poisson.logpmf(np.nan_to_num(values)[:, None], RATES[0].numpy())
        ),
        axis=2,
    )
    np.testing.assert_allclose(found, expected)
    assert found[1, 1] == -np.inf  # rate 0 and a count of 2


def test_maximum_is_the_mean_count_and_the_prior_counts_as_steps():
    values = np.array([[1.0], [3.0], [np.nan]])
    observed = FAMILY.observe(values, 1)
    sums = owner_sums(observed, torch.ones(3, 1).double(), None, 1)
    assert FAMILY.maximise(sums, observed, Prior(), None)["rates"].item() == pytest.approx(2.0)
    prior = FAMILY.prior_for(observed, values, Prior(pseudo_count=2.0))._replace(centre=torch.tensor([5.0]).double())
    assert FAMILY.maximise(sums, observed, prior, None)["rates"].item() == pytest.approx((4 + 10) / 4)


def test_prior_is_where_the_penalised_likelihood_is_largest():
    values = np.array([[1.0], [3.0], [0.0]])
    observed = FAMILY.observe(values, 1)
    prior = FAMILY.prior_for(observed, values, Prior(pseudo_count=2.0))
    best = FAMILY.maximise(owner_sums(observed, torch.ones(3, 1).double(), None, 1), observed, prior, None)

    def objective(rate: float) -> float:
        parameters = {"rates": torch.full((1, 1, 1), rate, dtype=torch.double)}
        return (FAMILY.log_density(observed, parameters).sum() + FAMILY.log_prior(parameters, prior)[0]).item()

    rate = best["rates"].item()
    assert objective(rate) >= max(objective(rate * 1.01), objective(rate * 0.99))


def test_density_is_differentiable():
    rates = torch.rand(1, 2, 2, dtype=torch.double).add(0.5).requires_grad_()
    observed = FAMILY.observe(np.array([[0.0, 3.0], [2.0, np.nan]]), 2)
    assert torch.autograd.gradcheck(lambda r: FAMILY.log_density(observed, {"rates": r}), [rates])


def test_samples_have_the_rates_of_their_state():
    drawn = FAMILY.sample(
        {"rates": RATES}, np.zeros(5000, dtype=np.int64), np.zeros(5000, dtype=np.int64), np.random.default_rng(0)
    )
    np.testing.assert_allclose(drawn.mean(0), RATES[0, 0], rtol=0.1)


def test_bad_counts_are_named():
    with pytest.raises(ValueError, match=r"data must be counts 0, 1, 2 … for 'poisson', got 1.5"):
        FAMILY.check(np.array([[1.5]]), None, None)
