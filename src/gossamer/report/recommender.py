"""The report on recommenders: data, comparison, training, size, what was learned, examples, provenance."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, TypeAlias

from gossamer.data import Interactions, Split
from gossamer.metrics.evaluation import RankingScores, paired_difference
from gossamer.report.blocks import Block, Cell, Estimate, Facts, Figure, Fold, Hit, Section, Table, Text
from gossamer.report.data_summary import data_section
from gossamer.report.figures import metric_intervals, training_curves
from gossamer.report.numbers import format_bytes, format_number, format_seconds
from gossamer.report.page import Report
from gossamer.report.tables import explanation_blocks

Scores: TypeAlias = RankingScores | Mapping[str, float | tuple[float, float, float]]

_LOWER_IS_BETTER = ("mse", "mae", "rmse", "loss", "perplexity", "error")
_UNKNOWN = Estimate(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class ModelResult:
    """What is known of one fitted model; everything but its scores may be missing.

    `scores` are the per-user scores of the evaluation, or means by metric, or (mean, low, high) by metric.
    `num_values` and `num_bytes` count what must be stored, `history` has one dict per epoch, and `explanation` is
    what the model's `explain()` returned.
    """

    scores: Scores = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    num_values: int | None = None
    num_bytes: int | None = None
    history: Sequence[Mapping[str, Any]] = ()
    explanation: Mapping[str, Any] = field(default_factory=dict)

    def estimates(self) -> dict[str, Estimate]:
        """Return mean and 95 % interval by metric, NaN where there is no interval."""
        if isinstance(self.scores, RankingScores):
            intervals = self.scores.interval(0.95)
            return {
                name: Estimate(mean, *intervals.get(name, _UNKNOWN[1:])) for name, mean in self.scores.mean().items()
            }
        return {
            name: Estimate(*map(float, value)) if isinstance(value, Sequence) else Estimate(value, math.nan, math.nan)
            for name, value in self.scores.items()
        }


@dataclass(frozen=True)
class Example:
    """One user's history and what each model recommends, best first; what is in `held_out` is a hit."""

    user: str
    history: Sequence[str]
    recommended: Mapping[str, Sequence[str]]
    held_out: Collection[str] = ()


def recommender_report(
    *,
    title: str,
    data: Interactions | None,
    split: Split | None,
    models: Mapping[str, ModelResult],
    examples: Sequence[Example] = (),
    provenance: Mapping[str, Any] | None = None,
    subtitle: str = "",
) -> Report:
    """Put together the report on one recommender or several; sections without content are left out.

    `models` is in the order to show. `provenance` names what is needed to run it again: commit, versions, seed,
    date. Nothing is read from the clock or the machine, so that equal arguments give equal pages.
    """
    sections = [
        _comparison_section(models, split),
        None if data is None else data_section(data),
        _training_section(models),
        _size_section(models),
        _examples_section(examples),
        _learned_section(models),
        _provenance_section(models, split, provenance or {}),
    ]
    described = subtitle or _describe(data, models)
    return Report(title, described, [section for section in sections if section is not None])


def _describe(data: Interactions | None, models: Mapping[str, ModelResult]) -> str:
    names = list(models)
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    if data is None:
        return ""
    on = f"{data.num_users:,} users, {data.num_items:,} items and {data.nnz:,} interactions"
    return f"{listed} on {on}." if names else f"{on}."


def _comparison_section(models: Mapping[str, ModelResult], split: Split | None) -> Section | None:
    estimates = {name: result.estimates() for name, result in models.items() if result.scores}
    estimates = {name: scores for name, scores in estimates.items() if scores}
    if not estimates:
        return None
    metrics = list(dict.fromkeys(metric for scores in estimates.values() for metric in scores))
    best = {metric: "min" if _is_lower_better(metric) else "max" for metric in metrics}
    rows: list[dict[str, Cell]] = [{"model": name, **scores} for name, scores in estimates.items()]
    blocks: list[Block] = [Table(rows, "Each metric, with its 95 % confidence interval", best)]
    with_intervals = {
        name: {
            metric: (score.mean, score.low, score.high) for metric, score in scores.items() if math.isfinite(score.low)
        }
        for name, scores in estimates.items()
    }
    drawings = metric_intervals({name: scores for name, scores in with_intervals.items() if scores}, best)
    if drawings and len(models) > 1:
        blocks.append(Figure(drawings, "Dots are means over users, bars their 95 % confidence intervals."))
    blocks += _paired_blocks(models)
    return Section("How well it recommends", blocks, _verdict(estimates, best, split))


def _verdict(estimates: Mapping[str, Mapping[str, Estimate]], best: Mapping[str, str], split: Split | None) -> str:
    """Say in a sentence who is ahead, by the last metric with intervals that all models have, and on how many users."""
    tested = "" if split is None else f" Measured on what was held out of {len(split.test):,} test users."
    shared = [
        metric
        for metric in best
        if all(math.isfinite(scores.get(metric, _UNKNOWN).low) for scores in estimates.values())
    ]
    if not shared or len(estimates) < 2:
        return f"Means over users.{tested}"
    metric, goal = shared[-1], best[shared[-1]]
    leader = (min if goal == "min" else max)(estimates, key=lambda name: estimates[name][metric].mean)
    word = "lowest" if goal == "min" else "highest"
    return f"{leader} has the {word} {metric}, {format_number(estimates[leader][metric].mean)}.{tested}"


def _paired_blocks(models: Mapping[str, ModelResult]) -> list[Block]:
    """Compare every model with the best one user by user: the honest test, for users differ more than models do."""
    scored = {name: result.scores for name, result in models.items() if isinstance(result.scores, RankingScores)}
    shared = [
        metric
        for metric in (next(iter(scored.values())).per_user if scored else {})
        if all(metric in scores.per_user for scores in scored.values())
    ]
    sizes = {len(values) for scores in scored.values() for values in scores.per_user.values()}
    if len(scored) < 2 or not shared or len(sizes) != 1:
        return []
    means = {name: scores.mean()[shared[-1]] for name, scores in scored.items()}
    known = {name: mean for name, mean in means.items() if not math.isnan(mean)}
    if not known:
        return []
    leader = max(known, key=lambda name: known[name])
    width = NormalDist().inv_cdf(0.975)
    rows: list[dict[str, Cell]] = []
    for name, scores in scored.items():
        if name != leader:
            row: dict[str, Cell] = {"model": name}
            for metric in shared:
                mean, error = paired_difference(scores.per_user[metric], scored[leader].per_user[metric])
                row[metric] = Estimate(mean, mean - width * error, mean + width * error)
            rows.append(row)
    note = "Paired over the same users, with 95 % intervals. Where an interval contains 0, no difference is shown."
    return [Table(rows, f"Difference from {leader}", note=note)]


def _training_section(models: Mapping[str, ModelResult]) -> Section | None:
    blocks: list[Block] = [
        Figure(drawings, f"{name}, {len(result.history)} epochs.")
        for name, result in models.items()
        if (drawings := training_curves(result.history))
    ]
    return Section("How it was trained", blocks, "Values after each epoch.") if blocks else None


def _size_section(models: Mapping[str, ModelResult]) -> Section | None:
    rows: list[dict[str, Cell]] = []
    for name, result in models.items():
        costs = {"values": result.num_values, "size": result.num_bytes, "time to fit": result.seconds}
        if any(cost is not None for cost in costs.values()):
            rows.append({"model": name, **costs})
    if not rows:
        return None
    table = Table(
        rows,
        "Numbers stored, bytes with their indices, and time",
        best={"values": "min", "size": "min", "time to fit": "min"},
        formats={"size": format_bytes, "time to fit": format_seconds},
    )
    return Section("What it costs", [table], "Sizes count all that must be stored: values, indices and biases.")


def _examples_section(examples: Sequence[Example]) -> Section | None:
    if not examples:
        return None
    blocks: list[Block] = []
    for example in examples:
        length = max((len(items) for items in example.recommended.values()), default=0)
        rows: list[dict[str, Cell]] = [
            {"rank": str(rank + 1)}
            | {model: _recommended(items, rank, example.held_out) for model, items in example.recommended.items()}
            for rank in range(length)
        ]
        inner: list[Block] = [Facts({"has": list(example.history)}), Table(rows, f"Recommended to {example.user}")]
        blocks.append(Fold(example.user, inner, is_open=True))
    has_hits = any(example.held_out for example in examples)
    lead = "What the models suggest to some users, from what they have."
    return Section("Examples", blocks, lead + (" A tick marks what was held out and found." if has_hits else ""))


def _recommended(items: Sequence[str], rank: int, held_out: Collection[str]) -> Cell:
    if rank >= len(items):
        return None
    return Hit(str(items[rank])) if items[rank] in held_out else str(items[rank])


def _learned_section(models: Mapping[str, ModelResult]) -> Section | None:
    blocks: list[Block] = []
    for name, result in models.items():
        if len(models) == 1:
            blocks += explanation_blocks(result.explanation, is_open=True)
        elif result.explanation:
            blocks.append(Fold(name, explanation_blocks(result.explanation, is_open=True)))
    return Section("What it learned", blocks) if blocks else None


def _provenance_section(
    models: Mapping[str, ModelResult], split: Split | None, provenance: Mapping[str, Any]
) -> Section | None:
    blocks: list[Block] = [Facts(provenance)] if provenance else []
    if split is not None:
        sizes = {
            "training users": split.train.num_users,
            "training interactions": split.train.nnz,
            "validation users": None if split.valid is None else len(split.valid),
            "test users": len(split.test),
        }
        blocks.append(Fold("Split", [Facts({**split.description, **sizes})]))
    blocks += [
        Fold(f"Settings of {name}", [Facts(result.settings)]) for name, result in models.items() if result.settings
    ]
    if not blocks:
        return None
    if not provenance:
        blocks.insert(0, Text("No provenance was recorded."))
    return Section("Where it comes from", blocks, "What is needed to run it again.")


def _is_lower_better(metric: str) -> bool:
    return metric.split("@")[0].rsplit("_", 1)[-1].lower() in _LOWER_IS_BETTER
