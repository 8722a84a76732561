"""From an estimator to an artifact."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gossamer.persistence.atomic import look_inside, replacing_directory
from gossamer.persistence.card import model_card
from gossamer.persistence.classes import Persistable, class_path
from gossamer.persistence.config import CARD_FILE, CONFIG_FILE, TENSOR_FILE, check_listing, read_config, write_config
from gossamer.persistence.errors import ArtifactError
from gossamer.persistence.files import describe_file
from gossamer.persistence.strict_json import JSON, plain_json
from gossamer.persistence.tensors import storable_array, write_tensors
from gossamer.persistence.vocabularies import vocabulary_file, write_vocabulary


def write_artifact(
    estimator: Persistable,
    path: str | os.PathLike[str],
    *,
    provenance: Mapping[str, Any] | None = None,
    metrics: Mapping[str, float] | None = None,
) -> None:
    """Save a fitted estimator as the directory `path`, all at once or not at all.

    `provenance` says where the model came from (data name, fingerprint, split, seed …) and `metrics` how good it
    is; both are JSON-able and appear on the card. An artifact that is already there is replaced; any other
    directory, unless empty, is refused.
    """
    target = Path(os.path.realpath(path))  # through a link, replace what it points to
    look_inside(target, _check_replaceable)
    content = _described(estimator, provenance or {}, metrics or {})
    arrays = {name: storable_array(name, array) for name, array in estimator.learned_arrays().items()}
    vocabularies = estimator.learned_vocabularies()
    vocabulary_files = {name: vocabulary_file(name) for name in vocabularies}
    with replacing_directory(target) as staging:
        write_tensors(staging / TENSOR_FILE, arrays)
        for name, file_name in vocabulary_files.items():
            write_vocabulary(staging / file_name, vocabularies[name])
        card = model_card(type(estimator), content, arrays, vocabularies, target.name)
        (staging / CARD_FILE).write_text(card, encoding="utf-8")
        content["files"] = {file.name: dict(describe_file(file)) for file in sorted(staging.iterdir())}
        write_config(staging / CONFIG_FILE, content)


def _described(estimator: Persistable, provenance: Mapping[str, Any], metrics: Mapping[str, float]) -> dict[str, JSON]:
    cls = type(estimator)
    try:
        return {
            "class": class_path(cls),
            "arguments": {
                name: plain_json(f"{cls.__name__} argument {name!r}", value)
                for name, value in estimator.get_params(deep=False).items()
            },
            "metadata": plain_json("metadata", estimator.learned_metadata()),
            "provenance": plain_json("provenance", provenance),
            "metrics": plain_json("metrics", metrics),
        }
    except ValueError as error:
        raise ArtifactError(f"{cls.__name__} cannot be saved: {error}") from error


def _check_replaceable(target: Path) -> None:
    """Refuse to replace anything but nothing, an empty directory or an artifact with nothing else in it."""
    if not target.exists():
        return
    refusal = f"{target} must be a new or empty directory or an artifact to be saved to"
    if not target.is_dir():
        raise ArtifactError(f"{refusal}, got a file; choose another path")
    present = {entry.name for entry in target.iterdir()}
    if not present:
        return
    config_path = target / CONFIG_FILE
    try:
        known = {CONFIG_FILE, *check_listing(config_path, read_config(config_path))}
    except ArtifactError as error:
        raise ArtifactError(f"{refusal}; choose another path or remove it ({error})") from error
    if present - known:
        foreign = ", ".join(sorted(present - known)[:3])
        raise ArtifactError(f"{refusal}, got one that also holds {foreign}; move that away or choose another path")
