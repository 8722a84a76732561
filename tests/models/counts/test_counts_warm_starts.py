from __future__ import annotations

import pytest
import torch

from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.warm_starts import WarmStarts


def posterior(*means: float) -> Posterior:
    mean = torch.tensor(means).unsqueeze(1)
    return Posterior(mean, -mean)


def test_a_row_comes_back_where_it_was_left():
    kept = WarmStarts(4, 1)
    kept.keep(torch.tensor([2, 0]), posterior(2.0, 5.0))
    found = kept.recall(torch.tensor([0, 1, 2]), posterior(7.0, 8.0, 9.0))
    assert found.mean.flatten().tolist() == [5.0, 8.0, 2.0]
    assert found.log_variance.flatten().tolist() == [-5.0, -8.0, -2.0]


def test_state_comes_back_exactly():
    kept, other = WarmStarts(2, 1), WarmStarts(2, 1)
    kept.keep(torch.tensor([1]), posterior(2.0))
    other.load_state_dict(kept.state_dict())
    kept.keep(torch.tensor([1]), posterior(3.0))  # the copy does not follow
    assert other.recall(torch.tensor([0, 1]), posterior(7.0, 8.0)).mean.flatten().tolist() == [7.0, 2.0]


def test_states_of_other_data_are_refused():
    for state in (None, WarmStarts(3, 1).state_dict()):
        with pytest.raises(ValueError, match=r"kept posteriors must have shape \(2, 1\) .* got .*another checkpoint"):
            WarmStarts(2, 1).load_state_dict(state)
