"""Learn, shrink, explain and ship sparse representations of discrete things.

>>> import gossamer
>>> gossamer.Interactions.from_pairs(["ann", "bob"], ["tea", "tea"]).shape
(2, 1)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gossamer.version import __version__

__all__ = [
    "Budget",
    "Interactions",
    "__version__",
    "compress",
    "data",
    "datasets",
    "load",
    "metrics",
    "models",
    "read_artifact",
    "read_interactions",
]

# Looked up when first used: `import gossamer` and `gossamer version` must not wait for torch.
_HOMES = {
    "Budget": ("gossamer.models.lowrank.budget", "Budget"),
    "Interactions": ("gossamer.data.interactions", "Interactions"),
    "compress": ("gossamer.models.lowrank.compression", "compress"),
    "load": ("gossamer.persistence", "load"),
    "read_artifact": ("gossamer.persistence", "read_artifact"),
    "read_interactions": ("gossamer.data.readers", "read_interactions"),
}
_ROOMS = ("data", "datasets", "metrics", "models")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"gossamer.{name}")
    if name in _HOMES:
        module, attribute = _HOMES[name]
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'gossamer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
