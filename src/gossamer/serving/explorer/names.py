"""Finding names by a part of them, fast enough to answer while a person types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from gossamer.core.checks import check_int
from gossamer.data.vocabulary import Vocabulary

MOST_LETTERS = 200  # of a query; longer ones are no names
NO_WORD = r"[^\p{L}\p{N}]"


@dataclass(frozen=True)
class Hit:
    """A name that was found, and the vocabulary it is of: items, users, words …"""

    kind: str
    name: str


@dataclass(frozen=True)
class Found:
    """The best hits of a search, and how many there are in all."""

    hits: list[Hit]
    total: int


class NameIndex:
    """All names of a model, in lower case once and for all.

    `frequencies`, by vocabulary, decide among names that match equally well; without them short names come first.

    >>> NameIndex({"items": Vocabulary(["json.dumps", "os.path", "json"])}).search("JSON").hits[0]
    Hit(kind='items', name='json')
    """

    def __init__(
        self, vocabularies: Mapping[str, Vocabulary], frequencies: Mapping[str, np.ndarray] | None = None
    ) -> None:
        self._names = {kind: vocabulary.ids.cast(pl.String) for kind, vocabulary in vocabularies.items()}
        self._lower = {kind: names.str.to_lowercase() for kind, names in self._names.items()}
        self._frequencies = dict(frequencies or {})

    def search(self, query: str, n: int = 20) -> Found:
        """Return the n names that match best: equal, beginning with the query, with a word that does, containing it."""
        check_int("n", n, at_least=1)
        wanted = query.strip().lower()[:MOST_LETTERS]
        if not wanted:
            return Found([], 0)
        candidates: list[tuple[tuple[int, float, int, int], Hit]] = []
        total = 0
        for kind in self._names:
            rows = np.flatnonzero(self._lower[kind].str.contains(wanted, literal=True).to_numpy())
            total += len(rows)
            candidates += self._best(kind, rows, wanted, n)
        candidates.sort(key=lambda candidate: candidate[0])
        return Found([hit for _, hit in candidates[:n]], total)

    def _best(self, kind: str, rows: np.ndarray, wanted: str, n: int) -> list[tuple[tuple[int, float, int, int], Hit]]:
        """Return the n best of the rows that match, each with what it is ordered by."""
        if not len(rows):
            return []
        names = self._lower[kind].gather(rows)
        # A word begins after anything that is neither a letter nor a digit; what is wanted may have several.
        padded = " " + names.str.replace_all(NO_WORD, " ")
        begun = " " + pl.Series([wanted]).str.replace_all(NO_WORD, " ").item()
        starts_word = padded.str.contains(begun, literal=True).to_numpy()
        starts = names.str.starts_with(wanted).to_numpy()
        grade = np.select([(names == wanted).to_numpy(), starts, starts_word], [0, 1, 2], 3)
        counts = self._frequencies.get(kind)
        rarity = np.zeros(len(rows)) if counts is None else -np.asarray(counts, dtype=np.float64)[rows]
        lengths = names.str.len_chars().to_numpy()
        order = np.lexsort((rows, lengths, rarity, grade))[:n]
        return [
            (
                (int(grade[place]), float(rarity[place]), int(lengths[place]), int(rows[place])),
                Hit(kind, str(self._names[kind][int(rows[place])])),
            )
            for place in order
        ]
