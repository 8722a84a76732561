"""What does an SQP iteration over masks cost beside the network's gradient, and beside scipy's SLSQP?

The loss is a cheap quadratic, so that the solver's own work is timed: one quadratic program with a full memory of ten
pairs, two budgets and a box. SLSQP keeps a dense Hessian: its cost grows with the cube of the masks.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from measuring import Arrays, run_benchmark
from scipy.optimize import minimize

from gossamer.models.lowrank.sqp import minimise_masks

COLUMNS = {"iteration_seconds": "s/iteration", "loss": "loss at the end"}


def mask_problem(num_masks: int, iterations: int) -> Arrays:
    rng = np.random.default_rng(0)
    return {
        "curvature": rng.uniform(0.1, 3.0, num_masks),
        "centre": rng.uniform(0.0, 2.0, num_masks),
        "rows": rng.uniform(1.0, 1000.0, (2, num_masks)),
        "iterations": np.array(iterations),
    }


def loss(arrays: Arrays, masks: np.ndarray) -> tuple[float, np.ndarray]:
    apart = masks - arrays["centre"]
    return float(0.5 * (arrays["curvature"] * apart**2).sum()), arrays["curvature"] * apart


def gossamer(times: int) -> Callable[[Arrays], Callable[[], dict[str, float]]]:
    def prepare(arrays: Arrays) -> Callable[[], dict[str, float]]:
        many = {**arrays, **{name: np.tile(arrays[name], times) for name in ("curvature", "centre")}}
        many["rows"] = np.tile(arrays["rows"], (1, times))

        def measure() -> dict[str, float]:
            start, limits, count = (
                np.zeros(many["rows"].shape[1]),
                0.4 * many["rows"].sum(axis=1),
                int(arrays["iterations"]),
            )
            began = time.perf_counter()
            path = minimise_masks(lambda masks, _: loss(many, masks), start, many["rows"], limits, iterations=count)
            seconds = time.perf_counter() - began
            return {"iteration_seconds": seconds / count, "loss": loss(many, path.masks)[0] / times}

        return measure

    return prepare


def slsqp(arrays: Arrays) -> Callable[[], dict[str, float]]:
    def measure() -> dict[str, float]:
        rows = arrays["rows"] / 1000
        limits = 0.4 * rows.sum(axis=1)
        began = time.perf_counter()
        found = minimize(
            lambda masks: loss(arrays, masks)[0],
            np.zeros(rows.shape[1]),
            jac=lambda masks: loss(arrays, masks)[1],
            bounds=[(0, 1)] * rows.shape[1],
            constraints=[{"type": "ineq", "fun": lambda masks: limits - rows @ masks, "jac": lambda _: -rows}],
            method="SLSQP",
            options={"maxiter": 3},
        )
        return {"iteration_seconds": (time.perf_counter() - began) / max(1, found.nit), "loss": float(found.fun)}

    return measure


if __name__ == "__main__":
    run_benchmark(
        "sqp",
        "An SQP iteration over 1,000 masks with two budgets, without the network's gradient",
        {"num_masks": 1000, "iterations": 30},
        {"gossamer": gossamer(1), "gossamer, 5,000 masks": gossamer(5), "scipy SLSQP": slsqp},
        small={"num_masks": 100, "iterations": 10},
        make=mask_problem,
        load=dict,
        costs=COLUMNS,
        packages=("scipy",),
    )
