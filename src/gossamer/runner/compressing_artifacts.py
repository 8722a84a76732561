"""From the directory of a saved model to that of the same model within a budget."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gossamer.models.lowrank import ESTIMATORS
from gossamer.models.lowrank.compressed_network import CompressedNetwork
from gossamer.persistence import read_artifact
from gossamer.runner.outcome import judge
from gossamer.runner.provenance import open_origin, read_origin, reopen


def compress_artifact(
    artifact: str, out: Path, *, settings: Mapping[str, Any], data: str | None = None
) -> CompressedNetwork:
    """Compress the network of an artifact to the budget of `settings`, and save it in `out` as one of the same kind.

    `settings` are those of the model, budgets among them; those that are None stay what they are. Masks are searched,
    and statistics taken, on the training part of the data that the model was fitted on, or on all of `data`. The new
    artifact keeps the provenance of the old one: what was held out stays held out.
    """
    loaded = read_artifact(artifact)
    estimator = loaded.estimator
    if not isinstance(estimator, CompressedNetwork):
        raise ValueError(
            f"{artifact} must be a model of the kind {' or '.join(ESTIMATORS)} to be compressed, got one of "
            f"{type(estimator).__name__}; for a network of your own give file.py:function"
        )
    origin = read_origin(loaded.config)
    given = {name: value for name, value in settings.items() if value is not None}
    for name, value in given.items():
        if name not in estimator.get_params(deep=False):
            raise ValueError(f"{name} must be left out for {origin.model}, which has no such setting, got {value!r}")
    estimator.set_params(**given)
    metrics: dict[str, float] = {}
    if data is None or data == origin.data.name:
        _, _, split = reopen(loaded.config)
        estimator.compress(split.train)
        measured = judge(estimator, split.test)
        metrics = {} if measured is None else measured.values
    else:
        estimator.compress(open_origin(loaded.config, data)[1])
    estimator.save(out, provenance=origin.as_json(), metrics=metrics)
    return estimator
