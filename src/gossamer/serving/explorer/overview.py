"""What a model is: class, settings, data, metrics, size, training, card."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gossamer.core.protocols import Explainer
from gossamer.persistence.config import CARD_FILE
from gossamer.serving.explorer.about import plain_rows
from gossamer.serving.explorer.knowledge import Knowledge

MOST_CARD_LETTERS = 100_000
NUM_ROWS = 10


@dataclass(frozen=True)
class ModelSummary:
    """One model in the list of those that are loaded."""

    name: str
    class_name: str
    summary: str
    values: int
    bytes: int


@dataclass(frozen=True)
class Curve:
    """One value per epoch of training."""

    name: str
    values: list[float | None]


@dataclass(frozen=True)
class Overview:
    """All that is known of a model as a whole; `settings` and `data` are text for people."""

    name: str
    class_name: str
    class_path: str
    summary: str
    saved_by: str
    values: int
    bytes: int
    vocabularies: dict[str, int]
    settings: dict[str, str]
    data: dict[str, str]
    metrics: dict[str, float | None]
    curves: list[Curve]
    tables: dict[str, list[dict[str, str | int | float | None]]]
    card: str
    has_groups: bool
    maps: list[str]


def summarise(knowledge: Knowledge) -> ModelSummary:
    """Return what a list says of a model."""
    estimator = knowledge.estimator
    return ModelSummary(knowledge.model.name, type(estimator).__name__, summary_of(estimator), *knowledge.size)


def overview(knowledge: Knowledge) -> Overview:
    """Return what is known of a model as a whole."""
    estimator, config = knowledge.estimator, knowledge.config
    return Overview(
        name=knowledge.model.name,
        class_name=type(estimator).__name__,
        class_path=str(config.get("class", "")),
        summary=summary_of(estimator),
        saved_by=f"gossamer {config.get('gossamer_version', '')}".strip(),
        values=knowledge.size[0],
        bytes=knowledge.size[1],
        vocabularies={kind: len(vocabulary) for kind, vocabulary in knowledge.vocabularies.items()},
        settings=as_text(config.get("arguments") or {}),
        data=as_text(_flat(config.get("provenance") or {})),
        metrics=plain_rows([dict(config.get("metrics") or {})])[0],  # type: ignore[arg-type]
        curves=_curves(estimator),
        tables=_tables(knowledge),
        card=_card(knowledge.model.path),
        has_groups=bool(knowledge.groups),
        maps=list(knowledge.spaces),
    )


def summary_of(estimator: Any) -> str:
    """Return the first sentence of a class's description."""
    return (inspect.getdoc(type(estimator)) or type(estimator).__name__).splitlines()[0]


def as_text(values: Mapping[str, Any]) -> dict[str, str]:
    """Return settings as people write them.

    >>> as_text({"dims": [400, 200], "name": "tanh", "budget": None})
    {'dims': '[400, 200]', 'name': 'tanh', 'budget': 'null'}
    """
    return {
        str(key): value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        for key, value in values.items()
    }


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return {"data": {"name": …}} as {"data name": …}, without what is empty."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= {f"{key} {inner}": content for inner, content in value.items() if content not in ({}, None)}
        elif value is not None:
            flat[key] = value
    return flat


def _curves(estimator: Any) -> list[Curve]:
    """Return what was measured after every epoch; nothing of closed forms."""
    history = getattr(estimator, "history_", None)
    epochs = history.get("epochs") if isinstance(history, Mapping) else None
    if not isinstance(epochs, list) or len(epochs) < 2:
        return []
    names = [name for name in epochs[0] if name not in ("epoch", "seconds")]
    rows = plain_rows([{name: row.get(name) for name in names} for row in epochs])
    numbers = [name for name in names if all(isinstance(row[name], int | float | None) for row in rows)]
    return [Curve(name, [row[name] for row in rows]) for name in numbers]  # type: ignore[misc]


def _tables(knowledge: Knowledge) -> dict[str, list[dict[str, str | int | float | None]]]:
    estimator = knowledge.estimator
    if not isinstance(estimator, Explainer):
        return {}
    tables = knowledge.ask(lambda: estimator.explain(NUM_ROWS))
    return {title: plain_rows(rows) for title, rows in tables.items() if isinstance(rows, list)}


def _card(path: Path) -> str:
    """Return the card beside the model; none where the artifact has been moved since."""
    try:
        return (path / CARD_FILE).read_text(encoding="utf-8")[:MOST_CARD_LETTERS]
    except OSError:
        return ""
