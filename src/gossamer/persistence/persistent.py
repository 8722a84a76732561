"""`save`, `load` and the look in a notebook of every estimator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

from gossamer.persistence.classes import Persistable
from gossamer.persistence.errors import ArtifactError
from gossamer.persistence.portrait import estimator_html
from gossamer.persistence.read import read_artifact
from gossamer.persistence.write import write_artifact


class Persistent:
    """Mix-in that gives `save` and `load` to a class with the methods of `Persistable`."""

    def save(
        self: Persistable,
        path: str | os.PathLike[str],
        *,
        provenance: Mapping[str, Any] | None = None,
        metrics: Mapping[str, float] | None = None,
    ) -> None:
        """Save as the artifact directory `path`; see `gossamer.persistence.write_artifact`."""
        write_artifact(self, path, provenance=provenance, metrics=metrics)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load an artifact that holds this class or a subclass of it; `read_artifact` loads any."""
        artifact = read_artifact(path)
        if not isinstance(artifact.estimator, cls):
            raise ArtifactError(
                f"{os.fspath(path)} must hold a {cls.__name__} for {cls.__name__}.load, got a "
                f"{type(artifact.estimator).__name__}; use {type(artifact.estimator).__name__}.load or read_artifact"
            )
        return artifact.estimator

    def _repr_html_(self) -> str:
        return estimator_html(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        # Or scikit-learn's, which notebooks prefer to `_repr_html_`, would be shown.
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
