"""config.json: which class, which arguments, from which data, and the checksums of everything beside it."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from gossamer.persistence.errors import ArtifactError
from gossamer.persistence.files import checked_size
from gossamer.persistence.strict_json import JSON, canonical_json, parse_json, plain_json
from gossamer.persistence.vocabularies import vocabulary_name
from gossamer.version import __version__

FORMAT = "gossamer-artifact"
FORMAT_VERSION = 1
CONFIG_FILE = "config.json"
TENSOR_FILE = "model.safetensors"
CARD_FILE = "card.md"
MAX_CONFIG_BYTES = 64 << 20

_KEYS: dict[str, type] = {
    "format": str,
    "format_version": int,
    "gossamer_version": str,
    "class": str,
    "arguments": dict,
    "metadata": dict,
    "provenance": dict,
    "metrics": dict,
    "files": dict,
    "checksum": str,
}
_SHA256 = re.compile(r"[0-9a-f]{64}")


def config_checksum(config: dict[str, JSON]) -> str:
    """Return the sha256 of a configuration's content without its own checksum, whatever its layout."""
    content = {key: value for key, value in config.items() if key != "checksum"}
    return hashlib.sha256(canonical_json(content).encode("ascii")).hexdigest()


def write_config(path: Path, content: dict[str, JSON]) -> None:
    """Write `content` with the format's name and version in front and its checksum behind."""
    config: dict[str, JSON] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "gossamer_version": __version__,
        **content,
    }
    config["checksum"] = config_checksum(config)
    path.write_text(json.dumps(config, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_config(path: Path) -> dict[str, JSON]:
    """Read and check config.json, or raise an ArtifactError; the class path is checked where it is resolved."""
    checked_size(path, MAX_CONFIG_BYTES)
    try:
        config = parse_json(path.read_bytes())
        plain_json("config.json", config)
    except ValueError as error:
        raise ArtifactError(f"{path} cannot be read: {error}; copy or save the artifact again") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ArtifactError(f'{path} must hold "format": "{FORMAT}": this is no gossamer artifact; choose another')
    _check_version(path, config)
    if set(config) != set(_KEYS):
        wrong = sorted(set(config) ^ set(_KEYS))
        raise ArtifactError(f"{path} must have the keys {', '.join(_KEYS)}, but not so {wrong}; save it again")
    for key, kind in _KEYS.items():
        if type(config[key]) is not kind:
            raise ArtifactError(f"{path} must have a {kind.__name__} as {key!r}; save the artifact again")
    if config["checksum"] != config_checksum(config):
        raise ArtifactError(
            f"{path} does not match its checksum: it was changed after saving; copy or save the artifact again"
        )
    check_listing(path, config)
    return config


def _check_version(path: Path, config: dict[str, JSON]) -> None:
    """A newer format may differ in anything, so this comes before every other check."""
    version = config.get("format_version")
    if type(version) is not int or version < 1:
        raise ArtifactError(f"{path} must have a positive int as 'format_version', got {version!r:.80}; save it again")
    if version > FORMAT_VERSION:
        raise ArtifactError(
            f"{path} was written by gossamer {config.get('gossamer_version')!s:.40} (format {version}); "
            f"this is gossamer {__version__} (format {FORMAT_VERSION}): upgrade gossamer to load it"
        )


def check_listing(path: Path, config: dict[str, JSON]) -> dict[str, tuple[int, str]]:
    """Return size and checksum of every file that a configuration lists; no name can leave the directory."""
    files = config["files"]
    listing: dict[str, tuple[int, str]] = {}
    for name, entry in files.items() if isinstance(files, dict) else ():
        if name not in (TENSOR_FILE, CARD_FILE) and vocabulary_name(name) is None:
            raise ArtifactError(
                f"{path} lists the file {name!r:.120}, but an artifact holds only {TENSOR_FILE}, {CARD_FILE} and "
                "vocabulary.<name>.json, without folders; do not load it"
            )
        size, sha256 = (entry.get("size"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
        if type(size) is not int or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
            raise ArtifactError(f"{path} must give an int 'size' and a 'sha256' for {name!r}; save the artifact again")
        listing[name] = (size, sha256)
    for name in (TENSOR_FILE, CARD_FILE):
        if name not in listing:
            raise ArtifactError(f"{path} must list the file {name!r}; save the artifact again")
    return listing
