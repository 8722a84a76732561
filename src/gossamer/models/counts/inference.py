"""Posteriors of many documents, a block of them at a time: the encoder's, or refined from there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from torch import nn

from gossamer.models.counts.batch import CountBatch, take_batch
from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.refinement import Refinement
from gossamer.models.counts.step import EncoderAndDecoder, prior, refine_bound

ROWS_AT_ONCE = 500


def infer(
    network: EncoderAndDecoder,
    batch: CountBatch,
    refinement: Refinement | None,
    generator: torch.Generator,
    beta: float = 1.0,
) -> Posterior:
    """Return the encoder's posteriors ψ(x), or with a `refinement` ψ*, refined from there.

    A network without encoder starts at the prior. A document without words has the prior as its posterior.
    """
    encoder, decoder = network.encoder, network.decoder
    if encoder is None:
        start = prior(len(batch), decoder)
    else:
        with torch.no_grad(), judged(encoder):
            start = encoder(batch)
    return start if refinement is None else refine_bound(decoder, batch, start, refinement, generator, beta)


def blocks(
    matrix: sparse.csr_array, inputs: Float[np.ndarray, " nnz"], rows_at_once: int = ROWS_AT_ONCE
) -> Iterator[CountBatch]:
    """Yield all documents in their order, some at a time; none for no documents."""
    for begin in range(0, matrix.shape[0], rows_at_once):
        yield take_batch(matrix, inputs, np.arange(begin, min(begin + rows_at_once, matrix.shape[0])))


def infer_all(
    network: EncoderAndDecoder,
    matrix: sparse.csr_array,
    inputs: Float[np.ndarray, " nnz"],
    refinement: Refinement | None,
    generator: torch.Generator,
    beta: float = 1.0,
) -> Posterior:
    """Return the posteriors of all rows of `matrix`; only these, 2 K numbers per row, are ever held together."""
    found = [infer(network, batch, refinement, generator, beta) for batch in blocks(matrix, inputs)]
    nobody = prior(0, network.decoder)
    return Posterior(
        torch.cat([nobody.mean, *(posterior.mean for posterior in found)]),
        torch.cat([nobody.log_variance, *(posterior.log_variance for posterior in found)]),
    )


@contextmanager
def judged(module: nn.Module) -> Iterator[None]:
    """Switch dropout off, and afterwards back on where it was."""
    if not module.training:
        yield
        return
    module.eval()
    try:
        yield
    finally:
        module.train()
