from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.markov.chains import HSMMChain
from gossamer.models.markov.durations import DURATIONS
from gossamer.models.markov.emissions import EMISSIONS, Prior
from gossamer.models.markov.step import EMStep


def some_step(num_owners: int = 1, num_candidates: int = 3) -> EMStep:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 2))
    emission = EMISSIONS["gaussian"]
    observed = emission.observe(values, 2)
    prior = emission.prior_for(observed, values, Prior(0.1, 1.0, 1e-3))
    chain = HSMMChain(DURATIONS["poisson"], 6)
    candidates = []
    for _ in range(num_candidates):
        start = chain.start(rng.integers(0, 2, 40), np.array([0, 20, 40]), 2)
        start["emission.means"] = torch.from_numpy(rng.normal(size=(1, 2, 2)))
        start["emission.variances"] = torch.ones(1, 2, 2).double()
        candidates.append({k: v.repeat(num_owners, *[1] * (v.ndim - 1)) for k, v in start.items()})
    return EMStep(chain, emission, observed, np.array([0, 20, 40]), candidates, prior, num_observed=40, start_epochs=2)


@pytest.mark.parametrize("num_owners", [1, 2])
def test_loss_never_rises_while_candidates_are_dropped(num_owners: int):
    step = some_step(num_owners)
    found = [step(None, 1.0)["loss"] for _ in range(8)]
    assert len(step.candidates) == 1
    assert np.diff(found).max() < 1e-12


def test_every_owner_keeps_its_own_best_candidate():
    step = some_step(2, 2)
    first, second = ({k: v.clone() for k, v in candidate.items()} for candidate in step.candidates)
    step.keep_best(torch.tensor([[1.0, -5.0], [0.0, 3.0]]))
    torch.testing.assert_close(step.parameters["emission.means"][0], first["emission.means"][0])
    torch.testing.assert_close(step.parameters["emission.means"][1], second["emission.means"][1])


def test_state_comes_back_exactly_and_other_shapes_are_refused():
    step = some_step()
    step(None, 1.0)
    state = {**step.state_dict()}
    expected = [step(None, 1.0)["loss"] for _ in range(3)]
    other = some_step()
    other.load_state_dict(state)
    assert [other(None, 1.0)["loss"] for _ in range(3)] == expected
    with pytest.raises(ValueError, match=r"candidates must have the shapes .* train anew with another checkpoint"):
        some_step(2).load_state_dict(state)


def test_settled_loss_moves_in_steps_of_the_tolerance():
    step = some_step()
    step.tolerance = 1e9
    first = step(None, 1.0)
    assert step(None, 1.0)["settled_loss"] == first["loss"]
