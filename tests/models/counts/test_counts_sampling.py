from __future__ import annotations

import numpy as np
from scipy import sparse

from gossamer.models.counts.sampling import draw_lengths, draw_words, length_quantiles


def test_lengths_are_drawn_as_documents_are_long():
    matrix = sparse.csr_array(np.array([[1, 0], [5, 5], [0, 0], [50, 50]]))
    quantiles = length_quantiles(matrix)
    assert quantiles[[0, 50, 100]].tolist() == [1, 10, 100]  # the empty document has no say
    drawn = draw_lengths(quantiles, 4000, np.random.default_rng(0))
    assert drawn.min() >= 1
    assert drawn.max() <= 100
    assert abs(np.median(drawn) - 10) < 2


def test_words_are_drawn_by_their_probabilities_block_by_block():
    probs = np.array([[0.8, 0.2, 0.0], [0.0, 0.5, 0.5]], dtype=np.float32)
    lengths = np.array([10_000, 20_000])
    drawn = draw_words((probs[row : row + 1] for row in range(2)), lengths, np.random.default_rng(0))
    assert drawn.sum(axis=1).tolist() == lengths.tolist()
    np.testing.assert_allclose(drawn.toarray() / lengths[:, None], probs, atol=0.02)
