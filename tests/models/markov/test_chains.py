from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.markov.chains import Chain, HMMChain, HSMMChain
from gossamer.models.markov.durations import DURATIONS

CHAINS = [HMMChain(), HSMMChain(DURATIONS["poisson"], 6), HSMMChain(DURATIONS["table"], 6)]
LABELS, OFFSETS = np.array([0, 0, 1, 2, 2, 1, 0, 0]), np.array([0, 5, 8])


@pytest.mark.parametrize("chain", CHAINS)
def test_a_start_excludes_nothing_and_has_the_shapes_announced(chain: Chain):
    start = chain.start(LABELS, OFFSETS, 3)
    assert {name: tuple(value.shape[1:]) for name, value in start.items()} == chain.shapes(3)
    torch.testing.assert_close(start["transition"].sum(-1), torch.ones(1, 3).double())
    likelihood = chain.log_likelihood(start, torch.zeros(8, 3).double(), OFFSETS)
    torch.testing.assert_close(likelihood, torch.zeros(2).double(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("chain", CHAINS)
def test_the_m_step_raises_likelihood_and_prior_together(chain: Chain):
    parameters = chain.start(LABELS, OFFSETS, 3)
    emissions = torch.randn(8, 3, dtype=torch.double)
    values = []
    for _ in range(6):
        expected = chain.expect(parameters, emissions, OFFSETS)
        values.append((expected.log_likelihood.sum() + chain.log_prior(parameters, 0.5)[0]).item())
        parameters = chain.maximise(expected.counts, parameters, 0.5)
    assert np.diff(values).min() > -1e-10


@pytest.mark.parametrize("chain", CHAINS)
def test_next_states_and_samples_are_those_of_the_chain(chain: Chain):
    start = chain.start(LABELS, OFFSETS, 3)
    following = chain.next_states(start, torch.zeros(8, 3).double(), OFFSETS)
    torch.testing.assert_close(following.sum(1), torch.ones(2).double())
    lengths = np.full(3000, 9)
    states = chain.sample(start, lengths, np.random.default_rng(0)).reshape(-1, 9)
    # Without observations, the step after the fifth has the distribution of the sixth step of samples.
    shares = np.bincount(states[:, 5], minlength=3) / len(states)
    np.testing.assert_allclose(following[0], shares, atol=0.04)


def test_free_parameters():
    assert [chain.num_free(3) for chain in CHAINS] == [8, 2 + 3 + 3, 2 + 3 + 15]


def test_longest_duration_grows_up_to_its_bound():
    chain = HSMMChain(DURATIONS["poisson"], 6, most=20)
    start = chain.start(LABELS, OFFSETS, 3)
    counts = {"initial": torch.ones(1, 3).double(), "transition": torch.ones(1, 3, 3).double()}
    counts["duration"] = torch.tensor([0.0, 0, 0, 0, 1, 4]).double().repeat(1, 3, 1)
    chain.maximise(counts, start, 0.0)
    assert chain.longest == 20
