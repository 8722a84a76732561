"""Choose settings on validation data: every combination of a grid, or a number of random draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from gossamer.core.progress import track
from gossamer.core.randomness import derive_seed, numpy_generator
from gossamer.runner.specs import SearchSpec

PARTS = ("kl", "reconstruction", "relaxed")
ERRORS = ("mse", "rmse", "mae", "error", "entropy", "perplexity", "loss", "nll", "objective")
LOWER_IS_BETTER = (*ERRORS, "hard", "iw100", *PARTS)
# Nobody wins by parts of a bound, by what is no bound, by how many features are on or communities there are, by what a
# budget allowed (shares of it, and the time that goes with them), or by how much classes differ.
NOBODY_WINS = (*PARTS, "active", "communities", "share", "milliseconds", "spread", "correlation")


def propose(search: SearchSpec, seed: int) -> list[dict[str, Any]]:
    """Return the settings to try, in order; a random search depends on `seed` alone.

    >>> propose(SearchSpec("grid", "ndcg@100", {"l2": [1, 10], "k": [5]}, 2), seed=0)
    [{'l2': 1, 'k': 5}, {'l2': 10, 'k': 5}]
    """
    if search.kind == "grid":
        return [dict(zip(search.space, values, strict=True)) for values in itertools.product(*search.space.values())]
    generator = numpy_generator(derive_seed(seed, "search"))
    trials = []
    for _ in range(search.trials):
        drawn: dict[str, Any] = {}
        for name, choices in search.space.items():
            if isinstance(choices, list):
                drawn[name] = choices[int(generator.integers(len(choices)))]
            else:
                drawn[name] = _draw(choices, float(generator.random()))
        trials.append(drawn)
    return trials


def choose(
    search: SearchSpec, seed: int, score: Callable[[dict[str, Any]], tuple[float, float]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Try the proposed settings and return the best with the trace; `score(settings)` gives metric and seconds.

    The metric's name says which way is better; among equals the first wins.
    """
    sign = -1.0 if lower_is_better(search.metric) else 1.0
    trace: list[dict[str, Any]] = []
    for settings in track(propose(search, seed), "searching"):
        value, seconds = score(settings)
        trace.append({"settings": settings, "value": value if math.isfinite(value) else None, "seconds": seconds})
    finished = [trial for trial in trace if trial["value"] is not None]
    if not finished:
        raise ValueError(f"{search.metric} must be finite for one of {len(trace)} settings at least, got none")
    best = max(finished, key=lambda trial: sign * trial["value"])
    described = {"kind": search.kind, "metric": search.metric, "on": "validation", "trials": trace}
    return best["settings"], described


def lower_is_better(metric: str) -> bool:
    """Say whether a metric is an error, by its name.

    >>> lower_is_better("test_mse"), lower_is_better("ndcg@100")
    (True, False)
    """
    return any(word in LOWER_IS_BETTER for word in metric.split("@")[0].lower().split("_"))


def has_a_best(metric: str) -> bool:
    """Say whether more, or less, of a metric is better at all, by its name.

    >>> has_a_best("test_hard"), has_a_best("mean_active")
    (True, False)
    """
    return not any(word in NOBODY_WINS for word in metric.split("@")[0].lower().split("_"))


def _draw(limits: dict[str, Any], uniform: float) -> float | int:
    low, high = float(limits["low"]), float(limits["high"])
    value = low * (high / low) ** uniform if limits.get("scale") == "log" else low + (high - low) * uniform
    return round(value) if limits.get("integer") else float(f"{value:.6g}")
