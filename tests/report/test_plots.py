"""The plots of a notebook: shown by it, and figures for matplotlib."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse

import gossamer
from gossamer.data import Counts, Interactions, Sentences, Sequences, Vocabulary
from gossamer.data.splits import split_users
from gossamer.models.linear import ALS, EASE
from gossamer.report import plots
from gossamer.report.blocks import Drawing, Drawings

WORDS = Vocabulary(["<b>", "eggs"])


@pytest.fixture(scope="module")
def split():
    users, items = np.arange(40).repeat(4), np.random.default_rng(0).integers(0, 12, 160)
    return split_users(Interactions.from_pairs(users, items), num_valid=8, num_test=8, random_state=0)


def test_the_door_is_lazy_and_open():
    assert gossamer.plots is plots


def test_every_plot_is_shown_and_is_a_figure(split, read_page):
    als = ALS(num_factors=2, epochs=2).fit(split.train, split.valid)
    table = gossamer.compare({"als": als, "<script>": EASE()}, split)
    drawn = {
        "training": plots.training_curves(als),
        "intervals": plots.intervals(table),
        "items": plots.long_tail(split.train),
        "terms": plots.long_tail(Counts(sparse.csr_array([[1, 2]]), WORDS)),
        "words": plots.long_tail(Sentences(np.array([0, 1, 1]), np.array([0, 3]), WORDS)),
        "sizes": (plots.size_curves("mse", {"<b>": [(10, 0.5), (20, 0.4)]}),),
        "front": (plots.draw_front("mse", [(10, 0.5)], [(10, 0.5)]),),
    }
    for name, drawings in drawn.items():
        assert drawings, name
        for drawing in drawings:
            assert "<script>" not in drawing._repr_html_()
            read_page(drawing._repr_html_())
            assert isinstance(drawing.figure(), Figure)
    shown = drawn["items"]._repr_html_()
    assert shown == "".join(drawing._repr_html_() for drawing in drawn["items"])
    assert isinstance(drawn["items"], Drawings)
    assert "svg" not in repr(drawn["items"])


def test_pictures_of_two_cells_share_no_ids(split):
    ids = [set(plots.long_tail(split.train)[number]._repr_html_().split('id="')[1:]) for number in (0, 1)]
    assert not ids[0] & ids[1]


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(ValueError, match="data must be Interactions, Counts or Sentences, got Sequences"):
        plots.long_tail(Sequences(np.zeros((5, 2)), np.array([0, 2, 5])))
    with pytest.raises(ValueError, match="model must be fitted in epochs to have training curves, got EASE"):
        plots.training_curves(EASE())
    with pytest.raises(ValueError, match="svg must be drawn by gossamer to be had as a figure, got a str"):
        Drawing("a", "<svg></svg>", "b").figure()
