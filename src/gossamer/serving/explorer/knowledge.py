"""One loaded model and everything that can be asked of it, worked out once."""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np

from gossamer.data.vocabulary import Vocabulary
from gossamer.serving.explorer.errors import NotKnownError
from gossamer.serving.explorer.finding import find_groups
from gossamer.serving.explorer.groups import Groups
from gossamer.serving.explorer.names import NameIndex
from gossamer.serving.explorer.projection import project
from gossamer.serving.explorer.vectors import Space, find_spaces

NUM_IN_TITLE = 3


class Knowledge:
    """The names, groups and spaces of a fitted model, each found when it is first asked for.

    Requests come in threads: whoever asks first works it out, others wait for the same answer.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.vocabularies: dict[str, Vocabulary] = dict(estimator.learned_vocabularies())
        self._lock = RLock()
        self._known: dict[Any, Any] = {}

    def _once(self, key: Any, make: Any) -> Any:
        with self._lock:
            if key not in self._known:
                self._known[key] = make()
            return self._known[key]

    @property
    def frequencies(self) -> dict[str, np.ndarray]:
        """How often names come, by vocabulary, where the model remembers it or a group's distribution implies it."""
        found: dict[str, np.ndarray] = {}
        popularity = getattr(self.estimator, "popularity_", None)
        if popularity is not None and "items" in self.vocabularies:
            found["items"] = np.asarray(popularity)
        for groups in self.groups:
            if groups.base is not None:
                found.setdefault(groups.kind, groups.base)
        return found

    @property
    def names(self) -> NameIndex:
        """All names, to search in."""
        index: NameIndex = self._once("names", lambda: NameIndex(self.vocabularies, self.frequencies))
        return index

    @property
    def groups(self) -> list[Groups]:
        """What the model sorts its names into."""
        found: list[Groups] = self._once("groups", lambda: find_groups(self.estimator, self.vocabularies))
        return found

    @property
    def spaces(self) -> dict[str, Space]:
        """Where names lie, by vocabulary."""
        found: dict[str, Space] = self._once(
            "spaces", lambda: find_spaces(self.estimator, self.vocabularies, self.groups)
        )
        return found

    def projected(self, kind: str, projection: str, rows: np.ndarray) -> np.ndarray:
        """Return the places (n, 2) of these rows of a space; the rows are always the same for a vocabulary."""
        vectors = self.spaces[kind].vectors
        places: np.ndarray = self._once(("map", kind, projection), lambda: project(vectors[rows], projection))
        return places

    def find_group_set(self, key: str) -> Groups:
        """Return groups by their key, or say which there are."""
        for groups in self.groups:
            if groups.key == key:
                return groups
        listed = ", ".join(groups.key for groups in self.groups) or "none"
        raise NotKnownError(f"This model has no groups called {key!r}; it has {listed}.")

    def index_of(self, kind: str, name: str) -> int:
        """Return the number of a name in a vocabulary, or say that it is not known."""
        vocabulary = self.vocabularies.get(kind)
        if vocabulary is None:
            raise NotKnownError(f"This model has no {kind!r:.80}; it has {', '.join(self.vocabularies) or 'no names'}.")
        index = int(vocabulary.find([name])[0])
        if index < 0:
            raise NotKnownError(f"{name[:80]!r} is not among the {len(vocabulary):,} {kind} of this model.")
        return index

    def name_of(self, kind: str, index: int) -> str:
        """Return the name behind a number."""
        return str(self.vocabularies[kind][int(index)])

    def titles(self, groups: Groups) -> list[str]:
        """Return the first members of each group, which say what it is about."""

        def make() -> list[str]:
            return [
                ", ".join(self.name_of(groups.kind, member) for member in groups.members(number, NUM_IN_TITLE))
                for number in range(len(groups))
            ]

        titles: list[str] = self._once(("titles", groups.key), make)
        return titles

    def places(self, groups: Groups) -> np.ndarray:
        """Return where the groups lie on their map (K, 2)."""
        found: np.ndarray = self._once(("places", groups.key), groups.places)
        return found
