"""Losses against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.community.objective import candidate_softmax, pair_logistic

SCORES = torch.randn(2, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
ROWS, COLUMNS = torch.tensor([0, 0, 1]), torch.tensor([1, 4, 2])
KNOWN = (torch.tensor([0, 0, 0, 1, 1]), torch.tensor([1, 4, 5, 2, 0]))  # the targets, and what is known beside them


def test_softmax_over_everything_is_the_multinomial_without_what_is_known() -> None:
    loss = candidate_softmax(SCORES[ROWS, COLUMNS], ROWS, SCORES, *KNOWN, 0.0)
    expected = []
    for row, column, known in ((0, 1, [5]), (0, 4, [5]), (1, 2, [0])):
        kept = [item for item in range(6) if item not in known]
        expected.append(-torch.log_softmax(SCORES[row, kept], dim=0)[kept.index(column)])
    torch.testing.assert_close(loss, torch.stack(expected).mean())


def test_sampled_candidates_stand_for_all() -> None:
    alike = torch.zeros(1, 10, dtype=torch.float64)
    target, row = torch.tensor([0.7], dtype=torch.float64), torch.tensor([0])
    none = torch.empty(0, dtype=torch.int64)
    whole = candidate_softmax(target, row, alike, none, none, 0.0)
    few = candidate_softmax(target, row, alike[:, :4], none, none, float(np.log(10 / 4)))
    torch.testing.assert_close(few, whole)


def test_gradients_are_right_and_large_scores_overflow_nowhere() -> None:
    scores = SCORES.clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda given: candidate_softmax(given[ROWS, COLUMNS], ROWS, given, *KNOWN, 0.3), scores
    )
    huge = candidate_softmax(1e4 * SCORES[ROWS, COLUMNS], ROWS, 1e4 * SCORES, *KNOWN, 0.0)
    assert huge.isfinite()


def test_logistic_is_the_likelihood_of_the_paper() -> None:
    targets, negatives = torch.tensor([1.0, -1.0]), torch.tensor([[0.5, 2.0], [0.0, 9.0]])
    is_there = torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    sigmoid = torch.sigmoid
    expected = -(
        sigmoid(torch.tensor(1.0)).log()
        + (1 - sigmoid(torch.tensor(0.5))).log()
        + (1 - sigmoid(torch.tensor(2.0))).log()
        + sigmoid(torch.tensor(-1.0)).log()
        + (1 - sigmoid(torch.tensor(0.0))).log()
    )
    assert float(pair_logistic(targets, negatives, is_there)) == pytest.approx(float(expected) / 2, rel=1e-5)
