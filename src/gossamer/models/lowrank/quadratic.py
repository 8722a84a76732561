"""The quadratic program of an SQP iteration: a limited-memory Hessian, a box, and a handful of linear limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gossamer.models.lowrank.limited_memory import LimitedMemoryHessian

MAX_ITERATIONS = 100
CENTERING_POWER = 3  # Mehrotra's
STEP_BACK = 0.995


@dataclass(frozen=True)
class QuadraticSolution:
    """A minimiser, the prices of the limits (their multipliers), and the number of iterations it took."""

    step: Float[np.ndarray, " n"]
    prices: Float[np.ndarray, " C"]
    iterations: int


def solve_quadratic(
    gradient: Float[np.ndarray, " n"],
    hessian: LimitedMemoryHessian,
    lower: Float[np.ndarray, " n"],
    upper: Float[np.ndarray, " n"],
    rows: Float[np.ndarray, "C n"],
    limits: Float[np.ndarray, " C"],
    *,
    tolerance: float = 1e-9,
) -> QuadraticSolution:
    """Minimise gᵀd + ½ dᵀBd subject to lower ≤ d ≤ upper and rows · d ≤ limits.

    Mehrotra's predictor–corrector interior point method. Every Newton system is a diagonal plus a matrix of rank
    2·memory + C, so an iteration costs O(n · memory²) and thousands of masks are no burden. Each row of the limits is
    scaled by itself; the limits must leave room inside the box.

    >>> free = LimitedMemoryHessian(2)
    >>> g, box = np.array([-1.0, -1.0]), (np.zeros(2), np.ones(2))
    >>> solve_quadratic(g, free, *box, np.array([[1.0, 1.0]]), np.array([1.0])).step.round(6).tolist()
    [0.5, 0.5]
    """
    norms = np.maximum(np.linalg.norm(rows, axis=1), np.finfo(float).tiny)
    rows, limits = rows / norms[:, None], limits / norms
    size = max(1.0, float(np.abs(gradient).max(initial=0.0)))
    state = _start(lower, upper, rows, limits, size)
    best, least = state, np.inf
    done = 0
    for done in range(1, MAX_ITERATIONS + 1):  # noqa: B007 (the last value is returned)
        residuals = _residuals(state, gradient, hessian, lower, upper, rows, limits)
        gap = state.gap()
        worst = max(np.abs(part).max(initial=0.0) for part in residuals)
        # Beyond some point the barrier swallows the digits of the Hessian: the best point seen is the answer.
        if max(gap, worst) < least:
            best, least = replace(state), max(gap, worst)
        if gap < tolerance * size:
            break
        solve = _newton(state, hessian, rows)
        affine = _direction(state, residuals, solve, rows, [slack * price for slack, price in state.pairs()])
        length = state.longest(affine)
        target = gap * (state.gap_after(affine, length) / gap) ** CENTERING_POWER
        corrected = [
            slack * price + move * turn - target
            for (slack, price), (move, turn) in zip(state.pairs(), affine.pairs(), strict=True)
        ]
        final = _direction(state, residuals, solve, rows, corrected)
        state.move(final, min(1.0, STEP_BACK * state.longest(final)))
    return QuadraticSolution(np.clip(best.point, lower, upper), best.prices[2] / norms, done)


@dataclass
class _State:
    """The point, and slack and price of each of the three kinds of limits: lower, upper, rows."""

    point: np.ndarray
    slacks: list[np.ndarray]
    prices: list[np.ndarray]

    def pairs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return list(zip(self.slacks, self.prices, strict=True))

    def _count(self) -> int:
        return sum(len(slack) for slack in self.slacks)

    def gap(self) -> float:
        return sum(float(slack @ price) for slack, price in self.pairs()) / self._count()

    def gap_after(self, change: _State, length: float) -> float:
        total = sum(
            float((slack + length * move) @ (price + length * turn))
            for (slack, price), (move, turn) in zip(self.pairs(), change.pairs(), strict=True)
        )
        return max(total, 0.0) / self._count()

    def longest(self, change: _State) -> float:
        """Return how far one can go before a slack or a price is zero, at most 1."""
        longest = 1.0
        for now, move in zip(self.slacks + self.prices, change.slacks + change.prices, strict=True):
            falling = move < 0
            if falling.any():
                longest = min(longest, float((-now[falling] / move[falling]).min()))
        return longest

    def move(self, change: _State, length: float) -> None:
        self.point = self.point + length * change.point
        self.slacks = [now + length * move for now, move in zip(self.slacks, change.slacks, strict=True)]
        self.prices = [now + length * move for now, move in zip(self.prices, change.prices, strict=True)]


def _start(lower: np.ndarray, upper: np.ndarray, rows: np.ndarray, limits: np.ndarray, size: float) -> _State:
    """Begin in the middle of the box, with slacks that are well inside where the limits are not."""
    point = (lower + upper) / 2
    width = np.maximum(upper - lower, 1e-12)
    slacks = [width / 2, width / 2, np.maximum(limits - rows @ point, 1.0)]
    return _State(point, slacks, [np.full(len(slack), size) for slack in slacks])


def _residuals(
    state: _State,
    gradient: np.ndarray,
    hessian: LimitedMemoryHessian,
    lower: np.ndarray,
    upper: np.ndarray,
    rows: np.ndarray,
    limits: np.ndarray,
) -> list[np.ndarray]:
    """Return how far stationarity and the three kinds of limits are from holding."""
    low, high, row = state.prices
    stationary = gradient + hessian.product(state.point) - low + high + rows.T @ row
    return [
        stationary,
        state.point - lower - state.slacks[0],
        upper - state.point - state.slacks[1],
        limits - rows @ state.point - state.slacks[2],
    ]


def _newton(state: _State, hessian: LimitedMemoryHessian, rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that solves (B + barrier) x = v by the Woodbury identity."""
    ratios = [price / slack for slack, price in state.pairs()]
    diagonal = hessian.curvature + ratios[0] + ratios[1]
    wide, middle = hessian.low_rank()
    tall = np.hstack([wide, rows.T])
    num_wide = wide.shape[1]
    small = np.zeros((tall.shape[1], tall.shape[1]))
    small[:num_wide, :num_wide] = -middle
    small[num_wide:, num_wide:] = np.diag(1 / ratios[2])
    scaled = tall / diagonal[:, None]
    small += tall.T @ scaled

    def solve(vector: np.ndarray) -> np.ndarray:
        solution: np.ndarray = vector / diagonal - scaled @ np.linalg.solve(small, scaled.T @ vector)
        return solution

    return solve


def _direction(
    state: _State,
    residuals: list[np.ndarray],
    solve: Callable[[np.ndarray], np.ndarray],
    rows: np.ndarray,
    products: list[np.ndarray],
) -> _State:
    """Return the Newton direction that brings slack · price down by `products`."""
    stationary, *shortfalls = residuals
    # Prices follow slacks: turn = −(product + price · move) / slack; slacks follow the point.
    pulls = [
        (product + price * shortfall) / slack
        for product, shortfall, (slack, price) in zip(products, shortfalls, state.pairs(), strict=True)
    ]
    point = solve(-stationary - pulls[0] + pulls[1] + rows.T @ pulls[2])
    moves = [point + shortfalls[0], -point + shortfalls[1], -(rows @ point) + shortfalls[2]]
    turns = [
        -(product + price * move) / slack
        for product, move, (slack, price) in zip(products, moves, state.pairs(), strict=True)
    ]
    return _State(point, moves, turns)
