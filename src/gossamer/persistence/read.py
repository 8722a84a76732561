"""From an artifact back to an estimator: everything is checked, nothing in it is executed."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gossamer.persistence.atomic import look_inside
from gossamer.persistence.classes import Persistable, find_class
from gossamer.persistence.config import CARD_FILE, CONFIG_FILE, TENSOR_FILE, check_listing, read_config
from gossamer.persistence.errors import ArtifactError
from gossamer.persistence.files import check_file
from gossamer.persistence.strict_json import JSON
from gossamer.persistence.tensors import read_tensors
from gossamer.persistence.vocabularies import MAX_VOCABULARY_BYTES, read_vocabulary, vocabulary_name

MAX_CARD_BYTES = 64 << 20


@dataclass(frozen=True)
class Artifact:
    """A loaded artifact: the fitted `estimator`, and `config` with arguments, provenance, metrics and metadata."""

    estimator: Any
    config: dict[str, JSON]


def read_artifact(path: str | os.PathLike[str], *, mapped: bool = False) -> Artifact:
    """Load the artifact at `path`, or raise an ArtifactError that says what is wrong and what to do.

    A save that replaces the artifact meanwhile is noticed: then the new one is read. With `mapped` arrays stay in the
    file's pages as far as the model takes them as they are: several processes then hold one copy, and a model that is
    replaced goes on with the old one.
    """
    try:
        # Through a link, because a save through it works on what it points to.
        return look_inside(Path(os.path.realpath(path)), partial(_read_directory, mapped=mapped))
    except ArtifactError:
        raise
    except (OSError, ValueError) as error:  # a ValueError where the path itself is impossible
        raise ArtifactError(f"{path} cannot be read: {error}; check the path and its permissions") from error


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted model of the artifact at `path`, whichever family it is of; checked as `read_artifact` does."""
    return read_artifact(path).estimator


def _read_directory(directory: Path, mapped: bool) -> Artifact:
    if not os.path.lexists(directory):
        raise ArtifactError(f"{directory} does not exist; check the path, or save a model there first")
    if not directory.is_dir():
        raise ArtifactError(f"{directory} must be a directory, as every artifact is; give the directory that was saved")
    config = read_config(directory / CONFIG_FILE)
    listing = check_listing(directory / CONFIG_FILE, config)
    foreign = {entry.name for entry in directory.iterdir()} - {CONFIG_FILE, *listing}
    if foreign:
        raise ArtifactError(
            f"{directory} holds {sorted(foreign)[0]!r}, which is not part of the artifact; move it away"
        )
    for name, (size, sha256) in listing.items():
        limit = {TENSOR_FILE: None, CARD_FILE: MAX_CARD_BYTES}.get(name, MAX_VOCABULARY_BYTES)
        check_file(directory / name, size, sha256, limit)
    try:
        estimator = _construct(config)
    except Exception as error:
        raise ArtifactError(
            f"{directory / CONFIG_FILE} cannot be loaded: {error}; use the version that wrote it"
        ) from error
    arrays = read_tensors(directory / TENSOR_FILE, mapped=mapped)
    vocabularies = {
        vocabulary: read_vocabulary(directory / file_name)
        for file_name in listing
        if (vocabulary := vocabulary_name(file_name)) is not None
    }
    # Whatever damaged content makes an estimator trip over, the user learns which artifact it was.
    try:
        estimator.restore(arrays, vocabularies, config["metadata"])  # type: ignore[arg-type]
    except Exception as error:
        raise ArtifactError(
            f"{directory} does not fit {config['class']}: {error}; save it again with this version"
        ) from error
    return Artifact(estimator, config)


def _construct(config: dict[str, JSON]) -> Persistable:
    cls = find_class(config["class"])
    arguments = config["arguments"]
    assert isinstance(arguments, dict)  # read_config has seen to it
    unknown = sorted(set(arguments) - set(inspect.signature(cls).parameters))
    if unknown:
        raise ValueError(f"{cls.__name__} has no argument {unknown[0]!r}")
    return cls(**arguments)
