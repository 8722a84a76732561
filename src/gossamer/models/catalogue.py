"""Every estimator by its name: what the command line, the runner and experiment files call models."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cache

import gossamer.models


@cache
def available() -> dict[str, type]:
    """Return the estimators of all families, by name; a family is a package with a dict named ESTIMATORS."""
    found: dict[str, type] = {}
    for package in pkgutil.iter_modules(gossamer.models.__path__):
        if not package.ispkg:
            continue
        family = importlib.import_module(f"gossamer.models.{package.name}")
        for name, estimator in getattr(family, "ESTIMATORS", {}).items():
            if name in found:
                raise RuntimeError(f"{name!r} names both {found[name].__name__} and {estimator.__name__}")
            found[name] = estimator
    return found


def find(name: str) -> type:
    """Return the estimator called `name`, or raise a ValueError that lists the names there are.

    >>> find("ease").__name__
    'EASE'
    """
    models = available()
    if name not in models:
        close = difflib.get_close_matches(str(name), models, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"model must be one of {', '.join(sorted(models))}, got {name!r}{hint}")
    return models[name]
