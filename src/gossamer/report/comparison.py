"""Which model does better, by how much, and whether the difference is more than chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TypeAlias

from gossamer.data import Parts, Split
from gossamer.metrics.evaluation import RankingScores, paired_difference
from gossamer.report.blocks import Block, Estimate, Figure, Section, Table
from gossamer.report.figures import metric_intervals
from gossamer.report.numbers import format_number
from gossamer.runner.measure import name_rows
from gossamer.runner.search import has_a_best, lower_is_better

Scores: TypeAlias = RankingScores | Mapping[str, float | tuple[float, float, float]]

_UNKNOWN = Estimate(math.nan, math.nan, math.nan)


def comparison_section(scores: Mapping[str, Scores], split: Split | Parts | None = None) -> Section | None:
    """Compare models by name: a table with 95 % intervals, drawings of them, and differences user by user."""
    estimates = {name: found for name, values in scores.items() if (found := estimates_of(values))}
    if not estimates:
        return None
    metrics = list(dict.fromkeys(metric for found in estimates.values() for metric in found))
    best = {metric: "min" if lower_is_better(metric) else "max" for metric in metrics}
    marked = {metric: side for metric, side in best.items() if has_a_best(metric)}
    rows = [{"model": name, **found} for name, found in estimates.items()]
    drawn = [metric for metric in metrics if any(_has_interval(found, metric) for found in estimates.values())]
    blocks: list[Block] = [Table(rows, "Each metric" + ", with its 95 % confidence interval" * bool(drawn), marked)]
    if drawn and len(estimates) > 1:
        table = {name: {metric: found.get(metric, _UNKNOWN) for metric in drawn} for name, found in estimates.items()}
        drawings = metric_intervals(table, best)
        blocks.append(Figure(drawings, "Dots are means over users, bars their 95 % confidence intervals."))
    leader, metric = _leader(estimates, best)
    differences = differences_from(leader, scores)
    if differences:
        note = "Paired over the same users, with 95 % intervals. Where an interval contains 0, no difference is shown."
        rows = [{"model": name, **found} for name, found in differences.items()]
        blocks.append(Table(rows, f"Difference from {leader}", note=note))
    level = [
        name for name, found in differences.items() if metric in found and found[metric].low <= 0 <= found[metric].high
    ]
    if isinstance(split, Parts):
        return Section("How well it does", blocks, f"Measured on {len(split.test):,} test {name_rows(split.test)}.")
    sentences = [_verdict(leader, metric, estimates, best, level)]
    if split is not None:
        sentences.append(f"Measured on what was held out of {len(split.test):,} test users.")
    return Section("How well it recommends", blocks, " ".join(sentences))


def estimates_of(scores: Scores) -> dict[str, Estimate]:
    """Return mean and 95 % interval by metric, NaN where there is no interval.

    >>> estimates_of({"mse": (0.5, 0.4, 0.6)})
    {'mse': Estimate(mean=0.5, low=0.4, high=0.6)}
    """
    if isinstance(scores, RankingScores):
        intervals = scores.interval(0.95)
        return {name: Estimate(mean, *intervals.get(name, _UNKNOWN[1:])) for name, mean in scores.mean().items()}
    return {
        name: Estimate(*map(float, value)) if isinstance(value, Sequence) else Estimate(value, math.nan, math.nan)
        for name, value in scores.items()
    }


def differences_from(leader: str, scores: Mapping[str, Scores]) -> dict[str, dict[str, Estimate]]:
    """Return how much every other model differs from `leader`, user by user, where the scores are per user.

    This is the test that counts: users differ more than models do, so intervals of means overlap where the paired
    difference is clear.
    """
    reference = scores.get(leader)
    if not isinstance(reference, RankingScores):
        return {}
    width = NormalDist().inv_cdf(0.975)
    differences: dict[str, dict[str, Estimate]] = {}
    for name, others in scores.items():
        if name == leader or not isinstance(others, RankingScores):
            continue
        for metric, values in others.per_user.items():
            if metric in reference.per_user and values.shape == reference.per_user[metric].shape:
                mean, error = paired_difference(values, reference.per_user[metric])
                differences.setdefault(name, {})[metric] = Estimate(mean, mean - width * error, mean + width * error)
    return differences


def _has_interval(found: Mapping[str, Estimate], metric: str) -> bool:
    return math.isfinite(found.get(metric, _UNKNOWN).low)


def _leader(estimates: Mapping[str, Mapping[str, Estimate]], best: Mapping[str, str]) -> tuple[str, str]:
    """Return the best model and the metric that says so: the last one with intervals that all have; "" for none."""
    shared = [metric for metric in best if all(_has_interval(found, metric) for found in estimates.values())]
    if not shared or len(estimates) < 2:
        return "", ""
    choose = min if best[shared[-1]] == "min" else max
    return choose(estimates, key=lambda name: estimates[name][shared[-1]].mean), shared[-1]


def _verdict(
    leader: str,
    metric: str,
    estimates: Mapping[str, Mapping[str, Estimate]],
    best: Mapping[str, str],
    level: Sequence[str],
) -> str:
    if not leader:
        return "Means over users."
    word = "lowest" if best[metric] == "min" else "highest"
    verdict = f"{leader} has the {word} {metric}, {format_number(estimates[leader][metric].mean)}"
    if level:
        verdict += f"; on these users {' and '.join(level)} cannot be told apart from it"
    return verdict + "."
