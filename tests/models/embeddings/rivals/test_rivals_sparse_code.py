from __future__ import annotations

import numpy as np
import torch

from gossamer.models.embeddings.rivals.sparse_code import SparseCodeEmbedding


def test_common_words_keep_their_vectors_and_rare_ones_are_mixes_of_them():
    generator = torch.Generator().manual_seed(0)
    common = torch.randn(6, 12, generator=generator)
    counts = np.arange(30) % 5 == 2  # ids 2, 7, 12, … are common
    weight = torch.zeros(30, 12)
    weight[torch.from_numpy(counts)] = common
    rare = torch.from_numpy(~counts)
    weight[rare] = 0.7 * common[torch.arange(24) % 6] - 0.4 * common[(torch.arange(24) + 2) % 6]
    table = SparseCodeEmbedding.from_pretrained(weight, num_anchors=6, num_slots=2, counts=counts)
    assert table.common.tolist() == [2, 7, 12, 17, 22, 27]
    assert torch.equal(table.weight[~rare], common)
    torch.testing.assert_close(table.weight, weight, atol=5e-3, rtol=0)
    assert table.num_values() == 6 * 12 + 24 * 2


def test_without_counts_the_first_ids_are_common_but_never_padding():
    table = SparseCodeEmbedding(10, 4, num_anchors=3, num_slots=1, padding_idx=1)
    assert table.common.tolist() == [0, 2, 3]


def test_all_words_can_be_common():
    weight = torch.randn(7, 3)
    table = SparseCodeEmbedding.from_pretrained(weight, num_anchors=7, num_slots=2)
    torch.testing.assert_close(table.weight, weight)
    assert table.num_values() == 21


def test_gradients_of_a_common_word_go_to_its_vector():
    table = SparseCodeEmbedding(10, 4, num_anchors=3, num_slots=2)
    table(torch.tensor([1])).sum().backward()
    assert table.anchors.grad is not None
    assert table.anchors.grad.tolist() == [[0.0] * 4, [1.0] * 4, [0.0] * 4]
    assert table.values.grad is not None
    assert not table.values.grad.any()
