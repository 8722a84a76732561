from __future__ import annotations

import numpy as np
import torch

from gossamer.models.markov.forecasting import next_hsmm_states, next_phase, steps_left
from gossamer.models.markov.hsmm_recursions import hsmm_last_ages, hsmm_log_likelihood


def some_model() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    initial = torch.rand(3, generator=generator, dtype=torch.double)
    transition = torch.rand(3, 3, generator=generator, dtype=torch.double) * (1 - torch.eye(3))
    duration = torch.rand(3, 4, generator=generator, dtype=torch.double)
    return tuple(table / table.sum(-1, keepdim=True) for table in (initial, transition, duration))


def test_next_state_is_what_one_more_step_says():
    """P(z_T+1 = k | x) is the likelihood with one more step that only k can emit, over that without."""
    initial, transition, duration = some_model()
    logs = [initial.log(), transition.log(), duration.log()]
    emissions = torch.randn(6, 3, dtype=torch.double)
    ages = hsmm_last_ages(*logs, emissions, np.array([0, 6]))
    found = next_hsmm_states(ages, duration[None], transition[None])
    total = hsmm_log_likelihood(*logs, emissions, np.array([0, 6]))
    for state in range(3):
        step = torch.full((1, 3), -torch.inf).double()
        step[0, state] = 0.0
        longer = hsmm_log_likelihood(*logs, torch.cat([emissions, step]), np.array([0, 7]))
        torch.testing.assert_close(found[0, state], torch.exp(longer - total)[0])


def test_phase_and_steps_are_distributions_that_agree_with_the_next_step():
    initial, transition, duration = some_model()
    emissions = torch.randn(9, 3, dtype=torch.double)
    ages = hsmm_last_ages(initial.log(), transition.log(), duration.log(), emissions, np.array([0, 4, 9]))
    left = steps_left(ages, duration[None])
    following = next_phase(ages, transition[None])
    torch.testing.assert_close(left.sum(1), torch.ones(2).double())
    torch.testing.assert_close(following.sum(1), torch.ones(2).double())
    staying = next_hsmm_states(ages, duration[None], torch.zeros_like(transition)[None]).sum(1)
    torch.testing.assert_close(1 - left[:, 0], staying)
