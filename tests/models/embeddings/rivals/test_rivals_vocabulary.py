from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from gossamer.models.embeddings.rivals.vocabulary import FrequencySelection, TfIdfSelection, find_kept, tf_idf_scores

COUNTS = np.array([3, 9, 0, 5, 9])


def test_the_most_frequent_have_vectors_and_others_zeros() -> None:
    table = FrequencySelection(5, 2, num_kept=3, counts=COUNTS)
    assert table.kept.tolist() == [1, 3, 4]
    assert table.weight.any(dim=1).tolist() == [False, True, False, True, True]
    torch.testing.assert_close(table(torch.tensor([4, 1])), table.vectors[[2, 0]])


def test_only_kept_vectors_learn() -> None:
    table = FrequencySelection(5, 2, num_kept=2, counts=COUNTS)
    table(torch.tensor([0, 1, 2, 1])).sum().backward()
    assert table.vectors.grad is not None
    assert table.vectors.grad.tolist() == [[2.0, 2.0], [0.0, 0.0]]


def test_padding_is_not_kept_while_another_id_can_be() -> None:
    assert FrequencySelection(5, 2, num_kept=2, counts=COUNTS, padding_idx=1).kept.tolist() == [3, 4]
    assert FrequencySelection(5, 2, num_kept=5, counts=COUNTS, padding_idx=1).kept.tolist() == [0, 1, 2, 3, 4]


def test_converting_keeps_rows_as_they_are() -> None:
    weight = torch.randn(5, 2, generator=torch.Generator().manual_seed(0))
    table = TfIdfSelection.from_pretrained(weight, num_kept=2, counts=COUNTS)
    expected = torch.zeros(5, 2)
    expected[[1, 4]] = weight[[1, 4]]
    assert torch.equal(table.weight, expected)


def test_bytes_are_those_of_kept_vectors_and_their_ids() -> None:
    assert FrequencySelection(1000, 8, ratio=10).nbytes() == 100 * (8 + 1) * 4


def test_more_kept_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="num_kept must be an integer >= 1 and <= 5, got 6"):
        FrequencySelection(5, 2, num_kept=6)


def test_places_of_kept_ids() -> None:
    position, is_kept = find_kept(torch.tensor([2, 5, 9], dtype=torch.int32), torch.tensor([9, 0, 5, 10]))
    assert is_kept.tolist() == [True, False, True, False]
    assert position[is_kept].tolist() == [2, 1]


def test_tf_idf_by_hand() -> None:
    counts = np.array([[2, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    scores = tf_idf_scores(sparse.csr_array(counts))
    expected = np.zeros(4)
    for document in counts[:3]:
        for term in range(4):
            appears = (counts[:, term] > 0).sum()
            if appears:
                expected[term] += document[term] / document.sum() * np.log(4 / appears)
    np.testing.assert_allclose(scores, expected)
    assert scores[3] == 0  # occurs nowhere
