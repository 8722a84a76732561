import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.optimiser import make_optimiser


def small_table(**options):
    anchors = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32)
    transform = sparse.csr_array(np.array([[2, 0, 0], [0, 1, 3], [0, 0, 0], [0, 0, 1]], dtype=np.float32))
    return AnchorEmbedding.from_codes(anchors, transform, **options)


def test_vectors_are_combinations_of_anchors():
    table = small_table()
    assert table.weight.tolist() == [[2, 0], [3, 4], [0, 0], [1, 1]]
    assert (table.nnz(), table.num_values()) == (4, 4 + 6)
    assert table.anchors_of(1) == [(2, 3.0), (1, 1.0)]
    assert table.anchors_of(1, 1) == [(2, 3.0)]
    assert table.members_of(2) == [(1, 3.0), (3, 1.0)]


def test_an_all_zero_row_embeds_to_zeros_and_can_come_back():
    table = small_table(num_slots=3)
    assert table(torch.tensor([2])).tolist() == [[0, 0]]
    assert table.anchors_of(2) == []
    optimiser = make_optimiser(table, kind="sgd", learning_rate=0.1, l1=0.1)
    (table(torch.tensor([2])) - torch.tensor([1.0, 0.0])).square().sum().backward()
    optimiser.step()
    assert dict(table.anchors_of(2)).keys() == {0, 2}  # the anchors that point the right way


def test_a_dense_row_of_slots_is_a_dense_transform():
    table = AnchorEmbedding(20, 5, 4, random_state=3)
    assert table.num_slots == 4
    assert torch.allclose(table.weight, torch.from_numpy(table.transform().toarray()) @ table.anchors)


def test_starts_like_an_ordinary_table():
    table = AnchorEmbedding(2000, 32, 100, num_slots=8, random_state=0)
    assert 0.09 < float(table.weight.std()) < 0.11
    assert bool((table.values >= 0).all())


def test_ratio_instead_of_anchors():
    table = AnchorEmbedding(5000, 64, ratio=20)
    assert table.num_values() <= 5000 * 64 / 20


def test_switched_off_anchors_add_nothing_and_keep_their_values():
    table = small_table()
    table.num_active = 2
    assert table.weight.tolist() == [[2, 0], [0, 1], [0, 0], [0, 0]]
    assert table.nnz() == 2
    table.num_active = 3
    assert table.weight.tolist() == [[2, 0], [3, 4], [0, 0], [1, 1]]
    table.num_active = 2
    table.finish()
    assert table.num_anchors == 2
    assert table.weight.tolist() == [[2, 0], [0, 1], [0, 0], [0, 0]]


def test_finish_keeps_the_vectors_and_drops_unused_slots():
    table = small_table(num_slots=3)
    before = table.weight
    table.finish()
    assert table.num_slots == 2
    assert torch.equal(table.weight, before)
    other = AnchorEmbedding(**table.config())
    other.restore(table.stored())
    assert torch.equal(other.weight, before)


def test_growing_leaves_the_rest_as_it_was():
    table = AnchorEmbedding(6, 4, 3, random_state=0)
    optimiser = make_optimiser(table, learning_rate=0.1, l1=0.01)
    for _ in range(3):
        table(torch.arange(6)).square().sum().backward()
        optimiser.step()
        optimiser.zero_grad()
    before, moments = table.weight, optimiser.state[table.values]["mean"].clone()
    table.grow(2)
    assert table.num_embeddings == 8
    assert torch.equal(table.weight[:6], before)
    assert torch.equal(optimiser.state[table.values]["mean"][:6], moments)
    table(torch.tensor([7, 0])).square().sum().backward()
    optimiser.step()
    assert optimiser.state[table.values]["count"].tolist() == [4, 3, 3, 3, 3, 3, 0, 1]


def test_relations_are_never_shrunk_and_have_their_slots():
    table = AnchorEmbedding(6, 4, 5, num_slots=2, random_state=0)
    related = sparse.csr_array(np.eye(6, 5, dtype=bool))
    table.set_exempt(related)
    transform = table.transform().toarray()
    assert (transform[np.arange(5), np.arange(5)] > 0).all()
    optimiser = make_optimiser(table, kind="sgd", learning_rate=1.0, l1=100.0, regrow_every=None)
    (table(torch.arange(6)) * 0).sum().backward()
    optimiser.step()
    assert np.array_equal(table.transform().toarray(), transform * np.eye(6, 5))


def test_growing_keeps_relations():
    table = AnchorEmbedding(4, 4, 3, random_state=0)
    table.set_exempt(sparse.csr_array(np.eye(4, 3, dtype=bool)))
    table.grow(2)
    assert table.exempt.shape == (6, 3)
    assert table.is_related(np.array([0, 5]), np.array([0, 0])).tolist() == [True, False]


def test_relations_of_another_size_are_refused():
    with pytest.raises(ValueError, match="related must be 4 × 3, got"):
        small_table().set_exempt(sparse.csr_array((5, 3), dtype=bool))


def test_pretrained_tables_are_approached():
    generator = torch.Generator().manual_seed(0)
    anchors = torch.randn(8, 16, generator=generator)
    codes = torch.rand(200, 8, generator=generator) * (torch.rand(200, 8, generator=generator) < 0.25)
    weight = codes @ anchors
    table = AnchorEmbedding.from_pretrained(weight, 8, num_slots=5)
    error = float((table.weight - weight).square().sum() / weight.square().sum())
    assert error < 0.1
    embedding = nn.Embedding.from_pretrained(weight, padding_idx=3)
    taken = AnchorEmbedding.from_embedding(embedding, ratio=4)
    assert taken.padding_idx == 3
    assert not taken.weight[3].any()
    assert taken.num_values() <= weight.numel() / 4


def test_orthogonality_is_the_sum_of_products():
    table = small_table(orthogonality=0.5)
    assert table.penalty().item() == 0.5 * 4  # a₁·a₃ and a₂·a₃, twice each
    assert small_table().penalty().item() == 0


def test_reading_applies_what_the_optimiser_owes():
    table = AnchorEmbedding(5, 4, 3, random_state=0)
    optimiser = make_optimiser(table, kind="sgd", learning_rate=0.1, l1=1.0)
    first = table.values[4].tolist()
    for _ in range(2):
        (table(torch.tensor([0])) * 0).sum().backward()
        optimiser.step()
    expected = [max(value - 0.2, 0) for value in first]
    assert np.allclose(table.transform().toarray()[4], expected)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: small_table().anchors_of(4), "ids must be from 0 to 3, got 4"),
        (lambda: small_table().members_of(3), "anchor must be an integer >= 0 and <= 2, got 3"),
        (lambda: small_table().grow(0), "n must be an integer >= 1, got 0"),
        (
            lambda: AnchorEmbedding.from_codes(np.ones((2, 2)), sparse.csr_array(np.ones((3, 3)))),
            "transform must have 2 columns, one per anchor, got 3",
        ),
        (
            lambda: AnchorEmbedding.from_codes(np.ones((2, 2)), sparse.csr_array(-np.ones((3, 2)))),
            "transform must be finite and >= 0, got -1",
        ),
        (lambda: AnchorEmbedding.from_pretrained(torch.full((4, 2), torch.nan), 2), "NaN or infinity in row 0"),
        (lambda: AnchorEmbedding(4, 2, 5), "num_anchors must be at most the 4 objects, got 5"),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
