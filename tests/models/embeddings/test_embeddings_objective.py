from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.models.embeddings.objective import objective

# Table 14: perplexity, nnz(T), anchors, λ₂; and the published objective at three λ₁, with its last digit.
TABLE_14 = [
    (77.7, 245_000, 2000, 1e-6, {2e-5: 4.64, 1e-4: 4.80, 1e-1: 204.6}),
    (79.4, 214_000, 1000, 1e-6, {2e-5: 4.61, 1e-4: 4.69, 1e-1: 104.6}),
    (84.5, 171_000, 500, 1e-6, {2e-5: 4.62, 1e-4: 4.66, 1e-1: 54.6}),
    (106.6, 25_000, 100, 1e-5, {2e-5: 4.92, 1e-4: 4.93, 1e-1: 14.9}),
]


@pytest.mark.parametrize(("perplexity", "nnz", "num_anchors", "lambda2", "published"), TABLE_14)
def test_all_twelve_rows_of_table_14_come_from_the_mean_loss(
    perplexity: float, nnz: int, num_anchors: int, lambda2: float, published: dict[float, float]
):
    for lambda1, expected in published.items():
        found = objective(log(perplexity), nnz, num_anchors, lambda1, lambda2)
        assert round(found, 2 if expected < 10 else 1) == expected


@given(
    st.floats(0, 10),
    st.integers(0, 10**6),
    st.integers(0, 1000),
    st.floats(1e-6, 1e-3),
    st.floats(1.001, 100),
)
def test_every_entry_costs_lambda2_and_every_anchor_the_difference(
    loss: float, nnz: int, num_anchors: int, lambda2: float, factor: float
):
    lambda1 = factor * lambda2
    here = objective(loss, nnz, num_anchors, lambda1, lambda2)
    assert objective(loss, nnz + 1, num_anchors, lambda1, lambda2) - here == pytest.approx(lambda2, abs=1e-9)
    assert objective(loss, nnz, num_anchors + 1, lambda1, lambda2) - here == pytest.approx(lambda1 - lambda2, abs=1e-9)
    # An anchor with its first entry costs λ₁: that is what λ₁ means.
    assert objective(loss, nnz + 1, num_anchors + 1, lambda1, lambda2) - here == pytest.approx(lambda1, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, 1, 1, 0.1, 0.0), "lambda2 must be a finite number > 0, got 0.0"),
        ((1.0, 1, 1, 0.1, 0.1), "lambda1 must be above lambda2 (0.1), got 0.1"),
        ((1.0, 1, 1, float("inf"), 0.1), "lambda1 must be a finite number > 0, got inf"),
        ((float("nan"), 1, 1, 0.2, 0.1), "loss must be a finite number, got nan"),
        ((1.0, -1, 1, 0.2, 0.1), "nnz must be an integer >= 0, got -1"),
        ((1.0, 1, 1.5, 0.2, 0.1), "num_anchors must be an integer >= 0, got 1.5"),
    ],
)
def test_bad_values_are_named(arguments: tuple, message: str):
    with pytest.raises(ValueError) as raised:
        objective(*arguments)
    assert str(raised.value) == message
