"""Raw texts with a class each, and the three forms in which the text sets hand them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gossamer.core.checks import check_choice
from gossamer.data import Counts, Sentences
from gossamer.data.readers import build_sentences, count_words, split_words

FORMS = ("sentences", "counts", "texts")
MAX_WORDS = 20_000
MAX_TERMS = 2_000


@dataclass(frozen=True)
class LabelledTexts:
    """Texts as they were published, with class numbers and class names."""

    texts: tuple[str, ...]
    labels: np.ndarray
    label_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


def in_form(
    form: str, wanted: LabelledTexts, train: LabelledTexts, *, max_words: int | None = MAX_WORDS, min_count: int = 1
) -> LabelledTexts | Sentences | Counts:
    """Return `wanted` as texts, sentences or counts; the vocabulary comes from `train`, so that parts share it.

    Sentences keep the `max_words` most frequent words (None: all of them) that occur at least `min_count` times, the
    others become `<unk>`; counts keep the 2,000 most frequent.
    """
    check_choice("form", form, FORMS)
    if form == "texts":
        return wanted
    if form == "counts":
        terms = count_words(train.texts, max_terms=MAX_TERMS).terms
        counts = count_words(wanted.texts, vocabulary=terms)
        return replace(counts, labels=wanted.labels, label_names=wanted.label_names)
    sentences = build_sentences(train.texts, max_words=max_words, min_count=min_count, tokenizer=split_words)
    if wanted is not train:
        sentences = build_sentences(wanted.texts, vocabulary=sentences.vocabulary, tokenizer=split_words)
    return replace(sentences, labels=wanted.labels, label_names=wanted.label_names)


def numbered_labels(labels: Sequence[int], first: int, names: Sequence[str], place: object) -> np.ndarray:
    """Return class numbers counted from 0, checked against the class names."""
    numbers = np.asarray(labels, dtype=np.int64) - first
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(names)):
        raise ValueError(f"{place} must have classes {first} … {first + len(names) - 1}, got others")
    return numbers.astype(np.int32)
