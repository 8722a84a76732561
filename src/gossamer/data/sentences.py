"""Texts as ragged rows of token numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gossamer.data.content import (
    Rows,
    check_labels,
    check_offsets,
    fingerprint,
    ragged_take,
    read_only,
    row_numbers,
)
from gossamer.data.shown import NUM_ROWS, Shown
from gossamer.data.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Sentences(Shown):
    """Immutable ragged token ids: `tokens[offsets[i]:offsets[i + 1]]` is sentence i.

    >>> data = Sentences(np.array([0, 1, 1]), np.array([0, 1, 3]), Vocabulary(["ham", "eggs"]))
    >>> data.words(1)
    ['eggs', 'eggs']
    """

    tokens: np.ndarray
    offsets: np.ndarray
    vocabulary: Vocabulary
    labels: np.ndarray | None = None
    label_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        tokens = np.asarray(self.tokens)
        if tokens.ndim != 1 or (tokens.size and tokens.dtype.kind not in "iu"):
            raise ValueError(f"tokens must be a vector of integers, got {tokens.dtype} {tokens.shape}")
        if tokens.size and (tokens.min() < 0 or tokens.max() >= len(self.vocabulary)):
            worst = tokens.min() if tokens.min() < 0 else tokens.max()
            raise ValueError(f"tokens must lie in 0 … {len(self.vocabulary) - 1}, got {worst}")
        offsets = check_offsets("offsets", self.offsets, len(tokens))
        object.__setattr__(self, "tokens", read_only(tokens.astype(np.int32, copy=False)))
        object.__setattr__(self, "offsets", read_only(offsets))
        object.__setattr__(self, "labels", check_labels(self.labels, self.label_names, len(offsets) - 1))

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of every sentence."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Sentences({len(self):,} sentences, {len(self.tokens):,} tokens, {len(self.vocabulary):,} words)"

    def __getitem__(self, rows: Rows) -> Sentences:
        """Return a subset of the sentences, with the same vocabulary."""
        chosen = row_numbers(rows, len(self))
        offsets, positions = ragged_take(self.offsets, chosen)
        labels = None if self.labels is None else self.labels[chosen]
        return Sentences(self.tokens[positions], offsets, self.vocabulary, labels, self.label_names)

    def words(self, row: int) -> list[str | int]:
        """Return one sentence as words."""
        start, stop = self.offsets[row], self.offsets[row + 1]
        return [self.vocabulary[token] for token in self.tokens[start:stop]]

    def describe(self) -> dict[str, Any]:
        """Return the numbers a person wants to see first."""
        return {
            "sentences": len(self),
            "tokens": len(self.tokens),
            "words": len(self.vocabulary),
            "median_length": float(np.median(self.lengths)) if len(self) else 0.0,
            "longest": int(self.lengths.max(initial=0)),
            "classes": 0 if self.label_names is None else len(self.label_names),
        }

    def _first_rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for number in range(min(NUM_ROWS, len(self))):
            named = self.label_names is not None and self.labels is not None
            label = {"class": self.label_names[self.labels[number]]} if named else {}  # type: ignore[index]
            rows.append(label | {"words": " ".join(map(str, self.words(number)))})
        return rows

    def fingerprint(self) -> str:
        """Return a SHA-256 of vocabulary, tokens and labels."""
        return fingerprint(self.vocabulary, self.tokens, self.offsets, self.labels, self.label_names)
