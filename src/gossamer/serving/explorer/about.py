"""What a model knows about one name: neighbours, groups, code, and what it would recommend."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from gossamer.core.checks import check_int
from gossamer.core.protocols import Predictor, Recommender, Transformer
from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.serving.errors import NotFound
from gossamer.serving.explaining import plain
from gossamer.serving.explorer.groups import Groups, largest
from gossamer.serving.explorer.knowledge import Knowledge

NUM_SHOWN = 10


@dataclass(frozen=True)
class Scored:
    """A name and a number beside it."""

    kind: str
    name: str
    score: float


@dataclass(frozen=True)
class Ranking:
    """Names, best first, under a heading, with what the numbers mean."""

    title: str
    meaning: str
    rows: list[Scored]


@dataclass(frozen=True)
class Belonging:
    """One group that a name belongs to, and how strongly."""

    number: int
    label: str
    title: str
    weight: float


@dataclass(frozen=True)
class Belongings:
    """The groups of one set that a name belongs to, strongest first."""

    title: str
    key: str
    noun: str
    meaning: str
    rows: list[Belonging]


@dataclass(frozen=True)
class About:
    """Everything that a model knows about a name; what it does not offer is left out."""

    kind: str
    name: str
    facts: dict[str, str | int | float]
    rankings: list[Ranking]
    belongings: list[Belongings]
    tables: dict[str, list[dict[str, str | int | float | None]]] = field(default_factory=dict)
    has_map: bool = False


def about(knowledge: Knowledge, kind: str, name: str, n: int = NUM_SHOWN) -> About:
    """Return what the model knows about a name of a vocabulary; a NotFound where there is no such name."""
    check_int("n", n, at_least=1)
    index = knowledge.index_of(kind, name)
    rankings = [
        ranking
        for ranking in (
            neighbours(knowledge, kind, index, n),
            recommendations(knowledge, kind, index, n),
        )
        if ranking is not None and ranking.rows
    ]
    belongings = [*_memberships(knowledge, kind, index, n), *_active_code(knowledge, kind, index, n)]
    return About(
        kind=kind,
        name=knowledge.name_of(kind, index),
        facts=_facts(knowledge, kind, index),
        rankings=rankings,
        belongings=[one for one in belongings if one.rows],
        tables=_own_tables(knowledge, kind, index, n),
        has_map=kind in knowledge.spaces,
    )


@dataclass(frozen=True)
class Examples:
    """Some names of a vocabulary to begin with."""

    kind: str
    names: list[str]


def examples(knowledge: Knowledge, n: int = 24) -> list[Examples]:
    """Return the most frequent names of each vocabulary, or its first ones where nothing is known of that."""
    found = []
    for kind, vocabulary in knowledge.vocabularies.items():
        counts = knowledge.frequencies.get(kind)
        rows = np.arange(min(n, len(vocabulary))) if counts is None else largest(np.asarray(counts), n)
        found.append(Examples(kind, [knowledge.name_of(kind, int(row)) for row in rows]))
    return found


def _facts(knowledge: Knowledge, kind: str, index: int) -> dict[str, str | int | float]:
    counts = knowledge.frequencies.get(kind)
    if counts is None:
        return {}
    rank = 1 + int((counts > counts[index]).sum())
    facts: dict[str, str | int | float] = {"rank by frequency": f"{rank:,} of {len(counts):,}"}
    if hasattr(knowledge.estimator, "popularity_") and kind == "items":
        facts["in training"] = round(float(counts[index]), 2)
    else:
        facts["share by the model"] = float(counts[index])
    return facts


def neighbours(knowledge: Knowledge, kind: str, index: int, n: int, measure: str | None = None) -> Ranking | None:
    """Return the names nearest to one in the model's space, by one of its measures; None where it has none."""
    space = knowledge.spaces.get(kind)
    if space is None:
        return None
    measure = measure or space.measure
    items, scores = space.nearest(index, n, measure)
    meaning = f"{measure + ' distance' if measure == 'euclidean' else measure}, by {space.meaning}"
    title = "Speaks for" if measure == "weight" else "Nearest neighbours"
    return Ranking(title, meaning, _scored(knowledge, kind, items, scores))


def near_by(knowledge: Knowledge, kind: str, name: str, measure: str | None = None, n: int = NUM_SHOWN) -> Ranking:
    """Return the names nearest to one by a measure; a NotFound where the model has no such name or no vectors."""
    check_int("n", n, at_least=1)
    found = neighbours(knowledge, kind, knowledge.index_of(kind, name), n, measure)
    if found is None:
        raise NotFound(f"This model has no neighbours of {kind!r:.80}: it keeps no vectors of them.")
    return found


def recommendations(knowledge: Knowledge, kind: str, index: int, n: int) -> Ranking | None:
    """Return what the model recommends to a user it knows, or to someone of whom it knows this one thing."""
    estimator = knowledge.estimator
    if kind == "users":
        return _for_user(knowledge, index, n)
    items = getattr(estimator, "items_", None)
    if not isinstance(estimator, Recommender) or items is None or kind not in ("items", "terms"):
        return None
    found = knowledge.ask(lambda: estimator.recommend(_history(items, index), n))
    keep = (found.items[0] >= 0) & np.isfinite(found.scores[0])
    noun = "word" if kind in ("terms", "words") else "item"
    meaning = f"score, where this {noun} is all that is known"
    return Ranking("Goes with it", meaning, _scored(knowledge, kind, found.items[0][keep], found.scores[0][keep]))


def _for_user(knowledge: Knowledge, index: int, n: int) -> Ranking | None:
    """Return what is recommended to a user with a known history, or what a model of ratings rates highest."""
    estimator, histories = knowledge.estimator, knowledge.histories
    if isinstance(estimator, Recommender):
        # By id: the model may have its users in another order than the data have now.
        row = -1 if histories is None else int(histories.users.find([knowledge.vocabularies["users"][index]])[0])
        if histories is None or row < 0:
            return None
        found = knowledge.ask(lambda: estimator.recommend(histories[row : row + 1], n))
        keep = found.items[0] >= 0
        rows = _scored(knowledge, "items", found.items[0][keep], found.scores[0][keep])
        return Ranking("Recommended", "score, from what the user had in training", rows)
    items = getattr(estimator, "items_", None)
    if items is None or not isinstance(estimator, Predictor):
        return None
    user = knowledge.vocabularies["users"].take(np.array([index]))
    count = len(items)
    everything = Interactions(user, items, np.array([0, count]), np.arange(count, dtype=np.int32))
    ratings = np.asarray(knowledge.ask(lambda: estimator.predict(everything)), dtype=np.float64)
    best = largest(ratings, n)
    return Ranking("Would rate highest", "predicted rating", _scored(knowledge, "items", best, ratings[best]))


def _history(items: Vocabulary, index: int) -> Interactions:
    """Return one user who has one item, once."""
    user = Vocabulary(["\0"])  # a name that nobody has: some models look users up
    return Interactions(user, items, np.array([0, 1]), np.array([index]), rating=np.ones(1, dtype=np.float32))


def _memberships(knowledge: Knowledge, kind: str, index: int, n: int) -> list[Belongings]:
    return [
        _belongings(knowledge, groups, groups.strongest_of(index, n), groups.row(index), "", groups.weight_meaning)
        for groups in knowledge.groups
        if groups.kind == kind
    ]


def _active_code(knowledge: Knowledge, kind: str, index: int, n: int) -> list[Belongings]:
    """Return what is on in the code of a document that has this one word."""
    estimator = knowledge.estimator
    coded = [groups for groups in knowledge.groups if groups.kind == kind and groups.axes is not None]
    if kind != "terms" or not coded or not isinstance(estimator, Transformer):
        return []
    terms = knowledge.vocabularies[kind]
    one = sparse.csr_array((np.ones(1, dtype=np.float32), [index], [0, 1]), shape=(1, len(terms)))
    code = knowledge.ask(lambda: estimator.transform(Counts(one, terms)))
    values = code.toarray()[0] if sparse.issparse(code) else np.asarray(code)[0]
    found = []
    for groups in coded:
        on = values @ groups.axes
        best = largest(on, n)
        meaning = "value in the code of a document with this one word"
        found.append(_belongings(knowledge, groups, best[on[best] > 0], on, "Active in its code", meaning))
    return found


def _belongings(
    knowledge: Knowledge, groups: Groups, chosen: np.ndarray, weights: np.ndarray, title: str, meaning: str
) -> Belongings:
    titles = knowledge.titles(groups)
    rows = [
        Belonging(int(number), groups.label(int(number)), titles[int(number)], float(weights[number]))
        for number in chosen
    ]
    return Belongings(title or plural(groups.noun).capitalize(), groups.key, groups.noun, meaning, rows)


def _own_tables(
    knowledge: Knowledge, kind: str, index: int, n: int
) -> dict[str, list[dict[str, str | int | float | None]]]:
    """Return the tables of an estimator that explains itself for one user."""
    explain: Any = getattr(knowledge.estimator, "explain", None)
    if kind != "users" or explain is None or "user" not in inspect.signature(explain).parameters:
        return {}
    tables = knowledge.ask(lambda: explain(n, user=knowledge.vocabularies["users"][index]))
    # Communities are among the groups, where they can be opened.
    return {title: plain_rows(rows) for title, rows in tables.items() if title != "communities"}


def plain_rows(rows: list[dict[str, Any]]) -> list[dict[str, str | int | float | None]]:
    """Return rows of a table with cells that JSON and people can read: lists as text, what is not finite as None."""
    return [
        {key: ", ".join(map(str, cell)) if isinstance(cell, list) else cell for key, cell in plain(row).items()}
        for row in rows
    ]


def _scored(knowledge: Knowledge, kind: str, items: np.ndarray, scores: np.ndarray) -> list[Scored]:
    return [
        Scored(kind, knowledge.name_of(kind, item), float(score)) for item, score in zip(items, scores, strict=True)
    ]


def plural(noun: str) -> str:
    """Return more than one of a noun.

    >>> plural("community"), plural("topic")
    ('communities', 'topics')
    """
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
