"""Judge a model on held-out data: one value per user, in batches, with standard errors over users."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from gossamer.core.checks import check_int, check_real
from gossamer.core.progress import track
from gossamer.core.protocols import Recommendations
from gossamer.core.topk import batch_rows
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.metrics.hits import find_hits
from gossamer.metrics.ranking import parse_metric
from gossamer.metrics.rating import mae, mse


@dataclass(frozen=True)
class RankingScores:
    """Ranking metrics of a model: `per_user` by name, NaN for users without targets, and `overall` (coverage).

    Means, standard errors and intervals are over the users that have targets.
    """

    per_user: dict[str, Float[np.ndarray, " N"]]
    overall: dict[str, float]

    def mean(self) -> dict[str, float]:
        """Return the mean over users of each metric, and the overall ones as they are."""
        return {name: _mean_and_error(values)[0] for name, values in self.per_user.items()} | self.overall

    def standard_error(self) -> dict[str, float]:
        """Return the standard error of each mean over users (NaN for fewer than two); overall metrics have none."""
        return {name: _mean_and_error(values)[1] for name, values in self.per_user.items()}

    def interval(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Return the normal confidence interval of each mean over users."""
        check_real("level", level, above=0, below=1)
        width = NormalDist().inv_cdf((1 + level) / 2)
        bounds = {}
        for name, values in self.per_user.items():
            mean, error = _mean_and_error(values)
            bounds[name] = (mean - width * error, mean + width * error)
        return bounds


class PairedDifference(NamedTuple):
    """The mean over users of a − b, and its standard error."""

    mean: float
    standard_error: float


def paired_difference(a: Float[np.ndarray, " N"], b: Float[np.ndarray, " N"]) -> PairedDifference:
    """Return the mean of a − b over users where both are defined, with its standard error.

    Users differ far more than models do, so the paired error is usually well below that of either mean.

    >>> paired_difference(np.array([0.5, 0.75, 0.1]), np.array([0.25, 0.5, np.nan])).mean
    0.25
    """
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"a must have one value per user, as b has, got {a.shape} and {b.shape}")
    return PairedDifference(*_mean_and_error(a - b))


def evaluate_ranking(
    recommend: Callable[[Interactions, int], Recommendations],
    held_out: HeldOut,
    metrics: Sequence[str],
    batch_size: int | None = None,
) -> RankingScores:
    """Rank items for the users of `held_out` from their history and compare the lists with their targets.

    `recommend(history, n)` is called for `batch_size` users at a time (as many as one dense block of scores
    has room for, when None), so that no users × items matrix ever exists. Metrics have the names and conventions
    of `parse_metric`.
    """
    if isinstance(metrics, str) or len(metrics) == 0 or len(set(metrics)) != len(metrics):
        raise ValueError(f"metrics must be different names such as ['recall@20', 'ndcg@100'], got {metrics!r}")
    if held_out.target.nnz == 0:
        raise ValueError("held_out must have at least one target interaction, got 0")
    parsed = [parse_metric(name) for name in metrics]
    longest = max(metric.k for metric in parsed)
    num_users, num_items = held_out.target.shape
    size = batch_rows(num_items) if batch_size is None else check_int("batch_size", batch_size, at_least=1)
    per_user = {metric.name: np.full(num_users, np.nan) for metric in parsed if metric.is_per_user}
    is_recommended = {metric: np.zeros(num_items, dtype=bool) for metric in parsed if not metric.is_per_user}
    for start in track(range(0, num_users, size), "evaluating"):
        rows = slice(start, start + size)
        target = held_out.target[rows]
        items = recommend(held_out.history[rows], longest).items
        if items.shape != (len(target), longest):
            raise ValueError(
                f"recommend must return {longest} items (padded with -1) for {len(target)} users, got {items.shape}"
            )
        hits = find_hits(items, target.matrix())
        for metric in parsed:
            if metric.is_per_user:
                per_user[metric.name][rows] = metric.of_hits(hits)
            else:
                listed = items[:, : metric.k]
                is_recommended[metric][listed[listed >= 0]] = True
    return RankingScores(per_user, {metric.name: float(seen.mean()) for metric, seen in is_recommended.items()})


def evaluate_ratings(
    predict: Callable[[Interactions], Float[np.ndarray, " nnz"]], held_out: HeldOut
) -> dict[str, float]:
    """Return mse and mae over the target interactions; `predict(target)` gives one rating for each, in their order."""
    target = held_out.target
    if target.rating is None or target.nnz == 0:
        raise ValueError("held_out must have at least one target interaction with a rating, got none")
    prediction = predict(target)
    return {"mse": mse(prediction, target.rating), "mae": mae(prediction, target.rating)}


def _mean_and_error(values: Float[np.ndarray, " N"]) -> tuple[float, float]:
    defined = values[~np.isnan(values)]
    if defined.size == 0:
        return math.nan, math.nan
    error = float(defined.std(ddof=1)) / math.sqrt(defined.size) if defined.size > 1 else math.nan
    return float(defined.mean()), error
