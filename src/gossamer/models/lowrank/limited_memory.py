"""A limited-memory BFGS Hessian in compact form: diagonal plus low rank, always positive definite."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

DAMPING = 0.2  # Powell's: curvature below this share of the model's own is mixed with it


class LimitedMemoryHessian:
    """B = δI − W M⁻¹ Wᵀ from the last `memory` pairs s = Δm, y = Δg (Byrd, Nocedal and Schnabel 1994, eq. 3.22).

    Pairs are damped by Powell's rule, so B stays positive definite whatever noise sub-sampled gradients have. δ is the
    curvature yᵀy / yᵀs of the newest pair, kept within `bounds` of the first one.

    >>> hessian = LimitedMemoryHessian(2)
    >>> hessian.update(np.array([1.0, 0.0]), np.array([3.0, 0.0]))
    True
    >>> np.round(hessian.matrix(), 6).tolist()
    [[3.0, 0.0], [0.0, 3.0]]
    """

    def __init__(self, size: int, *, memory: int = 10, curvature: float = 1.0, largest_ratio: float = 1e4) -> None:
        self.size = size
        self.memory = memory
        self.curvature = curvature
        self.largest_ratio = largest_ratio
        self._steps: list[np.ndarray] = []
        self._changes: list[np.ndarray] = []
        self._first_curvature: float | None = None
        self._compact: tuple[np.ndarray, np.ndarray] | None = None

    def update(self, step: Float[np.ndarray, " n"], change: Float[np.ndarray, " n"]) -> bool:
        """Learn from a step and the change of the gradient along it; say whether it was of use."""
        length = float(step @ step)
        if not np.isfinite(change).all() or length <= 1e-24:
            return False
        modelled = self.product(step)
        own, seen = float(step @ modelled), float(step @ change)
        if seen < DAMPING * own:
            weight = (1 - DAMPING) * own / (own - seen)
            change = weight * change + (1 - weight) * modelled
            seen = float(step @ change)
        curvature = float(change @ change) / seen
        if self._first_curvature is None:
            self._first_curvature = curvature
        allowed = (self._first_curvature / self.largest_ratio, self._first_curvature * self.largest_ratio)
        self.curvature = float(np.clip(curvature, *allowed))
        self._steps = [*self._steps, step.copy()][-self.memory :]
        self._changes = [*self._changes, change.copy()][-self.memory :]
        self._compact = None
        return True

    def low_rank(self) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "k k"]]:
        """Return W and M of B = δI − W M⁻¹ Wᵀ; both are empty before the first pair."""
        if self._compact is None:
            if not self._steps:
                self._compact = np.zeros((self.size, 0)), np.zeros((0, 0))
            else:
                steps, changes = np.stack(self._steps, axis=1), np.stack(self._changes, axis=1)
                products = steps.T @ changes
                lower = np.tril(products, -1)
                middle = np.block([[self.curvature * steps.T @ steps, lower], [lower.T, -np.diag(np.diag(products))]])
                self._compact = np.hstack([self.curvature * steps, changes]), middle
        return self._compact

    def product(self, vector: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return B · vector."""
        wide, middle = self.low_rank()
        if wide.shape[1] == 0:
            return self.curvature * vector
        product: np.ndarray = self.curvature * vector - wide @ np.linalg.solve(middle, wide.T @ vector)
        return product

    def matrix(self) -> Float[np.ndarray, "n n"]:
        """Return B as a dense matrix, for tests and small problems."""
        return np.stack([self.product(column) for column in np.eye(self.size)], axis=1)
