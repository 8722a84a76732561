"""What the drawings of latent spaces show, and that nothing that is odd makes them fail."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from gossamer.report.latent_figures import (
    Curve,
    epoch_curves,
    gain_curves,
    rare_term_cloud,
    singular_value_curves,
)


def test_singular_values_say_how_many_are_used():
    drawing = singular_value_curves({"at z = 0": np.array([5.0, 2.0, 0.1, 0.0]), "_mean": np.array([3.0, 0.5])})
    assert "at z = 0, 2 of 4 above 1; _mean, 1 of 2 above 1" in drawing.alt
    assert "at z = 0" in drawing.svg
    assert "_mean" in drawing.svg, "matplotlib leaves out names that begin with an underscore"
    assert "latent dimension, by rank" in drawing.svg


def test_singular_values_within_a_decade_have_ticks_between_powers():
    drawing = singular_value_curves({"near": np.array([9.0, 7.0, 6.0])})
    assert {"1", "2", "5"} <= set(re.findall(r">([\d.]+)</text>", drawing.svg))


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [math.nan, math.inf], [1e-300, 2.0], [1e12]])
def test_odd_singular_values_are_drawn_or_left_out(values):
    assert singular_value_curves({"odd": np.array(values)}).svg.startswith("<svg")


def test_the_cloud_has_few_dots_and_the_correlation_in_words():
    rng = np.random.default_rng(0)
    rare, kl = rng.integers(0, 50, 5000), rng.gamma(2, size=5000)
    drawing = rare_term_cloud(rare, kl, 0.876)
    assert "5,000 documents: Spearman's rho 0.88" in drawing.alt
    assert drawing.svg.count("<use ") < 560
    assert len(drawing.svg) < 100_000


def test_a_few_documents_far_out_do_not_squeeze_the_cloud():
    rare, kl = np.arange(1000) % 50, np.linspace(0, 5, 1000)
    assert "farther out" not in rare_term_cloud(rare, kl, 0.1).svg
    kl[7], rare[8] = 500.0, 9000
    assert "2 farther out" in rare_term_cloud(rare, kl, 0.1).svg
    rarely = (np.arange(1000) == 3).astype(float)
    assert "farther out" not in rare_term_cloud(rarely, rarely, 1.0).svg, "most at 0 is no measure of far"


def test_a_cloud_of_nothing_is_drawn():
    for rho in (None, math.nan):
        assert "no rank correlation defined" in rare_term_cloud(np.zeros(0), np.zeros(0), rho).alt
    assert "1 documents" in rare_term_cloud(np.array([1, 2]), np.array([0.5, math.nan]), None).alt


def test_gains_are_shares_by_size_in_order():
    drawing = gain_curves({"test": [(2000, 0.1), (500, 0.02)], "train": [(500, 0.03)], "none": []})
    assert "test 2.0 % at 500, 10.0 % at 2,000; train 3.0 % at 500" in drawing.alt
    assert "%" in drawing.svg
    assert gain_curves({}).svg.startswith("<svg")


def test_values_over_epochs_of_several_models():
    curves = {
        "early": Curve([1, 2, 3], [900.0, 850.0, 840.0]),
        "late": Curve(np.arange(1, 4), np.array([990, 960, 880.0])),
    }
    drawing = epoch_curves("perplexity", curves)
    assert drawing.title == "perplexity"
    assert "early from 900.0 to 840.0; late from 990.0 to 880.0" in drawing.alt
    assert "no values" in epoch_curves("perplexity", {"empty": Curve([], [])}).alt
