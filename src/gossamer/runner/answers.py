"""Recommendations for people: from a user's id, or from a list of items, to named items with scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from gossamer.core.checks import check_int
from gossamer.core.protocols import Recommender
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.runner.provenance import open_origin


def item_vocabulary(estimator: Any) -> Vocabulary:
    """Return the items a fitted recommender knows, or a ValueError for a model that recommends nothing."""
    if not isinstance(estimator, Recommender):
        raise ValueError(f"the model must recommend, which {type(estimator).__name__} does not do")
    vocabulary: Vocabulary = estimator.items_  # type: ignore[attr-defined]
    return vocabulary


def history_of_user(config: Mapping[str, Any], user: str, name: str | None = None) -> Interactions:
    """Return one user's row of the data an artifact was trained on, or of the data called `name`."""
    _, data = open_origin(config, name)
    return user_row(data, user)


def user_row(data: Interactions, user: str) -> Interactions:
    """Return one user's row; an unknown user is named."""
    return data[data.users.index_of([user], name="user")]


def history_of_items(estimator: Any, items: Sequence[str]) -> Interactions:
    """Return the row of somebody new who has `items`; an item the model does not know is named."""
    known = item_vocabulary(estimator)
    chosen = known.index_of(list(dict.fromkeys(items)), name="history item")
    return Interactions.from_pairs(["somebody"] * len(chosen), known.take(chosen).ids, item_ids=known)


def recommended(estimator: Any, history: Interactions, n: int) -> list[dict[str, Any]]:
    """Return the n best unseen items of the first row of `history`: item, score, and title where items have one."""
    known = item_vocabulary(estimator)
    check_int("n", n, at_least=1)
    best = estimator.recommend(history, n)
    titles = _titles(history)
    rows: list[dict[str, Any]] = []
    for item, score in zip(best.items[0].tolist(), best.scores[0].tolist(), strict=True):
        if item >= 0:
            row: dict[str, Any] = {"item": known[item], "score": score}
            if titles is not None:
                row["title"] = titles[int(history.items.index_of([known[item]])[0])]
            rows.append(row)
    return rows


def item_names(data: Interactions) -> list[str]:
    """Return the items of all rows for people to read: titles where items have them, else ids."""
    names = _titles(data)
    return [str(data.items[item] if names is None else names[int(item)]) for item in data.indices]


def _titles(data: Interactions) -> pl.Series | None:
    features = data.item_features
    return None if features is None or "title" not in features.columns else features["title"]
