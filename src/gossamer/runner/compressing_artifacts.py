"""From the directory of a saved model to that of the same model within a budget."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gossamer.models.lowrank import Budget, CompressionReport
from gossamer.models.lowrank.budget import COSTS
from gossamer.models.lowrank.compressed_network import CompressedNetwork
from gossamer.persistence import read_artifact
from gossamer.runner.compressing_estimators import can_be_compressed, compress_estimator, why_not
from gossamer.runner.outcome import judge
from gossamer.runner.provenance import open_origin, read_origin, reopen
from gossamer.runner.terms import terms_of

KNOWN = (*COSTS, "budget_of", "allocator", "keep", "only", "iterations")


def compress_artifact(
    artifact: str, out: Path, *, settings: Mapping[str, Any], data: str | None = None
) -> CompressionReport:
    """Compress the network of an artifact to the budget of `settings`, and save it in `out` as one of the same kind.

    `settings` are budgets and what `compress` takes; those that are None stay what they are. Masks are searched,
    and statistics taken, on the training part of the data that the model was fitted on, or on all of `data`. The new
    artifact keeps the provenance of the old one: what was held out stays held out.
    """
    loaded = read_artifact(artifact)
    estimator = loaded.estimator
    if not can_be_compressed(estimator):
        raise ValueError(
            f"{artifact} must be a model with a network to be compressed, such as compressed-classifier, mult-vae or "
            f"sentence-vae, got one of {type(estimator).__name__} ({why_not(estimator)}); "
            "for a network of your own give file.py:function"
        )
    origin = read_origin(loaded.config)
    given = {name: value for name, value in settings.items() if value is not None}
    if data is None or data == origin.data.name:
        _, _, split = reopen(loaded.config, None, terms_of(estimator))
        small, report = _compressed(estimator, split.train, given, origin.model)
        measured = judge(small, split.test)
        metrics = {} if measured is None else measured.values
    else:
        opened = open_origin(loaded.config, data, terms_of(estimator))[1]
        (small, report), metrics = _compressed(estimator, opened, given, origin.model), {}
    small.save(out, provenance=origin.as_json(), metrics=metrics)
    return report


def _compressed(
    estimator: Any, training: Any, settings: Mapping[str, Any], model: str
) -> tuple[Any, CompressionReport]:
    known = KNOWN if not isinstance(estimator, CompressedNetwork) else estimator.get_params(deep=False)
    for name, value in settings.items():
        if name not in known:
            raise ValueError(f"{name} must be left out for {model}, which has no such setting, got {value!r}")
    if isinstance(estimator, CompressedNetwork):
        report = estimator.set_params(**settings).compress(training).report_
        assert report is not None
        return estimator, report
    costs = {name: settings[name] for name in COSTS if name in settings}
    budget = Budget(**costs, of=settings.get("budget_of", "model"))
    others = {name: value for name, value in settings.items() if name not in (*COSTS, "budget_of")}
    return compress_estimator(estimator, training, budget, **others)
