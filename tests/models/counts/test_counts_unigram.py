from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gossamer.models.counts.unigram import Unigram


def test_terms_have_their_smoothed_share_and_perplexities_follow():
    model = Unigram(smoothing=1.0).fit(np.array([[3, 0, 0], [1, 2, 0]]))
    np.testing.assert_allclose(model.probs_, [5 / 9, 3 / 9, 1 / 9], rtol=1e-6)
    found = model.evaluate(sparse.csr_array([[2, 0, 0], [0, 0, 1], [0, 0, 0]]))
    assert found["perplexity_document_refined"] == pytest.approx(np.sqrt(9 / 5 * 9), rel=1e-5)
    assert found["perplexity_token_amortised"] == pytest.approx((81 / 25 * 9) ** (1 / 3), rel=1e-5)
    assert len(found) == 4


def test_samples_have_the_shares():
    model = Unigram(smoothing=0.01).fit(np.array([[300, 100]] * 4))
    drawn = model.sample(50, random_state=0).matrix.sum(axis=0)
    assert drawn[0] / drawn.sum() == pytest.approx(0.75, abs=0.02)
    assert model.explain(1) == {"most frequent terms": [{"term": "0", "share": pytest.approx(0.75, abs=0.01)}]}
