"""How well a count model predicts held-out documents: the bound of each, and the two perplexities that papers mix."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse

from gossamer.core.checks import check_choice
from gossamer.core.randomness import derive_seed
from gossamer.metrics.likelihood import perplexity_per_document, perplexity_per_token
from gossamer.models.counts.bound import bound
from gossamer.models.counts.inference import blocks, infer
from gossamer.models.counts.refine_covariance import with_covariance
from gossamer.models.counts.refinement import Refinement
from gossamer.models.counts.step import EncoderAndDecoder

COVARIANCES = ("diagonal", "full")
PERPLEXITIES = {"document": perplexity_per_document, "token": perplexity_per_token}


@torch.no_grad()
def document_bounds(
    network: EncoderAndDecoder,
    matrix: sparse.csr_array,
    inputs: Float[np.ndarray, " nnz"],
    refinement: Refinement | None,
    *,
    covariance: str = "diagonal",
    seed: int = 0,
) -> Float[np.ndarray, " D"]:
    """Return the bound (2) on log p(x) of each document from one sample of its posterior, as the paper does.

    With `covariance` "full" refined posteriors have a covariance matrix each, for linear decoders only. It has no
    meaning without a `refinement`: an encoder says variances.

    The KL counts in full, whatever it counted in training: with less of it, this would be no bound. The noise depends
    on `seed` and the order of documents only, so that amortised and refined posteriors are judged by the same draws.
    """
    generator, noises = torch.Generator(), torch.Generator()
    generator.manual_seed(derive_seed(seed, "refinement"))
    noises.manual_seed(derive_seed(seed, "bound"))
    found = [np.zeros(0)]
    for batch in blocks(matrix, inputs):
        posterior = infer(network, batch, refinement, generator)
        if refinement is not None and covariance == "full":
            posterior = with_covariance(network.decoder, batch, posterior)
        noise = torch.randn(posterior.mean.shape, generator=noises, dtype=posterior.mean.dtype)
        found.append(bound(network.decoder, posterior, batch, noise).double().numpy())
    return np.concatenate(found)


def perplexity_of(bounds: Float[np.ndarray, " D"], matrix: sparse.csr_array, per: str = "document") -> float:
    """Return exp(mean_d(−bound_d / N_d)) per "document", or exp(−Σ bound / Σ N) per "token".

    Documents without words are left out.

    >>> x = sparse.csr_array([[1, 0], [1, 1], [0, 0]])
    >>> bounds = np.log([0.5, 0.0625, 1.0])
    >>> round(perplexity_of(bounds, x), 3), round(perplexity_of(bounds, x, "token"), 3)
    (2.828, 3.175)
    """
    measure = PERPLEXITIES[check_choice("per", per, PERPLEXITIES)]
    lengths = np.asarray(matrix.sum(axis=1), dtype=np.float64)
    has_words = lengths > 0
    if not has_words.any():
        raise ValueError(f"data must have at least one document with a count above 0, got {len(lengths)} without")
    return measure(bounds[has_words], lengths[has_words])
