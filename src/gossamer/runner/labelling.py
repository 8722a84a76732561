"""What a model of labels, classes or counts says of rows of numbers, as a table for people and programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from gossamer.data.arrays import LabelledArrays
from gossamer.runner.tasks import container_of


def gives_labels(estimator: Any) -> bool:
    """Say whether a model gives rows of numbers labels, a class or counts."""
    return container_of(estimator) is LabelledArrays and hasattr(estimator, "predict")


def labels_of(estimator: Any, data: LabelledArrays) -> pl.DataFrame:
    """Return a row per example, numbered from 1: what it is given, and a column for every label, class or count.

    Columns hold probabilities, or the expected count where things are counted.
    """
    (names,) = estimator.learned_vocabularies().values()
    chosen = estimator.predict(data)
    columns = {"row": np.arange(1, len(data) + 1)}
    if not hasattr(estimator, "predict_proba"):
        whole = estimator.predict_counts(data)
        return pl.DataFrame(columns | {"counts": [_counted(row, names) for row in whole]} | _named(chosen, names))
    probs = estimator.predict_proba(data)
    if chosen.ndim == 1:
        return pl.DataFrame(columns | {"class": [str(names[int(place)]) for place in chosen]} | _named(probs, names))
    labels = [", ".join(str(names[int(place)]) for place in np.flatnonzero(row)) for row in chosen]
    return pl.DataFrame(columns | {"labels": labels} | _named(probs, names))


def _counted(row: np.ndarray, names: Any) -> str:
    return ", ".join(f"{row[place]} × {names[int(place)]}" for place in np.flatnonzero(row))


def _named(values: np.ndarray, names: Any) -> dict[str, np.ndarray]:
    return {str(name): values[:, place] for place, name in enumerate(names)}
