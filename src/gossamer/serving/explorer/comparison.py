"""Two models side by side: what differs in their settings, what they cost, how good they are, what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gossamer.runner.search import has_a_best, lower_is_better
from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.about import About, about
from gossamer.serving.explorer.knowledge import Knowledge
from gossamer.serving.explorer.overview import as_text, summarise


@dataclass(frozen=True)
class Setting:
    """One argument in both models; None where a model does not have it."""

    name: str
    left: str | None
    right: str | None
    differs: bool


@dataclass(frozen=True)
class Measure:
    """One number of both models; `better` is "left", "right" or "" where neither is."""

    name: str
    left: float | None
    right: float | None
    better: str


@dataclass(frozen=True)
class Comparison:
    """Two models side by side; `shared_kinds` are the vocabularies in which both have names."""

    left: str
    right: str
    left_class: str
    right_class: str
    settings: list[Setting]
    sizes: list[Measure]
    metrics: list[Measure]
    shared_kinds: list[str]


@dataclass(frozen=True)
class Answers:
    """What both models know about a name; None, and why, where one does not know it. `shared` are in both answers."""

    left: About | None
    right: About | None
    left_note: str
    right_note: str
    shared: list[str]


def compare(left: Knowledge, right: Knowledge) -> Comparison:
    """Return two models side by side."""
    arguments = [as_text(one.config.get("arguments") or {}) for one in (left, right)]
    sizes = [summarise(one) for one in (left, right)]
    both = [kind for kind in left.vocabularies if kind in right.vocabularies]
    return Comparison(
        left=left.model.name,
        right=right.model.name,
        left_class=sizes[0].class_name,
        right_class=sizes[1].class_name,
        settings=[
            Setting(
                name, arguments[0].get(name), arguments[1].get(name), arguments[0].get(name) != arguments[1].get(name)
            )
            for name in dict.fromkeys([*arguments[0], *arguments[1]])
        ],
        sizes=[
            _measure("values", float(sizes[0].values), float(sizes[1].values), is_low=True),
            _measure("bytes", float(sizes[0].bytes), float(sizes[1].bytes), is_low=True),
        ],
        metrics=_metrics(left.config.get("metrics") or {}, right.config.get("metrics") or {}),
        shared_kinds=both,
    )


def answer_both(left: Knowledge, right: Knowledge, kind: str, name: str, n: int = 10) -> Answers:
    """Return what both models know about a name, each in the vocabulary that it knows the name from."""
    answers = [_answer(known, kind, name, n) for known in (left, right)]
    named = [
        {row.name for ranking in found.rankings for row in ranking.rows} if found is not None else set[str]()
        for found, _ in answers
    ]
    if all(found is None for found, _ in answers):
        raise NotFound(f"Neither model knows {name[:80]!r}.")
    return Answers(answers[0][0], answers[1][0], answers[0][1], answers[1][1], sorted(named[0] & named[1]))


def _answer(known: Knowledge, kind: str, name: str, n: int) -> tuple[About | None, str]:
    # Documents have terms where sentences have words: a name is looked for under its own kind first.
    kinds = [kind, *known.vocabularies] if kind in known.vocabularies else list(known.vocabularies)
    for one in dict.fromkeys(kinds):
        try:
            return about(known, one, name, n), ""
        except NotFound:
            continue
    return None, f"This model does not know {name[:80]!r}."


def _metrics(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[Measure]:
    return [
        _measure(name, _number(left.get(name)), _number(right.get(name)), is_low=lower_is_better(name))
        for name in dict.fromkeys([*left, *right])
    ]


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value == value else None


def _measure(name: str, left: float | None, right: float | None, *, is_low: bool) -> Measure:
    better = ""
    if left is not None and right is not None and left != right and has_a_best(name):
        better = "left" if (left < right) == is_low else "right"
    return Measure(name, left, right, better)
