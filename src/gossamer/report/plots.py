"""Plots for notebooks, as `gossamer.plots`: every function returns a matplotlib figure that shows itself.

The first functions draw a model, a container or a comparison; what they have in common with reports is all of it.
Those with arrays for arguments are the same drawings for numbers of your own. `Plot` is a `matplotlib.figure.Figure`,
to be changed or saved; a notebook shows it as SVG that follows light and dark paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec

import numpy as np

from gossamer.data import Counts, Interactions, Sentences
from gossamer.report import code_figures, community_figures, figures, latent_figures, phase_figures
from gossamer.report.blocks import Drawing, Section, drawings_in
from gossamer.report.budget_figure import draw_layer_shares
from gossamer.report.codes import codes_section
from gossamer.report.communities import communities_section
from gossamer.report.comparison import estimates_of
from gossamer.report.front_figure import draw_front as _draw_front
from gossamer.report.latent import latent_section
from gossamer.report.phases import phases_section
from gossamer.report.plot import Plot, plot_drawings
from gossamer.runner.code_findings import find_codes, has_codes
from gossamer.runner.community_findings import find_communities
from gossamer.runner.comparing import Comparison
from gossamer.runner.phases import find_phases
from gossamer.runner.search import lower_is_better
from gossamer.runner.sentence_findings import find_sentence_codes, reads_sentences

__all__ = [
    "Plot",
    "calibration",
    "code_map",
    "codes",
    "communities",
    "community_maps",
    "draw_front",
    "duration_curves",
    "epoch_curves",
    "gain_curves",
    "histogram",
    "intervals",
    "latent",
    "layer_shares",
    "long_tail",
    "phase_timeline",
    "phases",
    "picture_rows",
    "precision_recall",
    "rare_term_cloud",
    "singular_value_curves",
    "size_curves",
    "training_curves",
    "transition_graph",
]

Arguments = ParamSpec("Arguments")


def long_tail(data: Interactions | Counts | Sentences) -> Plot:
    """Draw how unevenly interactions fall on items, or occurrences on words: counts by rank, and shares."""
    if isinstance(data, Interactions):
        return plot_drawings(figures.long_tail(data.item_counts))
    if isinstance(data, Counts):
        return plot_drawings(figures.long_tail(np.asarray(data.matrix.sum(axis=0)), "terms", "occurrences"))
    if isinstance(data, Sentences):
        counts = np.bincount(data.tokens, minlength=len(data.vocabulary))
        return plot_drawings(figures.long_tail(counts, "words", "occurrences"))
    raise ValueError(f"data must be Interactions, Counts or Sentences, got {type(data).__name__}")


def training_curves(model: Any) -> Plot:
    """Draw what the training loop measured in every epoch of a fitted model."""
    history = getattr(model, "history_", None)
    epochs = history.get("epochs") if isinstance(history, dict) else None
    if not epochs:
        raise ValueError(f"model must be fitted in epochs to have training curves, got {type(model).__name__}")
    return plot_drawings(figures.training_curves(epochs))


def intervals(comparison: Comparison) -> Plot:
    """Draw the mean and the 95 % interval over users of every model and metric."""
    scores = {
        outcome.model: estimates_of(outcome.measured.ranking or outcome.measured.values)
        for outcome in comparison.outcomes
        if outcome.measured is not None
    }
    metrics = {metric for found in scores.values() for metric in found}
    best = {metric: "min" if lower_is_better(metric) else "max" for metric in metrics}
    return plot_drawings(figures.metric_intervals({model: dict(found) for model, found in scores.items()}, best))


def phases(model: Any, data: Any) -> Plot:
    """Draw the phases that an HMM, an HSMM or a NeuralEM finds in series: when, what follows what, and how long."""
    return _plot_section(phases_section({"model": find_phases(model, data)}), "phases", model, data)


def communities(model: Any, held_out: Any) -> Plot:
    """Draw where a model's communities lie, and how right it is about held-out pairs (precision, calibration)."""
    found = find_communities(model, held_out)
    return _plot_section(communities_section({"model": found}), "communities", model, held_out)


def codes(model: Any, data: Any) -> Plot:
    """Draw the sparse codes of observations or sentences: features on, a map, what is rebuilt, what features mean."""
    found = find_sentence_codes(model, data) if reads_sentences(model) else {}
    if not found and has_codes(model):
        found = find_codes(model, data)
    return _plot_section(codes_section({"model": found}), "sparse codes", model, data)


def latent(model: Any, data: Any, training: Any = None) -> Plot:
    """Draw how a count model uses its latent space, and where its encoder errs; arguments are those of `diagnose`."""
    found = model.diagnose(data, training) if hasattr(model, "diagnose") else {}
    return _plot_section(latent_section({"model": found}), "a latent space to diagnose", model, data)


def _plot_section(section: Section | None, what: str, model: Any, data: Any) -> Plot:
    drawings = [] if section is None else list(drawings_in(section.blocks))
    if not drawings:
        got = f"{type(model).__name__} and {type(data).__name__}"
        raise ValueError(f"model and data must have {what} to be drawn, got {got}")
    return plot_drawings(drawings)


def _as_plot(draw: Callable[Arguments, Drawing | Sequence[Drawing]]) -> Callable[Arguments, Plot]:
    """Return a function of the report that gives a figure in the place of drawings."""

    @wraps(draw)
    def plot(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Plot:
        drawn = draw(*args, **kwargs)
        return plot_drawings([drawn] if isinstance(drawn, Drawing) else drawn)

    plot.__annotations__["return"] = "Plot"
    return plot


calibration = _as_plot(community_figures.calibration)
code_map = _as_plot(code_figures.code_map)
community_maps = _as_plot(community_figures.community_maps)
draw_front = _as_plot(_draw_front)
duration_curves = _as_plot(phase_figures.duration_curves)
epoch_curves = _as_plot(latent_figures.epoch_curves)
gain_curves = _as_plot(latent_figures.gain_curves)
histogram = _as_plot(figures.histogram)
layer_shares = _as_plot(draw_layer_shares)
phase_timeline = _as_plot(phase_figures.phase_timeline)
picture_rows = _as_plot(code_figures.picture_rows)
precision_recall = _as_plot(community_figures.precision_recall)
rare_term_cloud = _as_plot(latent_figures.rare_term_cloud)
singular_value_curves = _as_plot(latent_figures.singular_value_curves)
size_curves = _as_plot(figures.size_curves)
transition_graph = _as_plot(phase_figures.transition_graph)
