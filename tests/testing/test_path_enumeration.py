from __future__ import annotations

import torch

from gossamer.testing.path_enumeration import hmm_paths, hsmm_paths


def test_all_paths_are_there_and_their_probabilities_sum_to_one():
    half = torch.full((2, 2), 0.5).log()
    paths, weights = hmm_paths(half[0], half, torch.zeros(3, 2))
    assert paths.shape == (8, 3)
    torch.testing.assert_close(weights.logsumexp(0), torch.tensor(0.0))


def test_all_segmentations_are_there_and_their_probabilities_sum_to_one():
    swap = (1 - torch.eye(2)).log()
    durations = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]).log()
    paths, weights = hsmm_paths(torch.tensor([0.4, 0.6]).log(), swap, durations, torch.zeros(4, 2))
    torch.testing.assert_close(weights.logsumexp(0), torch.tensor(0.0))
    assert paths[weights > -torch.inf].unique(dim=0).shape == (16 - 2, 4)  # no state lasts four steps
