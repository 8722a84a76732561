import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from gossamer.models.embeddings.anchor_size import AnchorSize, anchor_size, largest_per_row, without_row


@given(st.integers(20, 10**7), st.integers(8, 512), st.floats(1, 5))
def test_a_ratio_is_kept(num_embeddings, embedding_dim, ratio):
    size = anchor_size(num_embeddings, embedding_dim, None, ratio, None)
    values = size.num_anchors * embedding_dim + num_embeddings * size.num_slots
    assert values <= num_embeddings * embedding_dim / ratio
    assert 1 <= size.num_slots <= size.num_anchors <= num_embeddings


def test_anchors_given():
    assert anchor_size(100, 8, 20, None, None) == AnchorSize(20, 20)  # few anchors: every row may use all
    assert anchor_size(100, 8, 50, None, None) == AnchorSize(50, 16)
    assert anchor_size(100, 8, 50, None, 3) == AnchorSize(50, 3)
    assert anchor_size(1000, 64, None, 8, 4) == AnchorSize(62, 4)  # the rest of the budget goes to anchors


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            (100, 8, None, None, None),
            "num_anchors or ratio must be given, one of them alone, got num_anchors=None and ratio=None",
        ),
        (
            (100, 8, 5, 2.0, None),
            "num_anchors or ratio must be given, one of them alone, got num_anchors=5 and ratio=2.0",
        ),
        ((100, 8, None, 0.5, None), "ratio must be a finite number >= 1, got 0.5"),
        ((100, 8, 101, None, None), "num_anchors must be at most the 100 objects, got 101"),
        ((100, 8, 0, None, None), "num_anchors must be an integer >= 1, got 0"),
        ((100, 8, 5, None, 6), "num_slots must be an integer >= 1 and <= 5, got 6"),
        ((100, 8, None, 50.0, None), "ratio must be at most 7.4 for 100 × 8 with 1 weights per row, got 50.0"),
    ],
)
def test_sentences(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        anchor_size(*arguments)


def test_largest_per_row_against_sorting():
    generator = np.random.default_rng(0)
    dense = generator.random((30, 12)) * (generator.random((30, 12)) < 0.5)
    kept = largest_per_row(sparse.csr_array(dense), 3).toarray()
    for row, mask in zip(dense, kept, strict=True):
        expected = sorted(row[row > 0])[-3:]
        assert sorted(row[mask]) == expected


def test_without_row():
    matrix = sparse.csr_array(np.ones((3, 2)))
    assert without_row(matrix, 1).toarray().tolist() == [[1, 1], [0, 0], [1, 1]]
    assert matrix.nnz == 6
