"""Parts of one family inside an estimator of another: an artifact names them, and they are built again by that name.

A compressed table in the place of a plain one is such a part. The estimator that holds it is of another family and
knows nothing of it but this protocol. The class is looked up as estimators' are: only code of `gossamer.models` runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from gossamer.persistence.classes import class_path, find_class
from gossamer.persistence.strict_json import JSON


@runtime_checkable
class Part(Protocol):
    """What an artifact must be able to ask of a part."""

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments, JSON-able."""

    def stored(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that an artifact holds."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take `stored()` back, or raise a ValueError that names what does not fit."""


def is_part(candidate: object) -> bool:
    """Say whether something can be named in an artifact and built again: a part of a class of `gossamer.models`."""
    if not isinstance(candidate, Part):
        return False
    try:
        class_path(type(candidate), Part)
    except ValueError:
        return False
    return True


def describe_part(part: Part) -> dict[str, JSON]:
    """Return what `rebuild_part` needs besides the arrays."""
    return {"class": class_path(type(part), Part), "config": part.config()}


def rebuild_part(described: JSON, arrays: Mapping[str, NDArray[Any]], **expected: JSON) -> Any:
    """Return the part that `describe_part` described, its arrays taken back.

    `expected` are arguments that must be what the caller knows them to be; they are looked at before anything is made.
    """
    if not isinstance(described, dict) or set(described) != {"class", "config"}:
        raise ValueError(f"a part must be described by its class and config, got {described!r:.120}")
    kind, config = find_class(described["class"], Part), described["config"]
    if not isinstance(config, dict):
        raise ValueError(f"config of a part must be its arguments, got {config!r:.120}")
    for name, value in expected.items():
        if config.get(name) != value:
            raise ValueError(f"{name} of a part must be {value!r}, got {config.get(name)!r:.120}")
    try:
        part: Any = kind(**config)
    except TypeError as error:
        raise ValueError(f"config of a part must be its arguments, got {error}") from None
    part.restore(arrays)
    return part
