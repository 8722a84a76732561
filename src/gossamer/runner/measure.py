"""Judge a fitted model by metric names: ranking (`ndcg@100`), its own measures (`test_mse`) and its size (`values`)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gossamer.data.interactions import HeldOut
from gossamer.data.sequences import Sequences
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.evaluation import RankingScores, evaluate_ranking
from gossamer.metrics.pairs import PAIR_METRICS
from gossamer.persistence.stored_size import stored_size as stored_size
from gossamer.runner.checkpoints import takes_checkpoint
from gossamer.runner.community_findings import COMMUNITY_METRICS, community_metrics
from gossamer.runner.directory import SharedSplit
from gossamer.runner.directory import num_held_out as num_held_out
from gossamer.runner.pair_judging import pair_metrics, ranking_of
from gossamer.runner.source import Division

SIZE_METRICS = ("values", "bytes")


@dataclass(frozen=True)
class Measured:
    """Named values with their standard errors over users, and the values per user where there are users."""

    values: dict[str, float]
    standard_error: dict[str, float]
    ranking: RankingScores | None = None


def fit(estimator: Any, split: Division | SharedSplit, checkpoint: Path | None = None) -> float:
    """Fit on the training part, with the validation part for what the model itself chooses; return the seconds.

    A model that can be interrupted writes its `checkpoint`, and goes on from one that is there.
    """
    start = time.perf_counter()
    kept = {"checkpoint": checkpoint} if checkpoint is not None and takes_checkpoint(estimator) else {}
    estimator.fit(split.train, validation=split.valid, **kept)
    return time.perf_counter() - start


def measure(estimator: Any, held_out: Any, metrics: Sequence[str] | None, valid: Any = None) -> Measured:
    """Return the named metrics of a fitted model on held-out interactions or documents.

    Names with an @ are ranking metrics over users, `values` and `bytes` what the model stores. On interactions,
    `accuracy`, `f1`, `roc_auc` and `pr_auc` are of pairs, with the threshold from `valid`, and there are those of
    communities. Any other is one of the model's own `evaluate`, with or without the prefix `test_`. None asks for all
    of `evaluate`.
    """
    own: dict[str, float] = {}
    if metrics is None:
        own = estimator.evaluate(held_out)
        metrics = list(own)
    ranking_names = [name for name in metrics if "@" in name]
    found: dict[str, float] = {}
    if isinstance(held_out, HeldOut) and not own:
        found |= _of_interactions(estimator, held_out, metrics, valid)
    own_names = [name for name in metrics if "@" not in name and name not in SIZE_METRICS and name not in found]
    ranking = None
    if ranking_names:
        recommend = ranking_of(estimator)
        if recommend is None:
            raise ValueError(f"metrics must be measures of {type(estimator).__name__}, got {ranking_names[0]!r}")
        items: Vocabulary = estimator.items_
        ranking = evaluate_ranking(recommend, held_out.over_items(items), ranking_names)
        found |= ranking.mean()
    if own_names:
        own = own or estimator.evaluate(held_out)
        for name in own_names:
            if name.removeprefix("test_") not in own:
                raise ValueError(f"metrics must be names with an @ or one of {', '.join(own)}, got {name!r}")
            found[name] = float(own[name.removeprefix("test_")])
    if any(name in SIZE_METRICS for name in metrics):
        found |= dict(zip(SIZE_METRICS, stored_size(estimator), strict=True))
    values = {name: found[name] for name in metrics}
    errors = {} if ranking is None else ranking.standard_error()
    return Measured(values, {name: error for name, error in errors.items() if math.isfinite(error)}, ranking)


def _of_interactions(
    estimator: Any, held_out: HeldOut, metrics: Sequence[str], valid: HeldOut | None
) -> dict[str, float]:
    found: dict[str, float] = {}
    if any(name in PAIR_METRICS for name in metrics):
        found |= pair_metrics(estimator, held_out, valid)
    if any(name in COMMUNITY_METRICS for name in metrics):
        found |= community_metrics(estimator, held_out, list(metrics))
    return found


def name_held_out(held_out: Any) -> str:
    """Say what a model is judged on, such as "760 held-out documents"."""
    return f"{len(held_out):,} held-out {'users' if isinstance(held_out, HeldOut) else name_rows(held_out)}"


def name_rows(data: Any) -> str:
    """Say what the rows of a container are called: sequences, or documents."""
    return "sequences" if isinstance(data, Sequences) else "documents"
