"""Many questions for items answered by one call of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gossamer.core.protocols import Recommendations
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.loading import LoadedModel
from gossamer.serving.names import Id, Names

History = Sequence[Id] | Mapping[Id, float]


@dataclass(frozen=True)
class Wanted:
    """A question, its ids looked up: the row of a known user, or places of items and their ratings."""

    n: int
    exclude_seen: bool
    row: int | None
    ratings: dict[int, float]
    unknown: list[Id]

    @property
    def is_cold(self) -> bool:
        """Whether nothing is known that the model could go by."""
        return self.row is None and not self.ratings


def items_of(model: LoadedModel) -> Names:
    """Return the items of a recommender, or say that the model is none."""
    if "recommend" not in model.questions or model.names is None:
        raise CannotAnswer(f"the model must recommend, which {model.name!r} ({model.kind}) does not do")
    return model.names


def look_up(model: LoadedModel, user: Id | None, history: History | None, n: int, exclude_seen: bool = True) -> Wanted:
    """Look ids up: a history that is given counts, not what the user had in training; unknown ids are noted."""
    items = items_of(model)
    if history is None:
        row = -1 if user is None or model.users is None else model.users.find(user)
        is_unknown = user is not None and row < 0
        return Wanted(n, exclude_seen, row if row >= 0 else None, {}, [user] if is_unknown else [])  # type: ignore[list-item]
    known, unknown = items.split(history)
    ratings = history if isinstance(history, Mapping) else None
    return Wanted(
        n,
        exclude_seen,
        None,
        {place: 1.0 if ratings is None else float(ratings[identifier]) for place, identifier in known.items()},
        unknown,
    )


def recommend_all(model: LoadedModel, wanted: Sequence[Wanted]) -> list[dict[str, Any]]:
    """Answer all questions to one model, with as few calls of it as their kinds allow."""
    answers: list[dict[str, Any]] = [{}] * len(wanted)
    groups: dict[tuple[bool, bool], list[int]] = {}
    for place, question in enumerate(wanted):
        groups.setdefault((question.exclude_seen, question.row is not None), []).append(place)
    for (exclude_seen, are_users), places in groups.items():
        questions = [wanted[place] for place in places]
        n = min(max(question.n for question in questions), len(items_of(model)))
        if are_users:
            best = _ask_users(model, questions, n, exclude_seen)
        else:
            best = ask_strangers(model, [question.ratings for question in questions], n, exclude_seen)
        items, scores = best.items.tolist(), best.scores.tolist()
        for place, question, chosen, values in zip(places, questions, items, scores, strict=True):
            answers[place] = _answer(model, question, chosen[: question.n], values[: question.n])
    return answers


def _ask_users(model: LoadedModel, questions: Sequence[Wanted], n: int, exclude_seen: bool) -> Recommendations:
    """Ask for users of the training data, with all that these say of them; each once, because users are unique."""
    assert model.histories is not None
    rows, places = np.unique([question.row for question in questions], return_inverse=True)
    best = model.estimator.recommend(model.histories[rows], n, exclude_seen=exclude_seen)
    return Recommendations(best.items[places], best.scores[places])


def ask_strangers(
    model: LoadedModel, histories: Sequence[dict[int, float]], n: int, exclude_seen: bool
) -> Recommendations:
    """Ask for people of whom only ratings of items, by their places, are known."""
    indptr = np.zeros(len(histories) + 1, dtype=np.int64)
    np.cumsum([len(history) for history in histories], out=indptr[1:])
    pairs = [pair for history in histories for pair in sorted(history.items())]
    data = Interactions(
        # Names that nobody has: some models would take a number, or a word, for a user they know.
        Vocabulary([f"\0{number}" for number in range(len(histories))]),
        model.estimator.items_,
        indptr,
        np.array([place for place, _ in pairs], dtype=np.int32),
        rating=np.array([rating for _, rating in pairs], dtype=np.float32),
    )
    answer: Recommendations = model.estimator.recommend(data, n, exclude_seen=exclude_seen)
    return answer


def _answer(model: LoadedModel, question: Wanted, places: list[int], scores: list[float]) -> dict[str, Any]:
    assert model.names is not None
    names, titles = model.names.ids, model.titles
    items: list[dict[str, Any]] = []
    for place, score in zip(places, scores, strict=True):
        if place >= 0:
            items.append({"item": names[place], "score": score})
            if titles is not None:
                items[-1]["title"] = titles[place]
    if question.is_cold and not items:
        raise NotFound(f"{model.name!r} has nothing for somebody of whom nothing is known; give items of a history")
    return {"model": model.name, "items": items, "cold_start": question.is_cold, "unknown": question.unknown}
