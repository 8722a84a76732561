"""vocabulary.<name>.json: the ids that rows and columns stand for, as JSON that people can read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl

from gossamer.data.vocabulary import Vocabulary
from gossamer.persistence.errors import ArtifactError
from gossamer.persistence.strict_json import parse_json

MAX_VOCABULARY_BYTES = 1 << 30

_FILE_NAME = re.compile(r"vocabulary\.([a-z][a-z0-9_]{0,63})\.json")
_TYPES: dict[str, type] = {"str": str, "int": int}


def vocabulary_file(name: str) -> str:
    """Return the file name of a vocabulary.

    >>> vocabulary_file("items")
    'vocabulary.items.json'
    """
    file_name = f"vocabulary.{name}.json"
    if vocabulary_name(file_name) is None:
        raise ArtifactError(f"vocabulary name must be a lower-case identifier, got {name!r}")
    return file_name


def vocabulary_name(file_name: str) -> str | None:
    """Return the vocabulary that a file holds, or None where the name is no vocabulary file's."""
    match = _FILE_NAME.fullmatch(file_name)
    return match[1] if match else None


def write_vocabulary(path: Path, vocabulary: Vocabulary) -> None:
    """Write `{"kind": "str" | "int", "ids": [...]}`, one id per line."""
    kind = "int" if vocabulary.is_integer else "str"
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"kind": "{kind}", "ids": [')
        for position, identifier in enumerate(vocabulary.ids):
            file.write(",\n" if position else "\n")
            file.write(json.dumps(identifier, ensure_ascii=False))
        file.write("\n]}\n")


def read_vocabulary(path: Path) -> Vocabulary:
    """Read what `write_vocabulary` wrote, or raise an ArtifactError that says what is wrong with it."""
    try:
        content = parse_json(path.read_bytes())
        if not isinstance(content, dict) or set(content) != {"kind", "ids"}:
            raise ValueError('it must be an object with the keys "kind" and "ids"')
        kind, ids = content["kind"], content["ids"]
        if not isinstance(kind, str) or kind not in _TYPES:
            raise ValueError('its "kind" must be "str" or "int"')
        if not isinstance(ids, list):
            raise ValueError('its "ids" must be a list')
        expected = _TYPES[kind]
        for identifier in ids:  # `type`, because a bool is an int to isinstance
            if type(identifier) is not expected:
                raise ValueError(f"its ids must all be {kind}, got {identifier!r:.80}")
        # Dtypes are given, so that no ids at all still have a kind.
        return Vocabulary(np.array(ids, np.int64) if expected is int else pl.Series(ids, dtype=pl.String))
    except (ValueError, OverflowError) as error:
        raise ArtifactError(f"{path} is not a vocabulary: {error}; save the artifact again") from error
