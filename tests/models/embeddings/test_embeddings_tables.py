"""What every table promises, whatever its method: the contract behind `nn.Embedding`'s face."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from gossamer.models.embeddings.optimiser import make_optimiser
from gossamer.models.embeddings.table import EmbeddingTable
from gossamer.models.embeddings.tables import TABLES, find_table, make_table, takes_counts

V, D = 120, 16
COUNTS = np.random.default_rng(0).permutation(1000 // np.arange(1, V + 1))
PADDING = int(COUNTS.argmax())  # so important that a careless table would spend numbers on it
# A ratio that every method reaches at this size, unless it is named here.
RATIO = 2.5
RATIOS = {"dense": 1.0}
POST_HOC = {method for method, table in TABLES.items() if table.is_post_hoc}
# Options without which a method is not what it is, and the size argument that `ratio` replaces.
SIZES = {
    "ant": {"num_anchors": 5},
    "ant-mixture": {"num_anchors": 5},
    "lowrank": {"rank": 3},
    "tensor-train": {"rank": 3},
    "hash": {"num_buckets": 20},
    "quotient-remainder": {"num_remainders": 11},
    "mixed-dim": {"alpha": 0.5},
    "frequency": {"num_kept": 30},
    "tfidf": {"num_kept": 30},
    "group-lasso": {"num_kept": 30},
    "vvd": {"num_kept": 30},
    "sparsevd": {"num_kept": 300},
    "sparsevd-voc": {"num_kept": 300},
    "codes": {"num_codewords": 8},
    "sparse-code": {"num_anchors": 20},
    "sparse-hash": {"num_anchors": 20},
    "ksvd": {"num_anchors": 20},
}
METHODS = sorted(TABLES)


def make(method: str, **options: Any) -> EmbeddingTable:
    if not options.keys() & {"ratio", *SIZES.get(method, {})}:
        options["ratio"] = RATIOS.get(method, RATIO)
    return make_table(method, V, D, counts=COUNTS, **options)


def pretrained() -> Tensor:
    """Return vectors as trained tables have them: a few directions matter, popular ids are longer."""
    generator = torch.Generator().manual_seed(1)
    directions = torch.randn(D, D, generator=generator) * torch.logspace(0, -2, D).unsqueeze(1)
    lengths = torch.from_numpy(COUNTS.astype(np.float32)).sqrt().unsqueeze(1)
    return torch.randn(V, D, generator=generator) @ directions * lengths.clamp(max=10) / 10


def convert(method: str, **options: Any) -> EmbeddingTable:
    table = find_table(method)
    if takes_counts(table):
        options["counts"] = COUNTS
    return table.from_pretrained(pretrained(), **options)


def train_a_little(table: EmbeddingTable) -> None:
    """Move every parameter that learns, so that a table is not just its start."""
    optimiser = make_optimiser(table, kind="sgd", learning_rate=0.1)
    target = pretrained()
    for _ in range(3):
        optimiser.zero_grad()
        loss = (table(torch.arange(V)) - target).square().sum() / V + table.penalty() / 1000
        loss.backward()
        optimiser.step()


def test_every_method_of_the_issue_is_there() -> None:
    asked = "dense ant lowrank tensor-train hash quotient-remainder mixed-dim frequency tfidf group-lasso vvd sparsevd"
    asked += " sparsevd-voc codes int8 sparse-code sparse-hash ksvd"
    assert set(asked.split()) <= set(TABLES)
    assert all(table.method == method for method, table in TABLES.items())
    assert {"sparse-code", "sparse-hash", "ksvd"} <= POST_HOC


def test_an_unknown_method_is_answered_with_all_known_ones() -> None:
    with pytest.raises(ValueError, match=r"method must be one of 'dense', .*'ksvd'.*, got 'sparse'"):
        find_table("sparse")


def test_an_unknown_option_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"options of lowrank must be among \[.*'rank'.*\], got \['num_anchors'\]"):
        make_table("lowrank", V, D, num_anchors=3)


@pytest.mark.parametrize("method", METHODS)
class TestEveryTable:
    def test_ids_of_any_shape_have_vectors(self, method: str) -> None:
        table = make(method).eval()
        ids = torch.tensor([[3, 1, 4], [1, 5, 9]])
        vectors = table(ids)
        assert vectors.shape == (2, 3, D)
        assert vectors.dtype == torch.float32
        torch.testing.assert_close(vectors, table.weight[ids])
        torch.testing.assert_close(vectors[0, 1], vectors[1, 0])
        assert table(torch.empty(0, 7, dtype=torch.long)).shape == (0, 7, D)

    def test_padding_embeds_to_zeros_and_learns_nothing(self, method: str) -> None:
        table = make(method, padding_idx=PADDING)
        vectors = table(torch.full((4,), PADDING))
        assert not vectors.any()
        if vectors.requires_grad:
            vectors.sum().backward()
            for parameter in table.parameters():
                gradient = parameter.grad
                assert gradient is None or not gradient.to_dense().any()
        assert not table.logits(torch.ones(2, D))[:, PADDING].any()

    def test_gradients_reach_every_parameter(self, method: str) -> None:
        table = make(method)
        generator = torch.Generator().manual_seed(2)
        (table(torch.arange(V)) * torch.randn(V, D, generator=generator)).sum().add(table.penalty()).backward()
        for name, parameter in table.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.to_dense().any(), name

    def test_a_bag_is_the_sum_of_its_vectors(self, method: str) -> None:
        table = make(method).eval()
        ids, weights = torch.tensor([7, 7, 3, 100, 8]), torch.tensor([1.0, -2.0, 0.5, 3.0, 1.5])
        vectors = table.weight[ids]
        bags = table.bag(ids, torch.tensor([0, 2, 2]))
        torch.testing.assert_close(bags, torch.stack([vectors[:2].sum(0), torch.zeros(D), vectors[2:].sum(0)]))
        weighted = table.bag(ids, torch.tensor([0]), weights)
        torch.testing.assert_close(weighted, (weights.unsqueeze(1) * vectors).sum(0, keepdim=True))

    def test_logits_are_products_with_every_vector(self, method: str) -> None:
        table = make(method, padding_idx=PADDING).eval()
        hidden = torch.randn(2, 3, D, generator=torch.Generator().manual_seed(3), requires_grad=True)
        expected = hidden.detach() @ table.weight.T
        scores = table.logits(hidden)
        torch.testing.assert_close(scores, expected, rtol=1e-4, atol=1e-5)
        (gradient,) = torch.autograd.grad(scores.square().sum(), hidden)
        torch.testing.assert_close(gradient, 2 * expected @ table.weight, rtol=1e-3, atol=1e-4)

    def test_a_ratio_is_honoured(self, method: str) -> None:
        ratio = RATIOS.get(method, RATIO)
        table = make(method, ratio=ratio)
        train_a_little(table)
        table.finish()
        if method == "int8":  # as many numbers, of fewer bytes
            assert table.nbytes() <= 4 * V * D / ratio
        else:
            assert 0 < table.num_values() <= V * D / ratio
        assert table.nbytes() >= sum(array.nbytes for array in table.stored().values())
        before = table.weight
        table.finish()
        assert torch.equal(table.weight, before)

    @pytest.mark.parametrize("finished", [False, True])
    def test_what_is_stored_rebuilds_the_table(self, method: str, finished: bool) -> None:
        table = make(method, padding_idx=PADDING)
        train_a_little(table)
        if finished:
            table.finish()
        table.eval()
        config = json.loads(json.dumps(table.config()))
        again = type(table)(**config).eval()
        again.restore(table.stored())
        assert torch.equal(again.weight, table.weight)
        assert again.num_values() == table.num_values()
        assert again.nbytes() == table.nbytes()

    def test_stored_arrays_of_another_table_are_refused(self, method: str) -> None:
        table = make(method)
        with pytest.raises(ValueError, match="must be"):
            table.restore({"other": np.zeros(3)})

    def test_converting_comes_closer_than_chance_and_closer_with_size(self, method: str) -> None:
        target = pretrained()
        ratios = [1.0, 1.0] if method == "dense" else [3.0, 1.5]
        errors = [float((convert(method, ratio=ratio).weight - target).square().sum()) for ratio in ratios]
        random = float((target.std() * torch.randn(V, D, generator=torch.Generator()) - target).square().sum())
        assert errors[1] <= errors[0] * (1 + 1e-6)
        assert errors[0] < float(target.square().sum()) < random
        assert method in ("dense", "int8") or errors[1] < errors[0]

    def test_converting_keeps_padding_at_zero(self, method: str) -> None:
        table = convert(method, ratio=RATIOS.get(method, RATIO), padding_idx=PADDING)
        assert not table.weight[PADDING].any()
        assert table.weight.any()

    def test_same_seed_same_table(self, method: str) -> None:
        first, again = make(method, random_state=3).eval(), make(method, random_state=3).eval()
        assert torch.equal(first.weight, again.weight)

    def test_an_id_out_of_range_is_named(self, method: str) -> None:
        with pytest.raises(ValueError, match=f"ids must be from 0 to {V - 1}, got {V}"):
            make(method)(torch.tensor([0, V]))

    def test_a_ratio_below_one_is_refused(self, method: str) -> None:
        with pytest.raises(ValueError, match=r"ratio must be a finite number >= 1, got 0\.5"):
            make(method, ratio=0.5)

    def test_nan_in_a_pretrained_table_is_refused(self, method: str) -> None:
        weight = pretrained()
        weight[7, 2] = torch.nan
        options = {"counts": COUNTS} if takes_counts(find_table(method)) else {}
        with pytest.raises(ValueError, match="weight must be finite, got NaN or infinity in row 7"):
            find_table(method).from_pretrained(weight, ratio=RATIOS.get(method, RATIO), **options)

    def test_the_largest_ratio_is_said(self, method: str) -> None:
        with pytest.raises(ValueError, match=r"ratio must be at most [\d.]+") as caught:
            make(method, ratio=10_000.0)
        largest = float(str(caught.value).split("at most ")[1].split(",")[0].split(" ")[0])
        assert 1 <= largest < 10_000
        num_parts = 2 if method == "ant-mixture" else 1  # a mixture's sentence speaks of one of its sets
        assert make(method, ratio=largest / num_parts).num_values() > 0


@pytest.mark.parametrize("method", sorted(SIZES))
def test_size_or_ratio_not_both_and_not_neither(method: str) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(SIZES[method]))} or ratio must be given"):
        make_table(method, V, D, counts=COUNTS)
    with pytest.raises(ValueError, match=f"{next(iter(SIZES[method]))} or ratio must be given"):
        make(method, ratio=RATIO, **SIZES[method])


@pytest.mark.parametrize("method", sorted(SIZES))
def test_a_size_can_be_given_instead_of_a_ratio(method: str) -> None:
    table = make(method, **SIZES[method])
    assert table(torch.arange(V)).shape == (V, D)


def test_counts_go_only_to_tables_that_want_them() -> None:
    wanting = {method for method, table in TABLES.items() if takes_counts(table)}
    assert {"hash", "mixed-dim", "frequency", "tfidf"} <= wanting
    assert not wanting & {"dense", "ant", "lowrank"}
