"""Variational dropout: noise on words or weights whose learned size says what can be dropped.

The posterior of a number is N(θ, α θ²), its prior log-uniform (`log_uniform.py`). A large α means that the loss does
not care.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.embeddings.rivals.log_uniform import log_alpha_of, log_uniform_kl, summed_kl
from gossamer.models.embeddings.rivals.row_selection import RowSelection
from gossamer.models.embeddings.rivals.weight_selection import WeightSelection

LOG_ALPHA_LIMIT = 8.0  # beyond it the KL divergence is flat to four digits, and noise would only overflow
# Words begin with the noise of dropping every second one, and those that are needed must make themselves heard. With a
# small start they do not separate in a few epochs: the words kept then predict worse than the most frequent ones.
INITIAL_LOG_ALPHA = 0.0
INITIAL_LOG_VARIANCE = -8.0


class VariationalVocabularyEmbedding(RowSelection):
    """Variational vocabulary dropout (Chen et al. 2019): Eᵢ · (1 + √αᵢ ε) in training, with αᵢ learned for every word.

    `penalty()` is strength · Σᵢ KL(αᵢ): strength 1 is the evidence bound when the loss is a summed negative
    log-likelihood. `finish()` keeps the `num_kept` words of smallest α. Every occurrence has its own noise ε ~ N(0, 1).
    """

    method: ClassVar[str] = "vvd"
    training_only: ClassVar[tuple[str, ...]] = ("log_alpha",)

    def add_training_parameters(self) -> None:
        """Add log α of every word."""
        self.log_alpha = nn.Parameter(torch.full((self.num_embeddings,), INITIAL_LOG_ALPHA))

    def rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return the vectors of ids, each multiplied by its own noise in training."""
        vectors = super().rows(ids)
        if self.finished or not self.training:
            return vectors
        log_alpha = self.log_alpha[ids].clamp(max=LOG_ALPHA_LIMIT)
        noise = 1 + (0.5 * log_alpha).exp() * torch.randn_like(log_alpha)
        return vectors * noise.unsqueeze(1)

    def row_scores(self) -> Float[Tensor, " V"]:
        """Return −log αᵢ of every word."""
        return -self.log_alpha

    def penalty(self) -> Float[Tensor, ""]:
        """Return strength · Σᵢ KL(αᵢ) while training, zero once the words are chosen."""
        return super().penalty() if self.finished else self.strength * log_uniform_kl(self.log_alpha).sum()


class SparseVariationalEmbedding(WeightSelection):
    """Sparse variational dropout (Molchanov et al. 2017): every weight is N(θ, σ²) in training, α = σ²/θ².

    σ² is learned instead of α, which keeps the gradient of θ free of noise. `penalty()` is strength · Σ KL(α), where
    strength 1 is the evidence bound; it silences nearly all of a table that has more weights than there are examples,
    so the default is far below. `finish()` keeps the `num_kept` weights of smallest α.
    """

    method: ClassVar[str] = "sparsevd"
    training_only: ClassVar[tuple[str, ...]] = ("means", "log_variance")

    def add_training_parameters(self) -> None:
        """Add log σ² of every weight."""
        self.log_variance = nn.Parameter(torch.full_like(self.means, INITIAL_LOG_VARIANCE))

    def mean_vectors(self) -> Float[Tensor, "V D"]:
        """Return θ."""
        return self.means

    def trained_rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return θ of ids, plus σ ε in training."""
        means = functional.embedding(ids, self.means)
        return _noisy(means, functional.embedding(ids, self.log_variance)) if self.training else means

    def log_alpha(self) -> Float[Tensor, "V D"]:
        """Return log σ²/θ² of every weight."""
        return log_alpha_of(self.means, self.log_variance)

    def weight_scores(self) -> Float[Tensor, "V D"]:
        """Return −log α of every weight."""
        return -self.log_alpha()

    def penalty(self) -> Float[Tensor, ""]:
        """Return strength · Σ KL(α) while training, zero once the weights are chosen."""
        return super().penalty() if self.finished else self.strength * summed_kl(self.means, self.log_variance)


class SparseVariationalVocabularyEmbedding(SparseVariationalEmbedding):
    """SparseVD-Voc (Chirkova, Lobacheva & Vetrov 2018): row i is zᵢ wᵢ, both with variational dropout.

    A word that is not needed gets one noisy multiplier zᵢ, and its whole row goes. `finish()` keeps the `num_kept`
    weights zᵢ θᵢⱼ of smallest relative variance (1 + α_z)(1 + α_w) − 1, the product's α; zᵢ is folded in.
    """

    method: ClassVar[str] = "sparsevd-voc"
    training_only: ClassVar[tuple[str, ...]] = ("means", "log_variance", "multipliers", "multiplier_log_variance")

    def add_training_parameters(self) -> None:
        """Add log σ² of every weight, and z with its own log σ² of every word."""
        super().add_training_parameters()
        self.multipliers = nn.Parameter(torch.ones(self.num_embeddings, 1))
        self.multiplier_log_variance = nn.Parameter(torch.full_like(self.multipliers, INITIAL_LOG_VARIANCE))

    def mean_vectors(self) -> Float[Tensor, "V D"]:
        """Return z ⊙ θ."""
        return self.multipliers * self.means

    def trained_rows(self, ids: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        """Return z ⊙ w of ids, both noisy in training."""
        multipliers = functional.embedding(ids, self.multipliers)
        if self.training:
            multipliers = _noisy(multipliers, functional.embedding(ids, self.multiplier_log_variance))
        return multipliers * super().trained_rows(ids)

    def multiplier_log_alpha(self) -> Float[Tensor, "V 1"]:
        """Return log σ²/z² of every word."""
        return log_alpha_of(self.multipliers, self.multiplier_log_variance)

    def weight_scores(self) -> Float[Tensor, "V D"]:
        """Return −log((1 + α_z)(1 + α_w) − 1) of every weight."""
        of_words, of_weights = self.multiplier_log_alpha(), self.log_alpha()
        return -torch.logaddexp(torch.logaddexp(of_words, of_weights), of_words + of_weights)

    def penalty(self) -> Float[Tensor, ""]:
        """Return strength · (Σ KL(α_w) + Σ KL(α_z)) while training, zero once the weights are chosen."""
        if self.finished:
            return super().penalty()
        return super().penalty() + self.strength * summed_kl(self.multipliers, self.multiplier_log_variance)


def _noisy(means: Tensor, log_variance: Tensor) -> Tensor:
    return means + (0.5 * log_variance).exp() * torch.randn_like(means)
