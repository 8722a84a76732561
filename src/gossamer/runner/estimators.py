"""From a model's name and its settings to an estimator, with the settings checked before any data are read."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from gossamer.models.catalogue import find as find_model
from gossamer.runner import peers
from gossamer.runner.specs import PEER_PREFIX, check_keys


def find_class(model: str) -> type:
    """Return the class of a model of the catalogue, or of a peer's adapter for `peer.<name>`."""
    if model.startswith(PEER_PREFIX):
        return peers.find(model.removeprefix(PEER_PREFIX))
    return find_model(model)


def make_estimator(model: str, settings: Mapping[str, Any], *, seed: int, device: str | None = None) -> Any:
    """Return an unfitted estimator; a setting it does not have is named, with what it has.

    `seed` becomes its `random_state`, unless the settings give one; models without one are deterministic. `device`
    is for models that have one; "cpu" fits every model.
    """
    cls = find_class(model)
    known = list(inspect.signature(cls).parameters)
    check_keys(model, settings, known, noun="setting")
    arguments = dict(settings)
    if "random_state" in known:
        arguments.setdefault("random_state", seed)
    if "device" in known and device is not None:
        arguments.setdefault("device", device)
    elif device not in (None, "cpu", "auto"):
        raise ValueError(f"device must be 'cpu' for {model}, which runs nowhere else, got {device!r}")
    return cls(**arguments)


def family_of(model: str) -> str | None:
    """Return the room of a model's family, such as 'linear'; None for a peer."""
    if model.startswith(PEER_PREFIX):
        return None
    return find_class(model).__module__.split(".")[2]
