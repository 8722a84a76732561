"""Recommendations for people: from a user's id, or from a list of items, to named items with scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from gossamer.core.checks import check_int
from gossamer.core.protocols import Recommender
from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.runner.provenance import open_origin


def item_vocabulary(estimator: Any) -> Vocabulary:
    """Return the items a fitted recommender knows, or a ValueError for a model that recommends nothing."""
    if not isinstance(estimator, Recommender):
        raise ValueError(f"the model must recommend, which {type(estimator).__name__} does not do")
    vocabulary: Vocabulary = estimator.items_  # type: ignore[attr-defined]
    return vocabulary


def history_of_user(
    config: Mapping[str, Any], user: str, name: str | None = None, terms: Vocabulary | None = None
) -> Interactions | Counts:
    """Return one user's row, or one document, of the data an artifact was trained on, or of the data called `name`."""
    _, data = open_origin(config, name, terms)
    return user_row(data, user) if isinstance(data, Interactions) else document_row(data, user)


def user_row(data: Interactions, user: str) -> Interactions:
    """Return one user's row; an unknown user is named."""
    return data[data.users.index_of([user], name="user")]


def document_row(data: Any, document: str) -> Counts:
    """Return one document of Counts by its id; where documents have none, say what to do instead."""
    if not isinstance(data, Counts) or data.documents is None:
        raise ValueError(
            f"user must be left out for data whose rows have no names, got {document!r}; give items of the history"
        )
    return data[data.documents.index_of([document], name="user")]


def history_of_items(estimator: Any, items: Sequence[str]) -> Interactions:
    """Return the row of somebody new who has `items`; an item the model does not know is named."""
    known = item_vocabulary(estimator)
    chosen = known.index_of(list(dict.fromkeys(items)), name="history item")
    return Interactions.from_pairs(["somebody"] * len(chosen), known.take(chosen).ids, item_ids=known)


def recommended(estimator: Any, history: Interactions | Counts, n: int) -> list[dict[str, Any]]:
    """Return the n best unseen items of the first row of `history`: item, score, and title where items have one."""
    known = item_vocabulary(estimator)
    check_int("n", n, at_least=1)
    best = estimator.recommend(history, n)
    titles = _titles(history)
    rows: list[dict[str, Any]] = []
    for item, score in zip(best.items[0].tolist(), best.scores[0].tolist(), strict=True):
        if item >= 0:
            row: dict[str, Any] = {"item": known[item], "score": score}
            if titles is not None and isinstance(history, Interactions):
                row["title"] = titles[int(history.items.index_of([known[item]])[0])]
            rows.append(row)
    return rows


def item_names(data: Interactions) -> list[str]:
    """Return the items of all rows for people to read: titles where items have them, else ids."""
    names = _titles(data)
    return [str(data.items[item] if names is None else names[int(item)]) for item in data.indices]


def _titles(data: Interactions | Counts) -> pl.Series | None:
    features = data.item_features if isinstance(data, Interactions) else None
    return None if features is None or "title" not in features.columns else features["title"]
