from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor
from torch.func import functional_call

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.knowledge.anchors import initialise_anchors
from gossamer.models.embeddings.mixture import AnchorMixture, quantise_rows, softmax_rows
from gossamer.models.embeddings.optimiser import make_optimiser
from gossamer.models.embeddings.sizing import INITIAL_STD


def dense_softmax(mixture: AnchorMixture) -> Tensor:
    """E = Σ_m softmax(T_m)·A_m as it is written, with dense T."""
    total = torch.zeros(mixture.num_embeddings, mixture.embedding_dim, dtype=torch.float64)
    for part in mixture.parts:
        assert isinstance(part, AnchorEmbedding)
        transform = torch.from_numpy(part.transform().toarray()).double()
        total += transform.softmax(dim=1) @ part.anchors.detach().double()
    return total


@pytest.mark.parametrize("num_slots", [None, 2])
def test_softmax_over_the_nonzeros_is_softmax_over_everything(num_slots: int | None) -> None:
    mixture = AnchorMixture(20, 6, [5, 9], num_slots=num_slots, random_state=1)
    first = mixture.parts[0]
    assert isinstance(first, AnchorEmbedding)
    first.values.data[3] = 0  # a row without nonzeros is the mean of the anchors
    first.values.data[4, 0] = 300.0  # where exp alone would overflow
    torch.testing.assert_close(mixture.weight.double(), dense_softmax(mixture), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(softmax_rows(first, torch.tensor([3]))[0], first.anchors.mean(dim=0))


def test_gradients_are_right() -> None:
    mixture = AnchorMixture(6, 3, [4, 5], num_slots=3, sparse=False, random_state=0).double()
    names = [name for name, _ in mixture.named_parameters()]
    ids = torch.tensor([0, 2, 2, 5])

    def rows(*parameters: Tensor) -> Tensor:
        result: Tensor = functional_call(mixture, dict(zip(names, parameters, strict=True)), (ids,))
        return result

    leaves = tuple(parameter.detach().clone().requires_grad_() for parameter in mixture.parameters())
    assert torch.autograd.gradcheck(rows, leaves)


def test_a_linear_mixture_is_one_table_with_all_anchors() -> None:
    mixture = AnchorMixture(15, 4, [3, 6], num_slots=2, combination="linear", random_state=2)
    parts = [part for part in mixture.parts if isinstance(part, AnchorEmbedding)]
    together = AnchorEmbedding.from_codes(
        np.concatenate([part.anchors.detach().numpy() for part in parts]),
        sparse.hstack([part.transform() for part in parts], format="csr"),
    )
    torch.testing.assert_close(mixture.weight, together.weight)
    assert mixture.num_values() == together.num_values()


def test_mixtures_of_single_anchors_are_a_low_rank_factorisation() -> None:
    """Appendix H: one anchor per set, linear, T not sparse, is E = UW with U ≥ 0."""
    mixture = AnchorMixture(12, 5, 1, num_parts=3, combination="linear", random_state=0)
    parts = [part for part in mixture.parts if isinstance(part, AnchorEmbedding)]
    left = torch.cat([part.values.detach() for part in parts], dim=1)
    right = torch.cat([part.anchors.detach() for part in parts])
    torch.testing.assert_close(mixture.weight, left @ right)


@pytest.mark.parametrize("combination", ["softmax", "linear"])
def test_stored_and_restored_it_is_the_same(combination: str) -> None:
    mixture = AnchorMixture(
        30, 5, [4, 7], num_slots=3, combination=combination, padding_idx=2, orthogonality=0.5, random_state=3
    )
    weight = mixture.weight
    mixture.finish()
    torch.testing.assert_close(mixture.weight, weight)
    assert (mixture.weight[2] == 0).all()
    again = AnchorMixture(**mixture.config(), random_state=8)
    again.restore(mixture.stored())
    torch.testing.assert_close(again.weight, weight)
    assert again.config() == mixture.config()
    assert mixture.num_values() == mixture.nnz() + 11 * 5


def test_ratio_bounds_all_sets_together() -> None:
    mixture = AnchorMixture(500, 32, ratio=4, num_parts=3)
    assert mixture.num_values() <= 500 * 32 / 4
    assert mixture.num_values() > 500 * 32 / 8


@pytest.mark.parametrize("combination", ["softmax", "linear"])
def test_a_new_mixture_has_vectors_that_differ_and_the_size_of_other_tables(combination: str) -> None:
    mixture = AnchorMixture(3000, 16, 200, num_parts=2, num_slots=2, combination=combination)
    assert float(mixture.weight.square().mean().sqrt()) == pytest.approx(INITIAL_STD, rel=0.01)
    # Softmax over 200 anchors of like weights would give every row their mean.
    assert float(mixture.weight.std(dim=0).mean()) > 0.8 * INITIAL_STD


def test_slots_begin_with_half_of_the_softmax_weight() -> None:
    mixture = AnchorMixture(50, 4, 40, num_parts=1, num_slots=3, padding_idx=0)
    part = mixture.parts[0]
    assert isinstance(part, AnchorEmbedding)
    probs = torch.from_numpy(part.transform().toarray()).softmax(dim=1)
    stored = probs.gather(1, part.slots.long()).sum(dim=1)
    torch.testing.assert_close(stored[1:], torch.full((49,), 0.5 + 3 / 80))
    assert (part.values[0] == 0).all()


def test_orthogonality_is_the_sum_over_sets() -> None:
    mixture = AnchorMixture(10, 4, [2, 3], orthogonality=0.1)
    expected = 0.0
    for part in mixture.parts:
        anchors = part.anchors.detach()
        gram = (anchors @ anchors.T).abs()
        expected += 0.1 * float(gram.sum() - gram.diagonal().sum())
    assert mixture.penalty().item() == pytest.approx(expected, rel=1e-5)


def test_quantised_rows_are_the_centres_exactly() -> None:
    generator = np.random.default_rng(0)
    centres = 5 * generator.normal(size=(6, 4))
    labels = generator.integers(0, 6, size=80)
    anchors, codes = quantise_rows(centres[labels].astype(np.float32), 6, random_state=0)
    rows = torch.from_numpy(codes.toarray()).softmax(dim=1) @ torch.from_numpy(anchors)
    np.testing.assert_allclose(rows.numpy(), centres[labels], atol=1e-4)


@pytest.mark.parametrize("combination", ["softmax", "linear"])
def test_every_set_takes_up_what_the_ones_before_left(combination: str) -> None:
    generator = torch.Generator().manual_seed(0)
    coarse, fine = torch.randn(8, 6, generator=generator), torch.randn(8, 6, generator=generator) / 8
    weight = coarse[torch.arange(64) % 8] + fine[torch.arange(64) // 8]
    errors = [
        float(
            (AnchorMixture.from_pretrained(weight, 8, num_parts=parts, combination=combination).weight - weight).norm()
        )
        for parts in (1, 2)
    ]
    assert errors[1] < 0.5 * errors[0]
    padded = AnchorMixture.from_pretrained(weight, 8, num_parts=2, combination=combination, padding_idx=5)
    assert (padded.weight[5] == 0).all()


def test_training_reaches_a_planted_mixture() -> None:
    """Rows are one of 3 anchors plus one of 2: proximal training finds them and keeps T sparse and non-negative."""
    generator = torch.Generator().manual_seed(1)
    first, second = torch.randn(3, 6, generator=generator), torch.randn(2, 6, generator=generator)
    target = first[torch.arange(24) % 3] + second[torch.arange(24) // 12]
    mixture = AnchorMixture(24, 6, [3, 2], random_state=0)
    for part in mixture.parts:
        assert isinstance(part, AnchorEmbedding)
        initialise_anchors(part, "random")
    optimiser = make_optimiser(mixture, kind="adam", learning_rate=0.2, l1=1e-5)
    ids = torch.arange(24)
    losses = []
    for _ in range(50):
        optimiser.zero_grad()
        loss = (mixture(ids) - target).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.05 * losses[0]
    assert all(bool((part.values >= 0).all()) for part in mixture.parts)


def test_free_slots_are_given_to_the_anchors_that_the_loss_asks_for() -> None:
    mixture = AnchorMixture(6, 5, 5, num_parts=1, num_slots=1, random_state=0)
    part = mixture.parts[0]
    assert isinstance(part, AnchorEmbedding)
    part.values.data.zero_()
    part.anchors.data.copy_(torch.eye(5))
    wanted = (part.slots[:, 0].long() + 1) % 5
    optimiser = make_optimiser(mixture, kind="sgd", learning_rate=0.1, regrow_every=1)
    (-mixture(torch.arange(6))[torch.arange(6), wanted].sum()).backward()
    optimiser.step()
    torch.testing.assert_close(part.slots[:, 0].long(), wanted)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="combination must be one of 'softmax', 'linear', got 'max'"):
        AnchorMixture(10, 4, 2, combination="max")
    with pytest.raises(ValueError, match=r"num_parts must be one number for all sizes, got \[2, 3\]"):
        AnchorMixture(10, 4, [2, 3], num_parts=3)
    with pytest.raises(ValueError, match="num_anchors or ratio must be given"):
        AnchorMixture(10, 4)
    with pytest.raises(ValueError, match=r"ratio must be a finite number >= 1, got 0\.5"):
        AnchorMixture(10, 4, ratio=0.5)
    with pytest.raises(ValueError, match="arrays must be"):
        AnchorMixture(10, 4, 2).restore({})
