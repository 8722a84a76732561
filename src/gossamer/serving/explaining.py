"""Why: what a model has learned, what it makes of one of its users, and which items of a history speak for another."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.loading import LoadedModel
from gossamer.serving.names import Id
from gossamer.serving.recommending import History, ask_strangers, items_of, look_up

MOST_LEFT_OUT = 50  # items of a history, the first ones, that are left out in turn
MOST_SCORES = 5_000_000  # of all items after all these histories, that are held at once


def explain(model: LoadedModel, n: int = 10, user: Id | None = None) -> dict[str, Any]:
    """Return the tables of the model, or of one user of the training data where the model can tell."""
    if "explain" not in model.questions:
        raise CannotAnswer(f"the model must explain itself, which {model.name!r} ({model.kind}) does not do")
    if user is None:
        return {"model": model.name, "tables": plain(model.estimator.explain(n))}
    if "user" not in inspect.signature(model.estimator.explain).parameters:
        raise CannotAnswer(f"user must be left out for {model.name!r} ({model.kind}); give a history and an item")
    return {"model": model.name, "tables": plain(model.estimator.explain(n, user=_known_user(model, user)))}


def _known_user(model: LoadedModel, user: Id) -> Id:
    """Return the id as the model has it; only a user whom it does not know is not found."""
    users = model.own_users
    if users is None:
        return user
    place = users.find(user)
    if place < 0:
        raise NotFound(f"user must be one of the {len(users)} known ones, got {user!r:.120}")
    return users[place]


def speakers(model: LoadedModel, history: History, item: Id, n: int = 10) -> dict[str, Any]:
    """Return by how much the score of `item` falls when an item of the history is left out, the loudest first."""
    items = items_of(model)
    place = items.find(item)
    if place < 0:
        raise NotFound(f"item must be one of the {len(items)} that {model.name!r} knows, got {item!r:.120}")
    whole = look_up(model, None, history, n=len(items), exclude_seen=False)
    if whole.is_cold:
        raise NotFound(f"history must have an item that {model.name!r} knows, got {len(whole.unknown)} unknown ones")
    left_out = list(whole.ratings)[: max(1, min(MOST_LEFT_OUT, MOST_SCORES // len(items)))]
    variants = [{place: rating for place, rating in whole.ratings.items() if place != other} for other in left_out]
    score, *scores = _scores(model, [whole.ratings, *variants], place)
    # Without its only item a history is a stranger's, whose scores are popularity: then that item says it all.
    adds = np.array([score - other if variant else score for variant, other in zip(variants, scores, strict=True)])
    loudest = np.argsort(-np.abs(adds), kind="stable")[:n]
    table = [{"item": items[left_out[number]], "adds": float(adds[number])} for number in loudest]
    tables = {"score": [{"item": items[place], "score": score}], "items of the history that speak for it": table}
    return {"model": model.name, "tables": plain(tables)}


def _scores(model: LoadedModel, histories: Sequence[dict[int, float]], item: int) -> list[float]:
    """Return the score of one item after each history: a recommender ranks, so it is looked for in whole lists."""
    assert model.names is not None
    whole = ask_strangers(model, histories, len(model.names), exclude_seen=False)
    found = whole.items == item
    return [float(scores[there].sum()) for scores, there in zip(whole.scores, found, strict=True)]


def plain(value: Any) -> Any:
    """Return tables as JSON has them: numpy's numbers as Python's, and null for what is not finite.

    >>> plain({"share": np.float32(0.5), "error": float("nan"), "ends": ("ham", 3)})
    {'share': 0.5, 'error': None, 'ends': ['ham', 3]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return [plain(element) for element in value]
    return value if isinstance(value, str | int | bool | None) else str(value)
