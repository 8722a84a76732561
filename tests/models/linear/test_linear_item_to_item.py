from __future__ import annotations

import numpy as np
import pytest

from gossamer.models.linear import EASE, SLIM
from gossamer.persistence import pack_csr
from gossamer.testing.contracts import two_blocks


@pytest.mark.parametrize("model", [EASE(regularization=1.0), SLIM(l1=0.1, l2=1.0)])
def test_scores_are_history_times_weights(model):
    history = two_blocks().history
    model.fit(history)
    weights = model.weights_ if isinstance(model.weights_, np.ndarray) else model.weights_.toarray()
    expected = history.matrix().toarray() @ weights
    answer = model.recommend(history, n=12, exclude_seen=False)
    np.testing.assert_allclose(answer.scores, -np.sort(-expected, axis=1), atol=1e-5)


@pytest.mark.parametrize("model", [EASE(regularization=1.0), SLIM(l1=0.1, l2=1.0)])
def test_explanation_names_items_of_the_same_block(model):
    table = model.fit(two_blocks().history).explain(12)["what popular items speak for"]
    assert len(table) == 12
    for row in table:
        named = row["speaks for"].split(", ")
        assert named
        assert all(name[0] == row["item"][0] for name in named)


def test_sparse_weights_of_another_size_are_refused():
    model = SLIM(l1=0.1, l2=1.0).fit(two_blocks().history)
    arrays = model.learned_arrays() | pack_csr("weights", model.weights_[:5, :5])
    with pytest.raises(ValueError, match=r"^weights must be float32 \(12, 12\), got float32 \(5, 5\)"):
        SLIM().restore(arrays, model.learned_vocabularies(), {})
