from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.markov.emissions import EMISSIONS
from gossamer.models.markov.emissions.family import dirichlet_log_prior, dirichlet_mode, log_probs


@pytest.mark.parametrize("name", EMISSIONS)
def test_shapes_are_those_of_the_maximum(name: str):
    family = EMISSIONS[name]
    values = np.random.default_rng(0).integers(0, 3, size=(30, 1 if name == "categorical" else 3)).astype(float)
    checked = family.check(values, None, None)
    size = family.size_of(checked, None)
    observed = family.observe(checked, size)
    from gossamer.models.markov.emissions import Prior, owner_sums

    prior = family.prior_for(observed, checked, Prior(0.1, 1.0, 1e-3))
    found = family.maximise(owner_sums(observed, torch.rand(30, 2).double(), None, 1), observed, prior, None)
    assert {key: tuple(value.shape[1:]) for key, value in found.items()} == family.shapes(2, size)
    assert family.expected(found).shape == (1, 2, size)
    assert torch.isfinite(family.log_prior(found, prior)).all()
    assert family.start_features(checked, size, np.random.default_rng(0)).shape[0] == 30
    assert 0 < family.num_free(2, size) <= sum(value.numel() for value in found.values())


@pytest.mark.parametrize("name", EMISSIONS)
def test_a_mask_is_as_good_as_nan(name: str):
    family = EMISSIONS[name]
    values = np.random.default_rng(0).integers(0, 3, size=(5, 1 if name == "categorical" else 2)).astype(float)
    with_nan = values.copy()
    with_nan[1] = np.nan
    mask = np.array([False, True, False, False, False])
    np.testing.assert_array_equal(family.check(values, mask, None), family.check(with_nan, None, None))


def test_nothing_to_count_keeps_the_previous_probabilities():
    previous = torch.tensor([0.9, 0.1])
    assert dirichlet_mode(torch.zeros(2), 0.0, previous).tolist() == pytest.approx([0.9, 0.1])


def test_probabilities_that_are_zero_by_structure_have_no_prior():
    probs = torch.tensor([[[0.0, 1.0], [0.5, 0.5]]]).double()
    assert dirichlet_log_prior(probs, 2.0).item() == pytest.approx(4 * np.log(0.5))


def test_log_of_zero_has_gradient_zero():
    probs = torch.tensor([0.0, 0.5], requires_grad=True)
    logs = log_probs(probs)
    assert logs[0] == -torch.inf
    logs[1].backward()
    assert probs.grad.tolist() == [0.0, 2.0]
