from __future__ import annotations

import math

import pytest
import torch

from gossamer.models.embeddings.rivals.variational import (
    SparseVariationalEmbedding,
    SparseVariationalVocabularyEmbedding,
    VariationalVocabularyEmbedding,
)
from gossamer.models.embeddings.table import EmbeddingTable

TABLES = [VariationalVocabularyEmbedding, SparseVariationalEmbedding, SparseVariationalVocabularyEmbedding]


def test_word_noise_has_the_learned_size_in_training_only():
    table = VariationalVocabularyEmbedding(3, 2, num_kept=1)
    with torch.no_grad():
        table.log_alpha[1] = math.log(0.25)
    ids = torch.ones(20_000, dtype=torch.long)
    multipliers = table(ids) / table.vectors[1]
    torch.testing.assert_close(multipliers[:, 0], multipliers[:, 1])  # one noise for the word, not one per weight
    assert multipliers.mean().item() == pytest.approx(1, abs=0.02)
    assert multipliers.std().item() == pytest.approx(0.5, abs=0.02)
    torch.testing.assert_close(table.eval()(ids[:1]), table.vectors[1:2])


def test_weight_noise_has_the_learned_size_in_training_only():
    table = SparseVariationalVocabularyEmbedding(3, 2, num_kept=1)
    with torch.no_grad():
        table.means.fill_(2.0)
        table.multipliers.fill_(3.0)
        table.log_variance.fill_(math.log(0.01))
        table.multiplier_log_variance.fill_(math.log(0.04))
    drawn = table(torch.zeros(20_000, dtype=torch.long))
    expected = 36 * ((1 + 0.01 / 4) * (1 + 0.04 / 9) - 1)
    assert drawn.var(dim=0).tolist() == pytest.approx([expected, expected], rel=0.05)
    assert table.weight_scores()[0, 0].item() == pytest.approx(-math.log(expected / 36), abs=1e-4)
    assert table.eval()(torch.tensor([0])).tolist() == [[6.0, 6.0]]


def fit(table: EmbeddingTable, targets: torch.Tensor, steps: int, noise: float = 0.1) -> None:
    """Regress each row on its target, with the table's own penalty beside the negative log-likelihood."""
    ids = torch.arange(len(targets))
    optimiser = torch.optim.Adam(table.parameters(), lr=0.05)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = (table(ids) - targets).square().sum() / (2 * noise**2) + table.penalty()
        loss.backward()
        optimiser.step()


def test_vvd_keeps_the_informative_words():
    informative = torch.arange(24) % 3 == 0
    table = VariationalVocabularyEmbedding(24, 4, ratio=3)
    fit(table, informative.float().unsqueeze(1).expand(24, 4), 300)
    table.finish()
    assert table.kept.tolist() == torch.nonzero(informative).flatten().tolist()
    assert [name for name, _ in table.named_parameters()] == ["vectors"]
    assert table.weight.sum().item() == pytest.approx(8 * 4, rel=0.1)


def test_sparsevd_keeps_the_informative_weights():
    targets = torch.where(torch.rand(24, 6) < 0.25, 1.0, 0.0)
    table = SparseVariationalEmbedding(24, 6, num_kept=int(targets.sum()), strength=1)
    fit(table, targets, 300)
    table.finish()
    torch.testing.assert_close(table.weight, targets, atol=0.15, rtol=0)


def test_sparsevd_voc_drops_whole_words_and_folds_the_multiplier_in():
    targets = torch.zeros(24, 6)
    targets[::4, 1:4] = 1.0
    table = SparseVariationalVocabularyEmbedding(24, 6, num_kept=18, strength=1)
    fit(table, targets, 300)
    useful = table.multiplier_log_alpha().flatten().argsort()[:6].sort().values
    assert useful.tolist() == list(range(0, 24, 4))
    table.finish()
    torch.testing.assert_close(table.weight, targets, atol=0.15, rtol=0)


@pytest.mark.parametrize("cls", TABLES)
@pytest.mark.parametrize("finished", [False, True])
def test_a_stored_table_is_restored(cls: type[EmbeddingTable], finished: bool):
    table = cls(40, 5, ratio=7, padding_idx=3, random_state=1).eval()  # type: ignore[call-arg]
    if finished:
        table.finish()
        assert table.num_values() <= 40 * 5 / 7
        assert table.penalty().item() == 0
    again = cls(**table.config()).eval()
    again.restore(table.stored())
    torch.testing.assert_close(again.weight, table.weight)


@pytest.mark.parametrize("cls", TABLES)
def test_gradients_reach_every_parameter(cls: type[EmbeddingTable]):
    table = cls(6, 3, num_kept=2)  # type: ignore[call-arg]
    (table(torch.arange(6)).square().sum() + table.penalty()).backward()
    for name, parameter in table.named_parameters():
        assert parameter.grad is not None, name
        assert (parameter.grad != 0).all(), name
        assert parameter.grad.isfinite().all(), name
