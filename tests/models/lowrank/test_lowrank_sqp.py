"""SQP over masks: known minima, agreement with scipy, noise, and what it says of losses that are not numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from gossamer.models.lowrank.sqp import Iteration, minimise_masks


def rosenbrock_like(seed: int, size: int):
    """A smooth loss with curvature that changes, its minimum outside the budget."""
    rng = np.random.default_rng(seed)
    mix, centre = rng.normal(size=(size, size)) / np.sqrt(size), rng.uniform(0.5, 2, size=size)

    def evaluate(masks: np.ndarray, _sample: int = 0) -> tuple[float, np.ndarray]:
        residual = mix @ (masks - centre)
        loss = 0.5 * residual @ residual + 0.1 * np.logaddexp(0, masks - centre).sum()
        return float(loss), mix.T @ residual + 0.1 / (1 + np.exp(centre - masks))

    return evaluate


@pytest.mark.parametrize("seed", range(4))
def test_it_finds_what_scipy_finds(seed):
    size = 10
    rng = np.random.default_rng(100 + seed)
    evaluate, rows = rosenbrock_like(seed, size), rng.uniform(1, 5, size=(2, size))
    limits = 0.4 * rows.sum(axis=1)
    path = minimise_masks(evaluate, np.full(size, 0.2), rows, limits, iterations=60)
    other = minimize(
        lambda masks: evaluate(masks)[0],
        np.full(size, 0.2),
        jac=lambda masks: evaluate(masks)[1],
        bounds=[(0, 1)] * size,
        constraints=[{"type": "ineq", "fun": lambda masks: limits - rows @ masks}],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    assert (rows @ path.masks <= limits * (1 + 1e-12)).all()
    assert evaluate(path.masks)[0] == pytest.approx(other.fun, abs=1e-4)


def test_sub_sampled_gradients_reach_the_neighbourhood_of_the_minimum():
    size = 8
    evaluate, rows = rosenbrock_like(0, size), np.ones((1, size))
    limits = np.array([3.0])

    def noisy(masks: np.ndarray, sample: int) -> tuple[float, np.ndarray]:
        rng = np.random.default_rng(sample)
        noise = 0.1 * rng.normal(size=size)
        loss, gradient = evaluate(masks)
        return loss + float(noise @ masks), gradient + noise

    exact = minimise_masks(evaluate, np.full(size, 0.1), rows, limits, iterations=60)
    sampled = minimise_masks(noisy, np.full(size, 0.1), rows, limits, iterations=60, averaged=20)
    assert (rows @ sampled.masks <= limits + 1e-12).all()
    start = evaluate(np.full(size, 0.1))[0]
    assert evaluate(sampled.masks)[0] - evaluate(exact.masks)[0] < 0.05 * (start - evaluate(exact.masks)[0])


def test_every_iteration_is_reported_and_steps_are_bounded():
    seen: list[Iteration] = []
    path = minimise_masks(
        rosenbrock_like(1, 4),
        np.zeros(4),
        np.ones((1, 4)),
        np.array([2.0]),
        iterations=3,
        largest_step=0.1,
        on_iteration=seen.append,
    )
    assert seen == path.iterations
    assert [iteration.number for iteration in seen] == [0, 1, 2]
    assert path.masks.max() <= 0.3 + 1e-9


def test_without_budgets_it_is_a_box():
    path = minimise_masks(rosenbrock_like(2, 3), np.ones(3), np.zeros((0, 3)), np.zeros(0), iterations=60, upper=1.5)
    slope = rosenbrock_like(2, 3)(path.masks)[1]
    inside = (path.masks > 1e-3) & (path.masks < 1.5 - 1e-3)
    assert np.abs(slope[inside]).max(initial=0) < 1e-3


def test_a_flat_loss_ends_where_it_began():
    path = minimise_masks(lambda m, _: (1.0, np.zeros(2)), np.ones(2), np.ones((1, 2)), np.array([2.0]), iterations=5)
    assert path.masks.tolist() == [1.0, 1.0]


def test_a_loss_that_is_nan_is_named():
    with pytest.raises(FloatingPointError, match="loss must be finite, got nan with its gradient in SQP iteration 0"):
        minimise_masks(lambda m, _: (np.nan, m), np.ones(2), np.ones((1, 2)), np.array([2.0]), iterations=5)
