"""`gossamer.compress`: one door for a network of your own and for a fitted estimator."""

from __future__ import annotations

from typing import Any, TypeVar

from torch import nn

from gossamer.models.lowrank.budget import Budget
from gossamer.models.lowrank.compression import compress as compress_network

Model = TypeVar("Model")


def compress(model: Model, *, data: Any, budget: Budget, **options: Any) -> Model:
    """Return a copy of `model` within `budget`, with what became of it as its `compression_report`; `model` stays.

    A `torch.nn.Module` takes batches (inputs, target) as `data`, and the `options` of
    `gossamer.models.lowrank.compression.compress`, such as `loss`. A fitted estimator takes its training data, and the
    options of `gossamer.runner.compressing_estimators.compress_estimator`; it answers, is saved and exported as before.

    >>> from gossamer.models.counts import CDAE
    >>> from gossamer.testing.right_answers import two_blocks
    >>> data = two_blocks().history
    >>> small = compress(CDAE(hidden_dim=8, epochs=1).fit(data), data=data, budget=Budget(params=0.9))
    >>> small.compression_report.share("params") <= 0.9
    True
    """
    if isinstance(model, nn.Module):
        return compress_network(model, data=data, budget=budget, **options)  # type: ignore[return-value]
    if isinstance(model, type) or not hasattr(model, "get_params"):
        kind = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise ValueError(f"model must be a torch.nn.Module or a fitted estimator, got {kind}")
    # Only now: a network of one's own needs none of the families.
    from gossamer.runner.compressing_estimators import compress_estimator

    small: Model = compress_estimator(model, data, budget, **options)[0]
    return small
