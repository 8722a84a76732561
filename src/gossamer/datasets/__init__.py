"""One file per public data set: find or download it, verify it, parse it into a container."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.datasets.catalogue import available, find, load, locate
    from gossamer.datasets.dataset import DatasetInfo
    from gossamer.datasets.pretrained import load_weights

__all__ = ["DatasetInfo", "available", "find", "load", "load_weights", "locate"]

# Looked up when first used: a model that may take a data set's vectors must not wait for the readers of all of them.
_HOMES = {"DatasetInfo": "dataset", "load_weights": "pretrained"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'gossamer.datasets' has no attribute {name!r}")
    return getattr(import_module(f"gossamer.datasets.{_HOMES.get(name, 'catalogue')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
