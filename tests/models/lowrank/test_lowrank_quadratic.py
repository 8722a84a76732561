"""The interior point method against PIQP, scipy's SLSQP and its own optimality conditions."""

from __future__ import annotations

import numpy as np
import piqp
import pytest
from scipy.optimize import minimize

from gossamer.models.lowrank.limited_memory import LimitedMemoryHessian
from gossamer.models.lowrank.quadratic import solve_quadratic


def random_program(seed: int, size: int, num_rows: int):
    rng = np.random.default_rng(seed)
    hessian = LimitedMemoryHessian(size, memory=5)
    root = rng.normal(size=(size, size))
    curved = root @ root.T / size + 0.1 * np.eye(size)
    for _ in range(7):
        step = rng.normal(size=size)
        hessian.update(step, curved @ step)
    gradient = rng.normal(size=size)
    masks = rng.choice([0.0, 1.0, 0.5], size=size)
    rows = rng.uniform(1, 1000, size=(num_rows, size))
    return gradient, hessian, -masks, 1 - masks, rows, rows @ masks * rng.uniform(-0.3, 0.1, size=num_rows)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("num_rows", [0, 1, 2, 4])
def test_it_agrees_with_an_independent_solver(seed, num_rows):
    gradient, hessian, lower, upper, rows, limits = random_program(seed, 12, num_rows)
    solution = solve_quadratic(gradient, hessian, lower, upper, rows, limits)
    dense = hessian.matrix()

    def value(step):
        return gradient @ step + 0.5 * step @ dense @ step

    scale = np.linalg.norm(rows, axis=1, keepdims=True)
    other = minimize(
        value,
        np.zeros(12),
        jac=lambda step: gradient + dense @ step,
        bounds=list(zip(lower, upper, strict=True)),
        constraints=[{"type": "ineq", "fun": lambda step: ((limits - rows @ step)[:, None] / scale)[:, 0]}],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert value(solution.step) <= value(other.x) + 1e-6  # SLSQP stops a little early
    np.testing.assert_allclose(solution.step, other.x, atol=5e-3)
    assert (rows @ solution.step <= limits + 1e-7 * np.linalg.norm(rows, axis=1)).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("size", "num_rows"), [(12, 1), (40, 2), (120, 4)])
def test_it_agrees_with_another_interior_point_method(seed, size, num_rows):
    gradient, hessian, lower, upper, rows, limits = random_program(seed, size, num_rows)
    solution = solve_quadratic(gradient, hessian, lower, upper, rows, limits)
    scale = np.linalg.norm(rows, axis=1)
    dense = np.asfortranarray(hessian.matrix())
    other = piqp.DenseSolver()
    other.settings.eps_abs, other.settings.eps_rel = 1e-10, 1e-10
    other.setup(
        dense,
        gradient,
        G=np.asfortranarray(rows / scale[:, None]),
        h_l=np.full(num_rows, -np.inf),
        h_u=limits / scale,
        x_l=lower,
        x_u=upper,
    )
    assert other.solve() == piqp.PIQP_SOLVED

    def value(step):
        return gradient @ step + 0.5 * step @ dense @ step

    # The two stop at other gaps; curvatures of 0.2 and more turn 1e-5 of the value into a few thousandths of a step.
    assert value(solution.step) == pytest.approx(value(other.result.x), abs=1e-5)
    np.testing.assert_allclose(solution.step, other.result.x, atol=3e-3)
    np.testing.assert_allclose(solution.prices * scale, other.result.z_u, atol=3e-3)


def test_optimality_conditions_with_many_masks():
    gradient, hessian, lower, upper, rows, limits = random_program(0, 600, 2)
    solution = solve_quadratic(gradient, hessian, lower, upper, rows, limits)
    step = solution.step
    assert (rows @ step <= limits + 1e-6 * np.linalg.norm(rows, axis=1)).all()
    slope = gradient + hessian.product(step) + rows.T @ solution.prices
    distance = np.minimum(step - lower, upper - step)
    assert (np.abs(slope) * distance).max() < 1e-5  # either the slope is zero or a bound holds
    assert (slope[step <= lower + 1e-7] > -1e-6).all()
    assert (slope[step >= upper - 1e-7] < 1e-6).all()
    assert (solution.prices >= 0).all()
    assert solution.iterations < 60
