"""Appendix H: vocabulary selection, low rank and compositional codes are ANT with a certain T, by construction."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.optimiser import make_optimiser
from gossamer.models.embeddings.rivals.codes import CompositionalCodeEmbedding
from gossamer.models.embeddings.rivals.group_lasso import GroupLassoEmbedding
from gossamer.models.embeddings.rivals.low_rank import LowRankEmbedding
from gossamer.models.embeddings.rivals.row_selection import RowSelection
from gossamer.models.embeddings.rivals.variational import VariationalVocabularyEmbedding
from gossamer.models.embeddings.rivals.vocabulary import FrequencySelection, TfIdfSelection, tf_idf_scores

V, D, KEPT = 30, 5, 8
WEIGHT = torch.randn(V, D, generator=torch.Generator().manual_seed(0))
TARGET = torch.randn(V, D, generator=torch.Generator().manual_seed(1))
DOCUMENTS = sparse.csr_array(np.random.default_rng(0).poisson(0.3, size=(50, V)))


def selection_as_anchors(kept: Tensor, vectors: Tensor) -> AnchorEmbedding:
    """Return ANT with the kept ids as anchors: T_{a,a} = 1 for a ∈ A, zero otherwise."""
    num_kept = len(kept)
    transform = sparse.csr_array((np.ones(num_kept), (kept.numpy(), np.arange(num_kept))), shape=(V, num_kept))
    return AnchorEmbedding.from_codes(vectors.detach().numpy(), transform)


def as_one_hot(codes: np.ndarray, num_codewords: int) -> sparse.csr_array:
    """Return T with a one at codeword codes[i, m] of codebook m, for every object i."""
    num_rows, num_codebooks = codes.shape
    columns = codes + num_codewords * np.arange(num_codebooks)
    pointers = np.arange(0, columns.size + 1, num_codebooks)
    shape = (num_rows, num_codebooks * num_codewords)
    return sparse.csr_array((np.ones(columns.size), columns.ravel(), pointers), shape=shape)


def loss_of(table: torch.nn.Module) -> Tensor:
    loss: Tensor = (table(torch.arange(V)) - TARGET).square().sum()
    return loss


@pytest.mark.parametrize("method", [FrequencySelection, TfIdfSelection])
def test_selection_by_counts_is_a_one_hot_transform(method: type[FrequencySelection]) -> None:
    frequent = np.asarray(DOCUMENTS.sum(axis=0))
    counts = tf_idf_scores(DOCUMENTS) if method is TfIdfSelection else frequent
    rival = method.from_pretrained(WEIGHT, num_kept=KEPT, counts=counts)
    ant = selection_as_anchors(rival.kept, rival.vectors)
    assert torch.equal(ant.weight, rival.weight)
    assert ant.nnz() == KEPT
    gradients = [torch.autograd.grad(loss_of(rival), rival.vectors), torch.autograd.grad(loss_of(ant), ant.anchors)]
    torch.testing.assert_close(gradients[0], gradients[1])


def test_learning_the_anchors_alone_is_learning_the_kept_vectors() -> None:
    rival = FrequencySelection.from_pretrained(WEIGHT, num_kept=KEPT)
    ant = selection_as_anchors(rival.kept, rival.vectors)
    learned = [(rival, rival.vectors), (ant, ant.anchors)]  # of ANT, A but not T
    for table, parameter in learned:
        optimiser = torch.optim.Adam([parameter], lr=0.1)
        for _ in range(20):
            optimiser.zero_grad()
            loss_of(table).backward()
            optimiser.step()
    torch.testing.assert_close(ant.weight, rival.weight)
    assert not torch.allclose(rival.weight, FrequencySelection.from_pretrained(WEIGHT, num_kept=KEPT).weight, atol=0.1)


@pytest.mark.parametrize("method", [GroupLassoEmbedding, VariationalVocabularyEmbedding])
def test_learned_selection_is_the_same_construction_with_another_set(method: type[RowSelection]) -> None:
    rival = method.from_pretrained(WEIGHT, num_kept=KEPT)
    rival.finish()
    ant = selection_as_anchors(rival.kept, rival.vectors)
    assert torch.equal(ant.weight, rival.weight)
    gradients = [torch.autograd.grad(loss_of(rival), rival.vectors), torch.autograd.grad(loss_of(ant), ant.anchors)]
    torch.testing.assert_close(gradients[0], gradients[1])


def test_low_rank_is_a_dense_transform_of_each_direction_and_its_opposite() -> None:
    """T ≥ 0 forbids the signs of L, so A = [R; −R] and T = [L⁺, L⁻]: a row still has at most `rank` nonzeros."""
    rival = LowRankEmbedding.from_pretrained(WEIGHT, rank=3)
    left, right = rival.left.detach(), rival.right.detach()
    transform = torch.cat([left.clamp(min=0), (-left).clamp(min=0)], dim=1)
    anchors = torch.cat([right, -right])
    ant = AnchorEmbedding.from_codes(anchors.numpy(), sparse.csr_array(transform.numpy()), num_slots=3)
    torch.testing.assert_close(ant.weight, rival.weight)
    assert ant.nnz() == left.numel()
    # R moves both of its anchors: its gradient is that of a minus that of −a.
    (for_right,) = torch.autograd.grad(loss_of(rival), rival.right)
    (for_anchors,) = torch.autograd.grad(loss_of(ant), ant.anchors)
    torch.testing.assert_close(for_right, for_anchors[:3] - for_anchors[3:], atol=1e-4, rtol=1e-4)


def test_a_table_of_rank_m_needs_no_signs_if_its_left_factor_has_none() -> None:
    left, right = WEIGHT[:, :2].abs(), TARGET[:2]
    ant = AnchorEmbedding.from_codes(right.numpy(), sparse.csr_array(left.numpy()))
    torch.testing.assert_close(ant.weight, left @ right)
    assert torch.linalg.matrix_rank(ant.weight) == 2


def test_compositional_codes_are_one_hot_in_every_codebook() -> None:
    rival = CompositionalCodeEmbedding.from_pretrained(WEIGHT, num_codebooks=3, num_codewords=4)
    rival.finish()
    anchors = rival.codebooks.detach().flatten(0, 1)
    ant = AnchorEmbedding.from_codes(anchors.numpy(), as_one_hot(rival.codes.numpy().astype(int), 4))
    torch.testing.assert_close(ant.weight, rival.weight)
    assert ant.nnz() == 3 * V
    (for_codebooks,) = torch.autograd.grad(loss_of(rival), rival.codebooks)
    (for_anchors,) = torch.autograd.grad(loss_of(ant), ant.anchors)
    torch.testing.assert_close(for_codebooks.flatten(0, 1), for_anchors)


def test_relations_and_a_high_penalty_make_the_transform_one_hot() -> None:
    """The paper's own way to codes: entry d_mi of each row is exempt, all others are charged an extreme λ₂."""
    codes = np.random.default_rng(1).integers(0, 4, size=(V, 3))
    allowed = as_one_hot(codes, 4)
    ant = AnchorEmbedding(V, D, num_anchors=12, num_slots=12)
    ant.set_exempt(sparse.csr_array(allowed, dtype=bool))
    before = ant.transform()
    optimiser = make_optimiser(ant, kind="sgd", learning_rate=0.01, l1=1e6, regrow_every=None)
    for _ in range(3):
        optimiser.zero_grad()
        loss_of(ant).backward()
        optimiser.step()
    assert before.nnz == 12 * V
    outside = ant.transform().astype(bool) > allowed.astype(bool)
    assert outside.nnz == 0
    assert ant.nnz() > 0.8 * allowed.nnz  # those that are allowed were not shrunk; a gradient may end a few
