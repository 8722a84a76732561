"""Fit one model, or several on the same split, and judge them: what `fit`, `compare`, `demo` and the report share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gossamer.data.interactions import Split
from gossamer.runner.estimators import find_class, make_estimator
from gossamer.runner.measure import Measured, default_metrics, fit, measure, predicts_ratings
from gossamer.runner.specs import SplitSpec


@dataclass(frozen=True)
class Outcome:
    """A fitted model and how it did; `seconds` is None for a loaded one, `measured` where nothing was held out."""

    model: str
    estimator: Any
    seconds: float | None
    measured: Measured | None


def fit_and_judge(
    model: str,
    split: Split,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str | None = None,
    metrics: Sequence[str] | None = None,
) -> Outcome:
    """Fit a model of the catalogue on a split's training part and judge it on the test part."""
    estimator = make_estimator(model, settings or {}, seed=seed, device=device)
    seconds = fit(estimator, split)
    if split.test.target.nnz == 0:
        return Outcome(model, estimator, seconds, None)
    return Outcome(model, estimator, seconds, measure(estimator, split.test, metrics or default_metrics(estimator)))


def default_split(models: Sequence[str], seed: int) -> SplitSpec:
    """Return the split these models are judged by: held-out users for recommenders, held-out ratings for predictors."""
    rating_models = [model for model in models if predicts_ratings(find_class(model))]
    if rating_models and len(rating_models) < len(models):
        others = ", ".join(model for model in models if model not in rating_models)
        raise ValueError(
            f"models must all recommend or all predict ratings, got {', '.join(rating_models)} beside {others}"
        )
    return SplitSpec("random" if rating_models else "users", seed=seed)
