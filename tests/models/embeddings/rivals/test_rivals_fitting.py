from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from gossamer.models.embeddings.rivals.fitting import fit_shared, fit_weights

RANDOM = np.random.default_rng(0)
WEIGHT = RANDOM.standard_normal((40, 3))


def test_shared_vectors_are_the_least_squares_solution() -> None:
    mixing = sparse.random_array((40, 6), density=0.4, random_state=1, format="csr")
    expected = np.linalg.lstsq(mixing.toarray(), WEIGHT, rcond=None)[0]
    np.testing.assert_allclose(fit_shared(mixing, WEIGHT, np.zeros((6, 3))), expected, atol=1e-8)


def test_one_entry_per_row_is_solved_in_one_step_and_stays() -> None:
    groups = RANDOM.integers(0, 5, size=40)
    mixing = sparse.csr_array((np.ones(40), groups, np.arange(41)), shape=(40, 6))
    for steps in (1, 20):
        shared = fit_shared(mixing, WEIGHT, np.zeros((6, 3)), steps=steps)
        for group in range(5):
            np.testing.assert_allclose(shared[group], WEIGHT[groups == group].mean(axis=0), atol=1e-12)
        assert not shared[5].any()  # nobody uses it


def test_more_steps_never_hurt() -> None:
    mixing = sparse.random_array((40, 30), density=0.2, random_state=2, format="csr")
    start = RANDOM.standard_normal((30, 3))
    errors = [np.square(mixing @ fit_shared(mixing, WEIGHT, start, steps=n) - WEIGHT).sum() for n in range(1, 25)]
    assert (np.diff(errors) <= 1e-9).all()


def test_weights_are_the_least_squares_solution_row_by_row() -> None:
    generator = torch.Generator().manual_seed(0)
    shared = torch.randn(6, 3, dtype=torch.float64, generator=generator)
    places = torch.tensor([[0, 5], [2, 1]])
    target = torch.randn(2, 3, dtype=torch.float64, generator=generator)
    weights = fit_weights(shared, places, target)
    for row in range(2):
        expected = torch.linalg.lstsq(shared[places[row]].T, target[row].unsqueeze(1)).solution.squeeze(1)
        torch.testing.assert_close(weights[row], expected, atol=1e-4, rtol=1e-4)


def test_equal_vectors_share_the_weight() -> None:
    shared = torch.tensor([[1.0, 2.0], [0.0, 0.0]])
    weights = fit_weights(shared, torch.tensor([[0, 0], [1, 1]]), torch.tensor([[3.0, 6.0], [1.0, 1.0]]))
    torch.testing.assert_close(weights, torch.tensor([[1.5, 1.5], [0.0, 0.0]]), atol=1e-4, rtol=1e-4)
