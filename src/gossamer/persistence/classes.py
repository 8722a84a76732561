"""From a class to its dotted path and back, never leaving `gossamer.models`.

A class path is `module:Class`, for example `gossamer.models.linear.ease:EASE`. The module must be a file of the
installed package; that is looked up on disk before anything is imported, so an artifact can only ever name
code that gossamer itself ships.
"""

from __future__ import annotations

import importlib
import inspect
import re
from importlib.machinery import PathFinder
from typing import Any, Protocol, cast, runtime_checkable

from numpy.typing import NDArray

from gossamer.data.vocabulary import Vocabulary
from gossamer.persistence.strict_json import JSON

_MODELS = "gossamer.models"
_CLASS_PATH = re.compile(r"gossamer\.models((?:\.[a-z_][a-z0-9_]*)+):([A-Z]\w*)", re.ASCII)


@runtime_checkable
class Persistable(Protocol):
    """What an estimator offers so that it can become an artifact and come back."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments, JSON-able."""

    def learned_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the learned numbers: dense arrays of bools, ints or floats."""

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the id vocabularies that the arrays' axes stand for."""

    def learned_metadata(self) -> dict[str, JSON]:
        """Return whatever else was learned and is small, for example the training history."""

    def restore(
        self, arrays: dict[str, NDArray[Any]], vocabularies: dict[str, Vocabulary], metadata: dict[str, JSON]
    ) -> None:
        """Take back the learned state; raise a ValueError where a name, shape or dtype is not as expected."""


def class_path(cls: type, wanted: type = Persistable) -> str:
    """Return the path that an artifact names `cls` by, or raise a ValueError where it could not be loaded."""
    path = f"{cls.__module__}:{cls.__qualname__}"
    if not _CLASS_PATH.fullmatch(path) or find_class(path, wanted) is not cls:
        raise ValueError(
            f"{path} must be a class at the top of a {_MODELS} module to be saved, because only those can be loaded"
        )
    return path


def find_class(path: object, wanted: type = Persistable) -> type[Persistable]:
    """Return the class that `path` names, or raise a ValueError; only files of `gossamer.models` are imported.

    It has the methods of the protocol `wanted`: those of an estimator unless the caller asks for another thing.
    """
    match = _CLASS_PATH.fullmatch(path) if isinstance(path, str) else None
    if match is None:
        raise ValueError(f"class must be a path like '{_MODELS}.family.module:Class', got {path!r:.120}")
    module = _import_own(match[1].split(".")[1:])
    found = getattr(module, match[2], None)
    if not inspect.isclass(found) or not found.__module__.startswith(f"{_MODELS}."):
        raise ValueError(f"class {path!r} must be a class of {_MODELS}, and this version has none of that name")
    methods = [name for name in vars(wanted) if not name.startswith("_")]
    missing = [method for method in methods if not callable(getattr(found, method, None))]
    if missing:
        what = "an estimator" if wanted is Persistable else "a part"
        raise ValueError(f"class {path!r} must be {what}, but it has no {', '.join(missing)}")
    return cast("type[Persistable]", found)


def _import_own(parts: list[str]) -> object:
    """Import `gossamer.models.<parts>`, after every part's file was found inside its parent package."""
    name = _MODELS
    search_path = list(importlib.import_module(_MODELS).__path__)
    for part in parts:
        name = f"{name}.{part}"
        spec = PathFinder.find_spec(name, search_path)
        if spec is None or not spec.has_location:
            raise ValueError(f"class must be in a module that exists, and this version has no {name!r:.120}")
        search_path = spec.submodule_search_locations or []  # a plain module has nothing inside
    return importlib.import_module(name)
