"""Small documents and decoders for the tests of refinement, and the bound as a plain formula."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from gossamer.models.counts.batch import CountBatch, take_batch
from gossamer.models.counts.block_likelihood import BlockLikelihood
from gossamer.models.counts.module import Decoder
from gossamer.models.counts.posterior import Posterior

HIDDEN = [(), (7,), (6, 7)]


def documents(num_rows: int = 5, num_terms: int = 12, seed: int = 0, empty: tuple[int, ...] = ()) -> CountBatch:
    """Return documents of a few words each; rows in `empty` have none."""
    dense = np.random.default_rng(seed).poisson(0.8, (num_rows, num_terms)).astype(np.float32)
    dense[:, 0] += 1
    dense[list(empty)] = 0
    matrix = sparse.csr_array(dense)
    return take_batch(matrix, matrix.data, np.arange(num_rows))


def decoder_of(
    hidden_dims: tuple[int, ...] = (),
    *,
    num_terms: int = 12,
    latent_dim: int = 3,
    activation: str = "tanh",
    seed: int = 0,
) -> Decoder:
    """Return a decoder in double precision whose latent variables matter."""
    torch.manual_seed(seed)
    return Decoder(num_terms, latent_dim, hidden_dims, activation=activation, init_range=1.2).double()


def some_start(batch: CountBatch, decoder: Decoder, seed: int = 0) -> Posterior:
    generator = torch.Generator().manual_seed(seed)
    mean, log_variance = torch.randn(2, len(batch), decoder.latent_dim, generator=generator, dtype=torch.float64)
    return Posterior(mean, log_variance / 2 - 0.5)


def whole_block(decoder: Decoder, batch: CountBatch) -> BlockLikelihood:
    return BlockLikelihood.of_rows(decoder, batch, slice(0, len(batch)))


def dense_counts(batch: CountBatch) -> Tensor:
    dense = torch.zeros(len(batch), batch.num_terms, dtype=torch.float64)
    return dense.index_put((batch.row_of_nonzero, batch.terms), batch.counts.double(), accumulate=True)


def log_likelihood(decoder: Decoder, batch: CountBatch, z: Tensor) -> Tensor:
    """Return Σ_v x_v log softmax(γ(z))_v of each document, from dense counts."""
    return (dense_counts(batch) * torch.log_softmax(decoder.logits(z), dim=-1)).sum(dim=-1)


@torch.no_grad()
def estimated_bound(decoder: Decoder, batch: CountBatch, posterior: Posterior, draws: int = 4000) -> Tensor:
    """Return the bound by many draws, the same ones for every posterior, each with its mirror image."""
    generator = torch.Generator().manual_seed(1)
    noise = torch.randn(draws // 2, *posterior.mean.shape, generator=generator, dtype=torch.float64)
    noise = torch.cat([noise, -noise])
    return log_likelihood(decoder, batch, posterior.at(noise)).mean(dim=0) - posterior.kl()
