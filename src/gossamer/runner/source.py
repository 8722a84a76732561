"""From what an experiment or a command line says to data in memory and a split of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gossamer import datasets
from gossamer.data.filters import filter_min_counts, keep_ratings
from gossamer.data.interactions import HeldOut, Interactions, Split
from gossamer.data.readers import read_interactions
from gossamer.data.splits import split_global_time, split_random, split_user_time, split_users
from gossamer.runner.specs import DataSpec, SplitSpec

_SEEDED: dict[str, Callable[..., Split]] = {
    "users": split_users,
    "random": split_random,
    "user-time": split_user_time,
}


def is_file(name: str) -> bool:
    """Say whether a name of data means a file rather than a data set.

    >>> is_file("ratings.csv"), is_file("stdlib-usage")
    (True, False)
    """
    return name not in datasets.available() and (Path(name).exists() or "/" in name or "\\" in name or "." in name)


def open_data(spec: DataSpec) -> Any:
    """Load a data set by name, or interactions from a file, and keep what the spec says of them."""
    if is_file(spec.name):
        if spec.options:
            raise ValueError(f"options must be left out for a file, got {spec.options!r}")
        data: Any = read_interactions(spec.name, columns=spec.columns or None)
    else:
        if spec.columns:
            raise ValueError(f"columns must be left out for the data set {spec.name!r}, got {spec.columns!r}")
        data = datasets.load(spec.name, **spec.options)
    if spec.min_rating is None and spec.min_per_user is None and spec.min_per_item is None:
        return data
    if not isinstance(data, Interactions):
        raise ValueError(f"data must be interactions to be filtered, got {type(data).__name__} from {spec.name!r}")
    if spec.min_rating is not None:
        data = keep_ratings(data, at_least=spec.min_rating)
    data = filter_min_counts(data, min_per_user=spec.min_per_user or 1, min_per_item=spec.min_per_item or 1)
    if data.nnz == 0:
        raise ValueError(f"{spec.name} must keep some interactions, got none after filtering with {spec.as_json()}")
    return data


def make_split(data: Any, spec: SplitSpec, seed: int = 0) -> Split:
    """Divide interactions as the spec says; its own seed, where it has one, is used rather than `seed`.

    "none" holds nothing out: everything is training data, as for a model that goes into service.
    """
    if not isinstance(data, Interactions):
        raise ValueError(f"data must be interactions to be split by {spec.kind!r}, got {type(data).__name__}")
    if spec.kind == "none":
        nothing = data.keep(np.zeros(data.nnz, dtype=bool))
        return Split(data, None, HeldOut(data, nothing), {"kind": "none"})
    if spec.kind == "global-time":  # nothing in it is random
        return split_global_time(data, **spec.arguments)
    return _SEEDED[spec.kind](data, **spec.arguments, random_state=seed if spec.seed is None else spec.seed)
