"""What there is to show of the sparse codes of sentences: what dimensions mean, and what classes share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gossamer.data.sentences import Sentences
from gossamer.models.spikeslab.analysis import class_word_kl, pattern_spread, top_sentences

NUM_SENTENCES, NUM_REBUILT, NUM_DIMENSIONS, NUM_SPEAKERS = 2000, 6, 16, 2


def reads_sentences(model: Any) -> bool:
    """Say whether a model turns sentences into codes and codes into sentences."""
    return all(callable(getattr(model, name, None)) for name in ("class_patterns", "transform", "reconstruct"))


def sentence_coder(model: Any) -> Any | None:
    """Return what turns sentences into codes: the model, or the fitted VAE whose codes it probes; None where none does.

    >>> sentence_coder(object()) is None
    True
    """
    if reads_sentences(model):
        return model
    inner = getattr(model, "vae_", None)  # an end-to-end classifier has one that was never fitted
    return inner if reads_sentences(inner) and hasattr(inner, "network_") else None


def find_sentence_codes(model: Any, data: Any) -> dict[str, Any]:
    """Return what `report.codes.codes_section` shows, from at most `NUM_SENTENCES` sentences evenly spread over `data`.

    What dimensions mean in words is told by the model's `explain`; here are the sentences that speak for them.
    Of labelled sentences there are the patterns of section 4.4 of the HSVAE paper (in which share of a class's
    sentences a dimension is off, and how far classes differ in it) and the divergence of the classes' words.
    """
    if not isinstance(data, Sentences) or len(data) == 0:
        return {}
    shown = data[np.unique(np.linspace(0, len(data) - 1, NUM_SENTENCES).astype(np.int64))]
    codes = sparse.csr_array(model.transform(shown))
    often = model.explain(NUM_DIMENSIONS)["dimensions"]
    first = shown[:NUM_REBUILT]
    rebuilt = model.reconstruct(first)
    found: dict[str, Any] = {
        "codes": codes,
        "labels": shown.labels,
        "label_names": shown.label_names,
        "dimension_sentences": _speakers(codes, shown, [row["dimension"] for row in often]),
        "sentences": [" ".join(map(str, first.words(row))) for row in range(len(first))],
        "rebuilt_sentences": [" ".join(map(str, rebuilt.words(row))) for row in range(len(rebuilt))],
    }
    if shown.labels is None:
        return found
    patterns = model.class_patterns(shown)
    return found | {
        "patterns": patterns,
        "pattern_spread": pattern_spread(patterns),
        "class_word_kl": class_word_kl(shown),
    }


def _speakers(codes: sparse.csr_array, shown: Sentences, dimensions: list[int]) -> list[dict[str, Any]]:
    """Return the sentences where each dimension is farthest from 0, with its value there."""
    dense = codes.toarray()
    return [
        {"dimension": str(dimension), **row}
        for dimension in dimensions
        for row in top_sentences(dense, dense == 0, shown, dimension, NUM_SPEAKERS)
    ]
