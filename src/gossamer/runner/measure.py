"""Judge a fitted model by metric names: ranking (`ndcg@100`), its own measures (`test_mse`) and its size (`values`)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gossamer.core.protocols import Predictor, Recommender
from gossamer.data.interactions import HeldOut, Split
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.evaluation import RankingScores, evaluate_ranking

RANKING_METRICS = ("recall@20", "recall@50", "ndcg@100")
RATING_METRICS = ("mse", "mae")
SIZE_METRICS = ("values", "bytes")


@dataclass(frozen=True)
class Measured:
    """Named values with their standard errors over users, and the values per user where there are users."""

    values: dict[str, float]
    standard_error: dict[str, float]
    ranking: RankingScores | None = None


def predicts_ratings(estimator: Any) -> bool:
    """Say whether a model, or its class, is judged by the ratings it predicts rather than by what it recommends."""
    return isinstance(estimator, Predictor) or (isinstance(estimator, type) and hasattr(estimator, "predict"))


def default_metrics(estimator: Any) -> tuple[str, ...]:
    """Return the metrics a model is judged by when nobody names any."""
    return RATING_METRICS if predicts_ratings(estimator) else RANKING_METRICS


def fit(estimator: Any, split: Split) -> float:
    """Fit on the training part, with the validation part for what the model itself chooses; return the seconds."""
    start = time.perf_counter()
    estimator.fit(split.train, validation=split.valid)
    return time.perf_counter() - start


def measure(estimator: Any, held_out: HeldOut, metrics: Sequence[str]) -> Measured:
    """Return the named metrics of a fitted model on held-out data.

    Names with an @ are ranking metrics over users, `values` and `bytes` what the model stores; any other is one of
    the model's own `evaluate`, with or without the prefix `test_`.
    """
    ranking_names = [name for name in metrics if "@" in name]
    own_names = [name for name in metrics if "@" not in name and name not in SIZE_METRICS]
    found: dict[str, float] = {}
    ranking = None
    if ranking_names:
        if not isinstance(estimator, Recommender):
            raise ValueError(f"metrics must be measures of {type(estimator).__name__}, got {ranking_names[0]!r}")
        items: Vocabulary = estimator.items_  # type: ignore[attr-defined]
        ranking = evaluate_ranking(estimator.recommend, held_out.over_items(items), ranking_names)
        found |= ranking.mean()
    if own_names:
        own = estimator.evaluate(held_out)
        for name in own_names:
            if name.removeprefix("test_") not in own:
                raise ValueError(f"metrics must be names with an @ or one of {', '.join(own)}, got {name!r}")
            found[name] = float(own[name.removeprefix("test_")])
    if any(name in SIZE_METRICS for name in metrics):
        found |= dict(zip(SIZE_METRICS, stored_size(estimator), strict=True))
    values = {name: found[name] for name in metrics}
    errors = {} if ranking is None else ranking.standard_error()
    return Measured(values, {name: error for name, error in errors.items() if math.isfinite(error)}, ranking)


def stored_size(estimator: Any) -> tuple[int, int]:
    """Return how many numbers a fitted model stores and its bytes.

    Indices of sparse matrices count as bytes, not as values; a model that knows better has `num_values()`.
    """
    arrays: dict[str, np.ndarray] = estimator.learned_arrays()
    num_values = sum(array.size for array in arrays.values() if array.dtype.kind == "f")
    if hasattr(estimator, "num_values"):
        num_values = int(estimator.num_values())
    return num_values, sum(array.nbytes for array in arrays.values())
