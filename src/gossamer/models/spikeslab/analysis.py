"""What dimensions mean and what classes share: section 4.4 of the paper, on any codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

from gossamer.data.sentences import Sentences

TOP_SHARE = 0.1  # of the sentences speak for a dimension: those where it is farthest from 0


def class_patterns(
    is_off: Bool[np.ndarray, "N D"] | Float[np.ndarray, "N D"], labels: Int[np.ndarray, " N"], num_classes: int
) -> Float64[np.ndarray, "C D"]:
    """Return γ_class: in which share of a class's sentences each dimension is off; NaN for a class without sentences.

    Probabilities of being off, in the place of yes or no, give their means.

    >>> class_patterns(np.array([[True, False], [True, True]]), np.array([0, 0]), 1).tolist()
    [[1.0, 0.5]]
    """
    counts = np.bincount(labels, minlength=num_classes)[:, None]
    sums = np.zeros((num_classes, is_off.shape[1]))
    np.add.at(sums, labels, is_off)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def pattern_spread(patterns: Float[np.ndarray, "C D"]) -> float:
    """Return how clearly γ_class tells classes apart: the standard deviation over classes, mean over dimensions.

    >>> pattern_spread(np.array([[1.0, 0.5], [0.0, 0.5]]))
    0.25
    """
    return float(np.nanstd(patterns, axis=0).mean())


def class_word_kl(data: Sentences) -> Float64[np.ndarray, "C C"]:
    """Return KL(words of class i ‖ words of class j) in nats, with add-one smoothed frequencies (section 4.4.1)."""
    if data.labels is None or data.label_names is None:
        raise ValueError("data must have a label for each sentence, got none")
    num_words = len(data.vocabulary)
    owner = np.repeat(data.labels.astype(np.int64), data.lengths)
    counts = np.bincount(owner * num_words + data.tokens, minlength=len(data.label_names) * num_words)
    probs = counts.reshape(-1, num_words) + 1.0
    probs /= probs.sum(axis=1, keepdims=True)
    log_probs = np.log(probs)
    divergence: np.ndarray = (probs * log_probs).sum(axis=1)[:, None] - probs @ log_probs.T
    return divergence.clip(min=0)  # rounding below 0


def class_measures(off_probs: Float[np.ndarray, "N D"], data: Sentences) -> dict[str, float]:
    """Return how clearly classes differ in their gates, and in their words: the question of section 4.4 in numbers.

    `pattern_spread` is that of γ_class as printed, binarised at one half; `gate_spread` that of E[γ] itself, which is
    not zero where no gate is decided; `class_word_kl` the mean over pairs of different classes;
    `kl_gate_correlation` says whether pairs with a larger KL have gates that differ more.
    """
    divergence = class_word_kl(data)
    between = divergence[~np.eye(len(divergence), dtype=bool)]
    assert data.labels is not None
    binarised = class_patterns(off_probs >= 0.5, data.labels, len(divergence))
    gates = class_patterns(off_probs, data.labels, len(divergence))
    return {
        "pattern_spread": pattern_spread(binarised),
        "gate_spread": pattern_spread(gates),
        "class_word_kl": float(between.mean()) if between.size else 0.0,
        "kl_gate_correlation": kl_gate_correlation(divergence, gates),
    }


def kl_gate_correlation(divergence: Float[np.ndarray, "C C"], patterns: Float[np.ndarray, "C D"]) -> float:
    """Return the rank correlation, over pairs of classes, of the KL of their words and the distance of their patterns.

    KLs are averaged over both directions, distances are the mean absolute difference over dimensions. 0 where there is
    nothing to rank: fewer than three classes, or gates that are alike in all.

    >>> kl_gate_correlation(np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0.0]]), np.array([[0.0], [0.1], [0.9]]))
    1.0
    """
    first, second = np.triu_indices(len(divergence), k=1)
    far = (divergence + divergence.T)[first, second]
    apart = np.abs(patterns[first] - patterns[second]).mean(axis=1)
    known = np.isfinite(apart)
    if known.sum() < 3 or np.ptp(far[known]) == 0 or np.ptp(apart[known]) == 0:
        return 0.0
    ranks = np.stack([_average_ranks(far[known]), _average_ranks(apart[known])])
    return float(np.corrcoef(ranks)[0, 1])


def _average_ranks(values: Float[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
    """Return ranks from 0, equal values sharing the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (np.cumsum(counts) - (counts + 1) / 2)[places]
    return ranks


def words_of_dimensions(
    codes: Float[np.ndarray, "N D"], is_off: Bool[np.ndarray, "N D"], data: Sentences, num_words: int = 8
) -> list[dict[str, Any]]:
    """Return, for each dimension, how often it is on and the words that its own sentences have more than others.

    Its own are the tenth where it is on and farthest from 0; words are ranked by the log ratio of add-one smoothed
    frequencies inside and outside. A dimension that is never on has no words.
    """
    size = len(data.vocabulary)
    owner = np.repeat(np.arange(len(data)), data.lengths)
    total = np.bincount(data.tokens, minlength=size).astype(np.float64)
    strength = np.where(is_off, 0.0, np.abs(codes))
    num_top = max(1, round(TOP_SHARE * len(data)))
    tables = []
    for dimension in range(codes.shape[1]):
        top = np.argsort(-strength[:, dimension], kind="stable")[:num_top]
        is_top = np.zeros(len(data), dtype=bool)
        is_top[top[strength[top, dimension] > 0]] = True
        inside = np.bincount(data.tokens[is_top[owner]], minlength=size)
        outside = total - inside
        lift = np.log((inside + 1) / (inside.sum() + size)) - np.log((outside + 1) / (outside.sum() + size))
        # A word that is inside once has a lift by chance: what it adds to the inside counts, too.
        best = np.argsort(-(inside * lift), kind="stable")[:num_words]
        named = [str(data.vocabulary[word]) for word in best if inside[word] > 0 and lift[word] > 0]
        share = float((~is_off[:, dimension]).mean())
        tables.append({"dimension": dimension, "on in": round(share, 4), "words": ", ".join(named)})
    return tables


def top_sentences(
    codes: Float[np.ndarray, "N D"], is_off: Bool[np.ndarray, "N D"], data: Sentences, dimension: int, n: int = 5
) -> list[dict[str, Any]]:
    """Return the sentences where a dimension is on and farthest from 0, with its value, farthest first."""
    strength = np.where(is_off[:, dimension], 0.0, np.abs(codes[:, dimension]))
    best = [row for row in np.argsort(-strength, kind="stable")[:n] if strength[row] > 0]
    return [
        {"value": round(float(codes[row, dimension]), 4), "sentence": " ".join(map(str, data.words(int(row))))}
        for row in best
    ]
