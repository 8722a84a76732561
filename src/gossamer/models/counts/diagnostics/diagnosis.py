"""All that the report says of one count model on some documents, as plain arrays, numbers and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import sparse

from gossamer.core.checks import check_int
from gossamer.core.randomness import torch_generator
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.counts.diagnostics.jacobian import jacobian_spectrum
from gossamer.models.counts.diagnostics.rare_terms import find_rare_terms, gaps_between
from gossamer.models.counts.diagnostics.utilisation import count_used, document_singular_values, mean_words
from gossamer.models.counts.inference import infer_all
from gossamer.models.counts.refinement import Refinement
from gossamer.models.counts.step import EncoderAndDecoder
from gossamer.models.counts.topics import documented_topics, topic_coherence

MAX_DOCUMENTS = 2000  # refined for a report; rank correlations of so many are good to about .02


def diagnose(
    network: EncoderAndDecoder,
    matrix: sparse.csr_array,
    inputs: Float[np.ndarray, " nnz"],
    refinement: Refinement,
    terms: Vocabulary,
    *,
    training: sparse.csr_array | None = None,
    beta: float = 1.0,
    names: Sequence[str] | None = None,
    max_documents: int = MAX_DOCUMENTS,
) -> dict[str, Any]:
    """Return what `latent_section` of the report shows of a model and the documents of `matrix`.

    `inputs` are the encoder's features of its nonzeros and `names` what to call its rows. Rare terms and the length of
    an average document are those of `training`, or of `matrix` where that is missing or empty. Of more than
    `max_documents` documents, every so-manieth is looked at. Without an encoder there are no amortised posteriors, and
    "rare_terms" is left out; without any words, so is "used_directions".
    """
    check_int("max_documents", max_documents, at_least=1)
    if names is not None and len(names) != matrix.shape[0]:
        raise ValueError(f"names must be as many as the documents, {matrix.shape[0]}, got {len(names)}")
    known = training if training is not None and training.nnz else matrix
    decoder = network.decoder
    spectrum = jacobian_spectrum(decoder)
    found: dict[str, Any] = {
        "latent_dim": decoder.latent_dim,
        "singular_values": {
            "at z = 0": spectrum.at_zero,
            "of the mean Jacobian": spectrum.of_mean,
            "mean over the prior": spectrum.mean_of_draws,
        },
    }
    if known.nnz:
        # With less of the KL, the prior says less: as if documents were longer.
        of_document = document_singular_values(decoder, mean_words(known) / beta)
        found |= {"used_directions": count_used(of_document), "document_singular_values": of_document}
    if matrix.nnz == 0:
        return found
    rows = _spread_rows(matrix, max_documents)
    sample, features = matrix[rows], _features_of(matrix, inputs, rows)
    labels = [f"document {row + 1}" for row in range(matrix.shape[0])] if names is None else names
    refined = infer_all(network, sample, features, refinement, torch_generator(0), beta)
    if network.encoder is not None:
        amortised = infer_all(network, sample, features, None, torch_generator(0), beta)
        gaps = gaps_between(amortised, refined, sample, find_rare_terms(known))
        found["rare_terms"] = {
            "kl": gaps.kl,
            "num_rare": gaps.num_rare,
            "rho": _known(gaps.rho),
            "rho_length": _known(gaps.rho_length),
            "rho_given_length": _known(gaps.rho_given_length),
        }
    codes = refined.mean.double().cpu().numpy()
    found |= topic_coherence(decoder, matrix)
    found["topics"] = documented_topics(decoder, terms, sample, codes, [labels[row] for row in rows])
    return found


def _spread_rows(matrix: sparse.csr_array, max_documents: int) -> np.ndarray:
    """Return at most so many rows with words, evenly spread: files are often sorted by class."""
    with_words = np.flatnonzero(np.asarray(matrix.sum(axis=1)) > 0)
    if len(with_words) <= max_documents:
        return with_words
    return with_words[np.linspace(0, len(with_words) - 1, max_documents).astype(np.int64)]


def _features_of(matrix: sparse.csr_array, inputs: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the inputs of the nonzeros of some rows."""
    features = sparse.csr_array((inputs, matrix.indices, matrix.indptr), shape=matrix.shape)[rows]
    values: np.ndarray = features.data
    return values


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
