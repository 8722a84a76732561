"""From an artifact's directory to a model that answers, and whether the directory has been replaced since."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gossamer.persistence import JSON, Artifact, read_artifact
from gossamer.persistence.config import CONFIG_FILE

Identity = tuple[int, int, int]


@dataclass(frozen=True)
class LoadedModel:
    """A model as it is served: `name` is its directory's, `identity` tells a replaced artifact from the same one."""

    name: str
    path: Path
    artifact: Artifact
    identity: Identity | None = None

    @property
    def estimator(self) -> Any:
        """The fitted model."""
        return self.artifact.estimator

    @property
    def config(self) -> dict[str, JSON]:
        """What config.json says: class, arguments, provenance, metrics."""
        return self.artifact.config

    @cached_property
    def kind(self) -> str:
        """The name of the model's class."""
        return type(self.estimator).__name__


def load_model(path: str | os.PathLike[str]) -> LoadedModel:
    """Load the artifact at `path`, or raise an ArtifactError that says what is wrong with it."""
    # Through no link: a link called `current` is what people want to ask for, wherever it points to.
    absolute = Path(os.path.abspath(path))
    # Before reading: where it is replaced meanwhile, the next look finds another identity and loads again.
    identity = identity_of(absolute)
    return LoadedModel(absolute.name, absolute, read_artifact(absolute), identity)


def identity_of(path: Path) -> Identity | None:
    """Return what changes when the artifact at `path` is replaced; None while there is none."""
    try:
        status = (path / CONFIG_FILE).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_dev
