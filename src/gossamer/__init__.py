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
    "compare",
    "compress",
    "data",
    "datasets",
    "load",
    "metrics",
    "models",
    "plots",
    "read_artifact",
    "read_interactions",
    "switch_progress",
]

# Looked up when first used: `import gossamer` and `gossamer version` must not wait for torch.
_HOMES = {
    "Budget": ("gossamer.models.lowrank.budget", "Budget"),
    "Interactions": ("gossamer.data.interactions", "Interactions"),
    "compare": ("gossamer.runner.comparing", "compare"),
    "compress": ("gossamer.runner.compressing_anything", "compress"),
    "load": ("gossamer.persistence", "load"),
    "read_artifact": ("gossamer.persistence", "read_artifact"),
    "read_interactions": ("gossamer.data.readers", "read_interactions"),
    "switch_progress": ("gossamer.core.progress", "switch_progress"),
}
_ROOMS = {name: f"gossamer.{name}" for name in ("data", "datasets", "metrics", "models")}
_ROOMS["plots"] = "gossamer.report.plots"


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name in _HOMES:
        module, attribute = _HOMES[name]
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'gossamer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
