"""The plots of a notebook: every public function returns a matplotlib figure that shows itself."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse

import gossamer
from gossamer.data import Counts, Interactions, Sentences, Sequences, Vocabulary
from gossamer.data.splits import split_users
from gossamer.models.community import CommunityRecommender
from gossamer.models.counts import CountVAE
from gossamer.models.discrete import SparseDiscreteVAE
from gossamer.models.linear import ALS, EASE
from gossamer.models.markov import HSMM
from gossamer.models.spikeslab import SentenceVAE
from gossamer.report import plots
from gossamer.report.latent_figures import Curve
from gossamer.testing.right_answers import two_blocks, two_patterns, two_phases, two_themes, two_topics

WORDS = Vocabulary(["<b>", "eggs"])
POINTS = {"<b>": [(0.1, 0.9), (0.9, 0.1)]}
PATH = np.array([0, 0, 1, 1])


@pytest.fixture(scope="module")
def split():
    users, items = np.arange(40).repeat(4), np.random.default_rng(0).integers(0, 12, 160)
    return split_users(Interactions.from_pairs(users, items), num_valid=8, num_test=8, random_state=0)


def of_numbers() -> dict[str, Figure]:
    return {
        "calibration": plots.calibration(POINTS),
        "code_map": plots.code_map(sparse.csr_array(np.eye(4)), np.array([0, 0, 1, 1]), ["<b>", "two"]),
        "community_maps": plots.community_maps(np.eye(3), np.array([3, 2, 1])),
        "draw_front": plots.draw_front("mse", [(10, 0.5)], [(10, 0.5)]),
        "duration_curves": plots.duration_curves(np.full((2, 4), 0.25)),
        "epoch_curves": plots.epoch_curves("perplexity", {"<b>": Curve([1, 2], [9.0, 8.0])}),
        "gain_curves": plots.gain_curves({"<b>": [(100, 0.1), (200, 0.2)]}),
        "histogram": plots.histogram(np.arange(30), "steps"),
        "layer_shares": plots.layer_shares([{"layer": "<b>", "macs left": 0.5, "params left": 0.4}]),
        "phase_timeline": plots.phase_timeline(["<b>"], [PATH]),
        "picture_rows": plots.picture_rows("digits", [np.random.default_rng(0).random((2, 4, 4))], ["<b>"], "two"),
        "precision_recall": plots.precision_recall(POINTS),
        "rare_term_cloud": plots.rare_term_cloud(np.arange(9), np.arange(9), 1.0),
        "singular_value_curves": plots.singular_value_curves({"<b>": np.array([2.0, 0.5])}),
        "size_curves": plots.size_curves("mse", {"<b>": [(10, 0.5), (20, 0.4)]}),
        "transition_graph": plots.transition_graph(np.full((2, 2), 0.5), np.array([0.5, 0.5])),
    }


def of_models(split) -> dict[str, Figure]:
    als = ALS(num_factors=2, epochs=2).fit(split.train, split.valid)
    patterns, themes, series, blocks = two_patterns(), two_themes(), two_phases(), two_blocks()
    features = SparseDiscreteVAE(num_features=4, max_active=2, encoder_dims=[8], decoder_dims=[8], epochs=1)
    factors = CountVAE(latent_dim=2, encoder_dims=[4], epochs=1).fit(themes.train)
    groups = CommunityRecommender(num_communities=2, embedding_dim=4, epochs=1).fit(blocks.history)
    return {
        "training_curves": plots.training_curves(als),
        "intervals": plots.intervals(gossamer.compare({"als": als, "<script>": EASE()}, split)),
        "long_tail": plots.long_tail(split.train),
        "phases": plots.phases(HSMM(num_states=2, epochs=2, num_starts=1).fit(series.train), series.test),
        "communities": plots.communities(groups, blocks),
        "codes": plots.codes(features.fit(patterns.train), patterns.test),
        "latent": plots.latent(factors, themes.test, themes.train),
    }


def test_the_door_is_lazy_and_open():
    assert gossamer.plots is plots


def test_every_public_function_returns_a_figure_that_shows_itself(split, read_page):
    drawn = of_numbers() | of_models(split)
    assert set(drawn) | {"Plot"} == set(plots.__all__), "a plot without a test, or a test without a plot"
    for name, figure in drawn.items():
        assert isinstance(figure, Figure), name
        shown = figure._repr_html_()
        read_page(shown)
        assert "<script>" not in shown, name
        assert "<b>" not in shown, name
        assert figure.axes, name
        assert inspect.signature(getattr(plots, name)).return_annotation == "Plot", name
        assert getattr(plots, name).__doc__, name


def test_tails_of_words_and_codes_of_sentences():
    tails = [
        plots.long_tail(Counts(sparse.csr_array([[1, 2]]), WORDS)),
        plots.long_tail(Sentences(np.array([0, 1, 1]), np.array([0, 3]), WORDS)),
    ]
    assert [len(tail.axes) for tail in tails] == [2, 2]
    texts = two_topics()
    settings = {"latent_dim": 4, "embedding_dim": 4, "hidden_dim": 4}
    codes = plots.codes(SentenceVAE(**settings, epochs=1).fit(texts.train), texts.test)
    assert "Map of codes" in [axes.get_title(loc="left") for axes in codes.axes]


def test_what_cannot_be_drawn_is_said(split):
    with pytest.raises(ValueError, match="data must be Interactions, Counts or Sentences, got Sequences"):
        plots.long_tail(Sequences(np.zeros((5, 2)), np.array([0, 2, 5])))
    with pytest.raises(ValueError, match="model must be fitted in epochs to have training curves, got EASE"):
        plots.training_curves(EASE())
    for draw, what in (
        (plots.phases, "phases"),
        (plots.communities, "communities"),
        (plots.codes, "sparse codes"),
        (plots.latent, "a latent space to diagnose"),
    ):
        with pytest.raises(ValueError, match=f"model and data must have {what} to be drawn, got EASE and Interactions"):
            draw(EASE(), split.train)
