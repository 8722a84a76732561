"""Plots for notebooks, as `gossamer.plots`: pictures that show themselves, and can be had as matplotlib figures.

Everything that is drawn in a report is one of these: `Drawing` and `Drawings` are displayed by a notebook, as SVG that
follows its light or dark paper; `drawing.figure()` is the same as a matplotlib figure, to be changed or saved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gossamer.data import Counts, Interactions, Sentences
from gossamer.report import figures
from gossamer.report.blocks import Drawing, Drawings
from gossamer.report.comparison import estimates_of
from gossamer.report.figures import size_curves
from gossamer.report.front_figure import draw_front
from gossamer.runner.comparing import Comparison
from gossamer.runner.search import lower_is_better

__all__ = ["Drawing", "Drawings", "draw_front", "intervals", "long_tail", "size_curves", "training_curves"]


def long_tail(data: Interactions | Counts | Sentences) -> Drawings:
    """Draw how unevenly interactions fall on items, or occurrences on words: counts by rank, and shares."""
    if isinstance(data, Interactions):
        return Drawings(figures.long_tail(data.item_counts))
    if isinstance(data, Counts):
        return Drawings(figures.long_tail(np.asarray(data.matrix.sum(axis=0)), "terms", "occurrences"))
    if isinstance(data, Sentences):
        counts = np.bincount(data.tokens, minlength=len(data.vocabulary))
        return Drawings(figures.long_tail(counts, "words", "occurrences"))
    raise ValueError(f"data must be Interactions, Counts or Sentences, got {type(data).__name__}")


def training_curves(model: Any) -> Drawings:
    """Draw what the training loop measured in every epoch of a fitted model."""
    history = getattr(model, "history_", None)
    epochs = history.get("epochs") if isinstance(history, dict) else None
    if not epochs:
        raise ValueError(f"model must be fitted in epochs to have training curves, got {type(model).__name__}")
    return Drawings(figures.training_curves(epochs))


def intervals(comparison: Comparison) -> Drawings:
    """Draw the mean and the 95 % interval over users of every model and metric."""
    scores = {
        outcome.model: estimates_of(outcome.measured.ranking or outcome.measured.values)
        for outcome in comparison.outcomes
        if outcome.measured is not None
    }
    metrics = {metric for found in scores.values() for metric in found}
    best = {metric: "min" if lower_is_better(metric) else "max" for metric in metrics}
    return Drawings(figures.metric_intervals({model: dict(found) for model, found in scores.items()}, best))
