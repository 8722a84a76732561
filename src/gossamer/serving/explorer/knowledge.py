"""One served model and everything that can be asked of it, worked out once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from threading import Lock, RLock
from typing import Any, TypeVar

import numpy as np

from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.size import count_bytes, count_values
from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.drawing import Drawing, draw
from gossamer.serving.explorer.finding import find_groups
from gossamer.serving.explorer.groups import Groups
from gossamer.serving.explorer.names import NameIndex
from gossamer.serving.explorer.projection import project
from gossamer.serving.explorer.vectors import Ask, Space, ask_directly, find_spaces
from gossamer.serving.loading import LoadedModel

NUM_IN_TITLE = 3
TITLE_RELEVANCE = 0.3  # a title tells groups apart, so it names what is special

Answer = TypeVar("Answer")


class Knowledge:
    """The names, groups and spaces of a served model, each found when it is first asked for.

    Requests come in threads: whoever asks first works an answer out, others wait for the same one. `ask` runs what
    calls the model itself, which takes one caller at a time.
    """

    def __init__(self, model: LoadedModel, ask: Ask = ask_directly) -> None:
        self.model = model
        self.estimator = model.estimator
        self.ask = ask
        self._own: Mapping[str, Vocabulary] = model.estimator.learned_vocabularies()
        self.vocabularies = _vocabularies(model, self._own)
        self._locks: dict[Any, RLock] = {}
        self._finding_lock = Lock()
        self._known: dict[Any, Any] = {}

    def _once(self, key: Any, make: Callable[[], Answer]) -> Answer:
        with self._finding_lock:  # else two that ask first could each have a lock of their own
            lock = self._locks.setdefault(key, RLock())
        with lock:
            if key not in self._known:
                self._known[key] = make()
            found: Answer = self._known[key]
            return found

    @property
    def config(self) -> Mapping[str, Any]:
        """What config.json says of the model."""
        return self.model.config

    @property
    def histories(self) -> Interactions | None:
        """What the users of the training data had, where the service was told to open them."""
        return self.model.histories

    @property
    def size(self) -> tuple[int, int]:
        """How many values, and bytes, the model stores."""

        def make() -> tuple[int, int]:
            stored = self.ask(self.estimator.learned_arrays)
            return count_values(stored), count_bytes(stored)

        return self._once("size", make)

    @property
    def frequencies(self) -> dict[str, np.ndarray]:
        """How often names come, by vocabulary, where the model remembers it or a group's distribution implies it."""
        return self._once("frequencies", self._count)

    def _count(self) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        popularity = getattr(self.estimator, "popularity_", None)
        if popularity is not None and "items" in self.vocabularies:
            found["items"] = np.asarray(popularity)
        for groups in self.groups:
            if groups.probs is not None and groups.base is not None:
                found.setdefault(groups.kind, groups.base)
        return found

    @property
    def names(self) -> NameIndex:
        """All names, to search in."""
        return self._once("names", lambda: NameIndex(self.vocabularies, self.frequencies))

    @property
    def groups(self) -> list[Groups]:
        """What the model sorts its names into."""
        return self._once("groups", lambda: self.ask(lambda: find_groups(self.estimator, self.vocabularies)))

    def drawing(self, part: int) -> Drawing:
        """Return how the model computes its answer, as a graph, of which long ones have several parts."""

        def make() -> Drawing:
            drawn: Drawing = self.ask(lambda: draw(self.estimator, part))
            return drawn

        return self._once(("drawing", part), make)

    @property
    def spaces(self) -> dict[str, Space]:
        """Where names lie, by vocabulary."""
        groups = self.groups
        return self._once("spaces", lambda: find_spaces(self.estimator, self.vocabularies, groups, self.ask))

    def projected(self, kind: str, projection: str, rows: np.ndarray, num_axes: int = 2) -> np.ndarray:
        """Return the places (n, num_axes) of these rows of a space; the rows are always the same for a vocabulary."""
        vectors = self.spaces[kind].vectors
        return self._once(("map", kind, projection, num_axes), lambda: project(vectors[rows], projection, num_axes))

    def find_group_set(self, key: str) -> Groups:
        """Return groups by their key, or say which there are."""
        for groups in self.groups:
            if groups.key == key:
                return groups
        listed = ", ".join(groups.key for groups in self.groups) or "none"
        raise NotFound(f"This model has no groups called {key[:80]!r}; it has {listed}.")

    def index_of(self, kind: str, name: str) -> int:
        """Return the number of a name in a vocabulary, or say that it is not known."""
        vocabulary = self.vocabularies.get(kind)
        if vocabulary is None:
            raise NotFound(f"This model has no {kind[:80]!r}; it has {', '.join(self.vocabularies) or 'no names'}.")
        index = int(vocabulary.find([name])[0])
        if index < 0 and vocabulary is not self._own.get(kind, vocabulary):
            index = int(self._own[kind].find([name])[0])  # the model's own tables have ids, not titles
        if index < 0:
            raise NotFound(f"{name[:80]!r} is not among the {len(vocabulary):,} {kind} of this model.")
        return index

    def name_of(self, kind: str, index: int) -> str:
        """Return the name behind a number."""
        return str(self.vocabularies[kind][int(index)])

    def titles(self, groups: Groups) -> list[str]:
        """Return the first members of each group, which say what it is about."""

        def make() -> list[str]:
            members = [groups.members(number, NUM_IN_TITLE, TITLE_RELEVANCE) for number in range(len(groups))]
            return [", ".join(self.name_of(groups.kind, member) for member in some) for some in members]

        return self._once(("titles", groups.key), make)

    def salience(self, groups: Groups) -> np.ndarray | None:
        """Return how much each name tells about the groups (V,); None where weights are no shares."""
        return self._once(("salience", groups.key), groups.salience)

    def places(self, groups: Groups) -> np.ndarray:
        """Return where the groups lie on their map (K, 2)."""
        return self._once(("places", groups.key), groups.places)


def _vocabularies(model: LoadedModel, own: Mapping[str, Vocabulary]) -> dict[str, Vocabulary]:
    """Return what has names, people's names for items where the training data tell them."""
    found = dict(own)
    if model.histories is not None:
        found.setdefault("users", model.histories.users)
        if model.titles is not None and "items" in found and len(model.titles) == len(found["items"]):
            found["items"] = _titled(found["items"], [str(title) for title in model.titles])
    return found


def _titled(items: Vocabulary, titles: list[str]) -> Vocabulary:
    """Return titles as ids, with the item's own id behind a title that several items have.

    >>> list(_titled(Vocabulary([7, 8, 9]), ["Heat", "Alien", "Heat"]))
    ['Heat (7)', 'Alien', 'Heat (9)']
    """
    counts: dict[str, int] = defaultdict(int)
    for title in titles:
        counts[title] += 1
    named = [title if counts[title] == 1 else f"{title} ({item})" for title, item in zip(titles, items, strict=True)]
    return items if len(set(named)) < len(named) else Vocabulary(named)
