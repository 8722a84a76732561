"""Sequential quadratic programming over masks (section 2.3.1): sub-sampled gradients, non-monotone line search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from gossamer.models.lowrank.limited_memory import LimitedMemoryHessian
from gossamer.models.lowrank.quadratic import solve_quadratic

# (masks, number of the sub-sample) → loss and gradient on that sub-sample; the same number is the same sample.
Evaluate = Callable[[np.ndarray, int], tuple[float, np.ndarray]]

REMEMBERED_LOSSES = 10  # the line search compares with the worst of these (Grippo, Lampariello and Lucidi 1986)
SUFFICIENT = 1e-4
HALVINGS = 5
FIRST_MOVE = 0.1  # how far the first step moves the steepest mask: what the first curvature is guessed from
STATIONARY = 1e-10


@dataclass(frozen=True)
class Iteration:
    """One SQP iteration: the loss before it on its sub-sample, the step's length, and the prices of the budgets."""

    number: int
    loss: float
    step_length: float
    prices: tuple[float, ...]


@dataclass
class MaskPath:
    """Where a minimisation ended, and every iteration on the way."""

    masks: Float[np.ndarray, " n"]
    iterations: list[Iteration] = field(default_factory=list)


def minimise_masks(
    evaluate: Evaluate,
    start: Float[np.ndarray, " n"],
    rows: Float[np.ndarray, "C n"],
    limits: Float[np.ndarray, " C"],
    *,
    iterations: int,
    upper: float = 1.0,
    largest_step: float = 0.25,
    memory: int = 10,
    averaged: int = 1,
    on_iteration: Callable[[Iteration], None] | None = None,
) -> MaskPath:
    """Minimise the loss over 0 ≤ m ≤ `upper` with rows · m ≤ limits (equation 2.8), from a feasible `start`.

    Both gradients of a curvature pair are taken on one sub-sample, so that their difference is curvature and not
    sampling noise. A step may raise the loss above the last one's, though not above the worst of the last ten. No mask
    moves by more than `largest_step` at once. The answer is the mean of the last `averaged` points, which is feasible
    because the constraints are convex, and less noisy than the last one.

    >>> def bowl(masks, sample):
    ...     return float(((masks - 2) ** 2).sum()), 2 * (masks - 2)
    >>> ends = minimise_masks(bowl, np.zeros(2), np.ones((1, 2)), np.array([1.0]), iterations=20)
    >>> ends.masks.round(4).tolist()
    [0.5, 0.5]
    """
    masks = np.clip(start.astype(np.float64), 0, upper)
    hessian: LimitedMemoryHessian | None = None
    losses: list[float] = []
    points: list[np.ndarray] = []
    path = MaskPath(masks)
    for number in range(iterations):
        loss, gradient = _checked(evaluate(masks, number), number)
        if hessian is None:
            steepest = float(np.abs(gradient).max(initial=0.0))
            if steepest < STATIONARY:
                break
            hessian = LimitedMemoryHessian(len(masks), memory=memory, curvature=steepest / FIRST_MOVE)
        box = np.maximum(-masks, -largest_step), np.minimum(upper - masks, largest_step)
        solution = solve_quadratic(gradient, hessian, *box, rows, limits - rows @ masks)
        step = _feasible(solution.step, masks, rows, limits)
        slope = float(gradient @ step)
        losses = [*losses, loss][-REMEMBERED_LOSSES:]
        length = 0.0
        if slope < -STATIONARY * max(1.0, abs(loss)):
            length = _search(evaluate, number, masks, step, slope, max(losses), gradient, hessian)
        masks = np.clip(masks + length * step, 0, upper)
        points = [*points, masks][-averaged:]
        entry = Iteration(number, loss, length, tuple(map(float, solution.prices)))
        path.iterations.append(entry)
        if on_iteration is not None:
            on_iteration(entry)
    path.masks = np.mean(points, axis=0) if points else masks
    return path


def _search(
    evaluate: Evaluate,
    number: int,
    masks: np.ndarray,
    step: np.ndarray,
    slope: float,
    worst: float,
    gradient: np.ndarray,
    hessian: LimitedMemoryHessian,
) -> float:
    """Return the first of 1, ½, ¼ … that falls enough, 0 where none does, and teach the Hessian what was seen."""
    length = 1.0
    for _ in range(HALVINGS + 1):
        loss, after = _checked(evaluate(masks + length * step, number), number)
        hessian.update(length * step, after - gradient)
        if loss <= worst + SUFFICIENT * length * slope:
            return length
        length /= 2
    return 0.0


def _feasible(step: np.ndarray, masks: np.ndarray, rows: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Shorten masks, where the solver's last digits put them past a limit, towards zero, which meets every limit."""
    after = masks + step
    used = rows @ after
    over = used > limits
    if over.any():
        after = after * float((limits[over] / used[over]).min())
    shortened: np.ndarray = after - masks
    return shortened


def _checked(outcome: tuple[float, np.ndarray], number: int) -> tuple[float, np.ndarray]:
    loss, gradient = outcome
    if not np.isfinite(loss) or not np.isfinite(gradient).all():
        raise FloatingPointError(
            f"loss must be finite, got {loss} with its gradient in SQP iteration {number}; check the model, the data "
            "and the loss on one batch"
        )
    return loss, gradient
