"""Where names lie: one vector per item, word or user, found by what a model offers, and what is near."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from gossamer.core.checks import check_choice
from gossamer.core.protocols import ItemGraph, ItemSpace
from gossamer.data.vocabulary import Vocabulary
from gossamer.serving.explorer.finding import tables_of
from gossamer.serving.explorer.groups import Groups, largest
from gossamer.serving.explorer.projection import sketch, unit_rows
from gossamer.serving.names import vocabulary_of

MEASURES = ("cosine", "euclidean")
Ask: TypeAlias = Callable[[Callable[[], Any]], Any]


def ask_directly(question: Callable[[], Any]) -> Any:
    """Put a question to a model that nobody else is asking."""
    return question()


@dataclass(frozen=True, eq=False)
class Space:
    """One vector (V, D) per name of the vocabulary `kind`, and in words what they are.

    `votes`, where an item model has them, gives what a name speaks for (V,): those are its neighbours then.
    """

    kind: str
    meaning: str
    vectors: np.ndarray
    votes: Callable[[int], np.ndarray] | None = None

    @property
    def measure(self) -> str:
        """What the numbers beside neighbours are."""
        return "cosine" if self.votes is None else "weight"

    @property
    def measures(self) -> tuple[str, ...]:
        """By what neighbours can be asked for, the usual one first."""
        return MEASURES if self.votes is None else ("weight", *MEASURES)

    @cached_property
    def _unit(self) -> np.ndarray:
        return unit_rows(self.vectors)

    def nearest(self, index: int, n: int = 10, measure: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the names nearest to one, and how near by `measure`; without itself, and of votes only those above 0.

        A cosine or a weight is large where names are near, a euclidean distance small.
        """
        measure = self.measure if measure is None else check_choice("measure", measure, self.measures)
        if measure == "euclidean":
            scores = -np.linalg.norm(self.vectors - self.vectors[index], axis=1)
        elif measure == "cosine" or self.votes is None:
            scores = self._unit @ self._unit[index]
        else:
            scores = np.array(self.votes(index))
        scores[index] = -np.inf
        best = largest(scores, n)
        best = best[scores[best] > (0 if measure == "weight" else -np.inf)]
        return best, (-scores[best] if measure == "euclidean" else scores[best])


def find_spaces(
    estimator: Any, vocabularies: Mapping[str, Vocabulary], groups: Sequence[Groups], ask: Ask = ask_directly
) -> dict[str, Space]:
    """Return the best space of each vocabulary: learned vectors, votes between items, or what groups do to names.

    `ask` runs what calls the model; what takes long is done with its numbers afterwards, when others may ask again.
    """
    spaces = _item_space(estimator, vocabularies, ask)
    users = getattr(estimator, "user_vectors_", None)
    if users is not None and len(users) == len(vocabularies.get("users", ())):
        spaces["users"] = Space("users", "the vectors that the model has learned for users", np.asarray(users))
    for kind, table in tables_of(estimator, vocabularies):
        if kind not in spaces:
            spaces[kind] = Space(kind, f"the model's table of {kind}", ask(partial(_rows_of, table)))
    for one in groups:
        if one.kind not in spaces:
            dense = one.weights if isinstance(one.weights, np.ndarray) else sketch(one.weights)
            spaces[one.kind] = Space(one.kind, f"how strongly {one.kind} belong to each {one.noun}", dense)
    return {kind: space for kind, space in spaces.items() if space.vectors.shape[1] > 0}


def _rows_of(table: Any) -> np.ndarray:
    rows: np.ndarray = table.weight.detach().cpu().numpy()
    return rows


def _item_space(estimator: Any, vocabularies: Mapping[str, Vocabulary], ask: Ask) -> dict[str, Space]:
    """Return the space of what the model knows by name, as the service's `/similar` sees it."""
    main = vocabulary_of(estimator)
    kind = next((kind for kind in ("items", "words", "terms") if kind in vocabularies), None)
    if main is None or kind is None or len(main) != len(vocabularies[kind]):
        return {}
    if isinstance(estimator, ItemGraph):
        meaning = f"what each of the {kind} adds to the scores of all others"
        graph = ask(lambda: _graph(estimator, len(main)))
        return {kind: Space(kind, meaning, sketch(graph), lambda item: ask(lambda: estimator.item_weights(item)))}
    if isinstance(estimator, ItemSpace):
        vectors = np.asarray(ask(estimator.item_vectors))
        return {kind: Space(kind, f"the vectors that the model has learned for {kind}", vectors)}
    return {}


def _graph(estimator: Any, count: int) -> Any:
    """Return all weights between items: as the model holds them, or asked for row by row."""
    held = getattr(estimator, "weights_", None)
    if getattr(held, "shape", None) == (count, count):
        return held
    return np.stack([estimator.item_weights(item) for item in range(count)])
