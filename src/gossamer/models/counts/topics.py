"""What the latent directions of a count model are about: the terms they raise and lower, the documents that use them.

Directions are read off the decoder's Jacobian at z = 0, ∂ log p / ∂z, after a rotation (`varimax`) that makes each of
them change few terms much: the axes that training left are no better than any others. The end with the longer tail of
changes counts as the one that is raised: that is the topic, and the other end is mostly what is not about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from scipy import sparse

from gossamer.core.checks import check_int
from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.coherence import npmi, topic_diversity
from gossamer.models.counts.diagnostics.jacobian import log_prob_jacobian
from gossamer.models.counts.module import Decoder
from gossamer.models.counts.rotation import varimax

SYMMETRIC = 1e-9  # tails that differ by less are equal but for rounding


@dataclass(frozen=True, eq=False)
class LatentTopics:
    """Latent directions, strongest first, and the n terms at either end of each.

    `axes` (D, K) are the directions as unit vectors, at right angles: codes · axes is how far documents lie along them.
    `raised` (K, n) are the terms whose log-probability rises most along the direction, `raises` by how much per unit
    of z; `lowered` and `lowers` those that fall most, by negative numbers. `strengths` are √Σ_v p_v J_vk²: the standard
    deviation of log-probability change over words, the root of the Fisher information of z along the direction. Rare
    terms change most in logarithms and matter least here, so that the order is by what readers would notice.
    """

    axes: Float64[np.ndarray, "D K"]
    strengths: Float64[np.ndarray, " K"]
    raised: Int64[np.ndarray, "K n"]
    raises: Float64[np.ndarray, "K n"]
    lowered: Int64[np.ndarray, "K n"]
    lowers: Float64[np.ndarray, "K n"]


@torch.no_grad()
def find_topics(decoder: Decoder, n: int = 10) -> LatentTopics:
    """Return the n terms that each latent direction raises most and lowers most at z = 0; all terms where V < n."""
    check_int("n", n, at_least=1)
    slopes = log_prob_jacobian(decoder)
    probs = decoder.logits(slopes.new_zeros(1, decoder.latent_dim)).softmax(dim=1)[0].double().cpu().numpy()
    jacobian = slopes.double().cpu().numpy()
    noticed = np.sqrt(probs)[:, None]  # a change counts as often as its term is read
    axes = varimax(noticed * jacobian)
    loadings = noticed * (jacobian @ axes)
    tails = (loadings**3).sum(axis=0) / np.maximum(np.abs(loadings**3).sum(axis=0), np.finfo(float).tiny)
    axes = axes * np.where(tails < -SYMMETRIC, -1.0, 1.0)
    strengths = np.sqrt((loadings**2).sum(axis=0))
    axes = axes[:, np.argsort(-strengths, kind="stable")]
    changes = (jacobian @ axes).T
    shown = min(n, changes.shape[1])
    lowered = _smallest(changes, shown)
    raised = _smallest(-changes, shown)
    return LatentTopics(
        axes=axes,
        strengths=np.sort(strengths)[::-1].copy(),
        raised=raised,
        raises=np.take_along_axis(changes, raised, axis=1),
        lowered=lowered,
        lowers=np.take_along_axis(changes, lowered, axis=1),
    )


def topic_tables(decoder: Decoder, terms: Vocabulary, n: int = 10) -> dict[str, list[dict[str, Any]]]:
    """Return for `explain()` a table of all directions, strongest first, with up to n terms at either end.

    A term is listed as raised only if it is raised, and as lowered only if it is lowered.
    """
    _check_terms(decoder, terms)
    return {"topics": _rows(find_topics(decoder, n), terms)}


def topic_coherence(decoder: Decoder, reference: sparse.csr_array, n: int = 10) -> dict[str, float]:
    """Return the mean NPMI of the n terms that each direction raises most, and their diversity.

    `reference` are documents over the decoder's terms; a decoder of a single term has no pairs, and NaN.
    """
    topics = find_topics(decoder, n).raised
    coherence = float(npmi(topics, reference).mean()) if topics.shape[1] > 1 else float("nan")
    return {"npmi": coherence, "topic_diversity": topic_diversity(topics)}


def documented_topics(
    decoder: Decoder,
    terms: Vocabulary,
    reference: sparse.csr_array,
    codes: Float[np.ndarray, "D K"],
    names: Sequence[str],
    *,
    n: int = 10,
    num_directions: int = 10,
    num_documents: int = 3,
) -> list[dict[str, Any]]:
    """Return the strongest directions with the coherence of either end and the documents that lie farthest out there.

    `codes` are posterior means of the rows of `reference`, `names` what to call them. A document is named at an end
    only if its code lies on that side.
    """
    _check_terms(decoder, terms)
    if not len(codes) == len(names) == reference.shape[0]:
        raise ValueError(
            f"codes and names must be as many as the documents of reference, {reference.shape[0]}, "
            f"got {len(codes)} and {len(names)}"
        )
    topics = find_topics(decoder, n)
    rows = _rows(topics, terms)[: check_int("num_directions", num_directions, at_least=1)]
    has_pairs = topics.raised.shape[1] > 1 and reference.shape[0] > 0
    for row, used, *ends in zip(rows, (codes @ topics.axes).T, topics.raised, topics.lowered, strict=False):
        coherence = npmi(np.stack(ends), reference).tolist() if has_pairs else (None, None)
        row["npmi raised"], row["npmi lowered"] = coherence
        row["documents that raise"] = _farthest(used, names, num_documents)
        row["documents that lower"] = _farthest(-used, names, num_documents)
    return rows


def document_names(data: Any) -> list[str]:
    """Return what to call rows of data: their ids or else numbers from 1 on, and their class where they have one.

    >>> document_names(Counts(sparse.csr_array([[1]]), Vocabulary(["ham"]), labels=[0], label_names=["food"]))
    ['document 1 (food)']
    """
    if isinstance(data, Interactions):
        return [str(user) for user in data.users]
    count = len(data) if isinstance(data, Counts) else int(np.shape(data)[0])
    names = [f"document {row + 1}" for row in range(count)]
    if not isinstance(data, Counts):
        return names
    if data.documents is not None:
        names = [str(identifier) for identifier in data.documents]
    if data.labels is None or data.label_names is None:
        return names
    return [f"{name} ({data.label_names[label]})" for name, label in zip(names, data.labels, strict=True)]


def _rows(topics: LatentTopics, terms: Vocabulary) -> list[dict[str, Any]]:
    return [
        {
            "direction": str(row + 1),  # a name, not a quantity
            "strength": float(topics.strengths[row]),
            "raises": [str(terms[term]) for term in topics.raised[row][topics.raises[row] > 0]],
            "lowers": [str(terms[term]) for term in topics.lowered[row][topics.lowers[row] < 0]],
        }
        for row in range(len(topics.strengths))
    ]


def _smallest(values: Float[np.ndarray, "K V"], n: int) -> Int64[np.ndarray, "K n"]:
    """Return where the n smallest of each row are, smallest first, the first of equals before the others."""
    if n < values.shape[1]:
        bar = np.partition(values, n - 1, axis=1)[:, n - 1 : n]
        # Candidates only, so that a vocabulary of 50,000 is not sorted whole a hundred times.
        columns = [np.flatnonzero(row <= limit) for row, limit in zip(values, bar, strict=True)]
    else:
        columns = [np.arange(values.shape[1])] * len(values)
    chosen = [found[np.argsort(row[found], kind="stable")[:n]] for row, found in zip(values, columns, strict=True)]
    return np.array(chosen, dtype=np.int64).reshape(len(values), n)


def _farthest(used: Float[np.ndarray, " D"], names: Sequence[str], n: int) -> list[str]:
    first = np.argsort(-used, kind="stable")[:n]
    return [names[row] for row in first if used[row] > 0]


def _check_terms(decoder: Decoder, terms: Vocabulary) -> None:
    if len(terms) != len(decoder.bias):
        raise ValueError(f"terms must be the {len(decoder.bias)} terms of the decoder, got {len(terms)}")
