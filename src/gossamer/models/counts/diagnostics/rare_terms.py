"""Where the encoder errs most: KL(ψ(x) ‖ ψ*) of each document against its number of rare terms (figures 6 and 11)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float64
from scipy import sparse, stats

from gossamer.core.checks import check_choice, check_real
from gossamer.core.randomness import RandomState, torch_generator
from gossamer.models.counts.inference import infer_all
from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.refinement import Refinement
from gossamer.models.counts.step import EncoderAndDecoder


@dataclass(frozen=True, eq=False)
class RareTermGaps:
    """Per document with words: KL(ψ(x) ‖ ψ*) in nats, its number of rare terms, its length; and rank correlations.

    `rho` is Spearman's between KL and rare terms, as in the paper. Longer documents have more of everything, KL
    included, so `rho_length` is that between KL and length, and `rho_given_length` the partial one of KL and rare terms
    with length held fixed: what rare terms explain beyond length. NaN where one side does not vary.
    """

    kl: Float64[np.ndarray, " D"]
    num_rare: Float64[np.ndarray, " D"]
    lengths: Float64[np.ndarray, " D"]
    rho: float
    rho_length: float
    rho_given_length: float


def find_rare_terms(training: sparse.csr_array, share: float = 0.05) -> Bool[np.ndarray, " V"]:
    """Say of each term whether fewer than `share` of the training documents hold it, as in the paper.

    >>> find_rare_terms(sparse.csr_array([[1, 2], [0, 1]]), share=0.6).tolist()
    [True, False]
    """
    check_real("share", share, above=0, at_most=1)
    num_documents, num_terms = training.shape
    if num_documents == 0:
        raise ValueError("training must have at least one document, got 0")
    held = np.bincount(training.indices[training.data > 0], minlength=num_terms)
    rare: np.ndarray = held / num_documents < share  # 0.07 · 100 is more than 7 in floating point, 7 / 100 is 0.07
    return rare


def count_rare_terms(
    matrix: sparse.csr_array, is_rare: Bool[np.ndarray, " V"], *, counted: str = "tokens"
) -> Float64[np.ndarray, " D"]:
    """Return how many rare words each document has: every "tokens", or different "terms" only."""
    check_choice("counted", counted, ["tokens", "terms"])
    if is_rare.shape != (matrix.shape[1],):
        raise ValueError(f"is_rare must say of each of {matrix.shape[1]} terms, got shape {is_rare.shape}")
    present = matrix if counted == "tokens" else (matrix > 0)
    number: np.ndarray = present.astype(np.float64) @ is_rare.astype(np.float64)
    return number


def rare_term_gaps(
    network: EncoderAndDecoder,
    matrix: sparse.csr_array,
    inputs: Float[np.ndarray, " nnz"],
    refinement: Refinement,
    is_rare: Bool[np.ndarray, " V"],
    *,
    beta: float = 1.0,
    counted: str = "tokens",
    random_state: RandomState = 0,
) -> RareTermGaps:
    """Return how far refinement moves the posterior of each document, beside its number of rare terms.

    `inputs` are the encoder's features of the nonzeros of `matrix`. Documents without words are left out: their
    posterior is the prior, and nothing moves it.
    """
    if network.encoder is None:
        raise ValueError("network must have an encoder, whose posteriors are judged here, got one without")
    amortised = infer_all(network, matrix, inputs, None, torch_generator(random_state), beta)
    refined = infer_all(network, matrix, inputs, refinement, torch_generator(random_state), beta)
    return gaps_between(amortised, refined, matrix, is_rare, counted=counted)


def gaps_between(
    amortised: Posterior,
    refined: Posterior,
    matrix: sparse.csr_array,
    is_rare: Bool[np.ndarray, " V"],
    *,
    counted: str = "tokens",
) -> RareTermGaps:
    """Return the same from posteriors ψ(x) and ψ* of the rows of `matrix` that are there already."""
    if not len(amortised) == len(refined) == matrix.shape[0]:
        raise ValueError(
            f"posteriors must be those of {matrix.shape[0]} documents, got {len(amortised)} and {len(refined)}"
        )
    number = count_rare_terms(matrix, is_rare, counted=counted)
    lengths = np.asarray(matrix.sum(axis=1), dtype=np.float64)
    has_words = lengths > 0
    # In double precision: the KL of nearly equal posteriors is a small difference.
    kl = _double(amortised).kl_to(_double(refined)).cpu().numpy()
    return _correlate(kl[has_words], number[has_words], lengths[has_words])


def _correlate(kl: np.ndarray, num_rare: np.ndarray, lengths: np.ndarray) -> RareTermGaps:
    rho, with_length = _spearman(kl, num_rare), _spearman(kl, lengths)
    rare_with_length = _spearman(num_rare, lengths)
    left = math.sqrt(max(0.0, (1 - with_length**2) * (1 - rare_with_length**2)))
    # Rounding leaves something of 1 − 1² where two of them rank alike: there is no part beyond length.
    partial = (rho - with_length * rare_with_length) / left if left > 1e-9 else math.nan
    return RareTermGaps(kl, num_rare, lengths, rho, with_length, partial)


def _double(posterior: Posterior) -> Posterior:
    return Posterior(posterior.mean.double(), posterior.log_variance.double())


def _spearman(first: np.ndarray, second: np.ndarray) -> float:
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan  # scipy says the same, with a warning
    return float(stats.spearmanr(first, second).statistic)
