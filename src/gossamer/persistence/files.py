"""Looking at a file before believing it: what it is, how large, and whether it is the one that was written."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

from gossamer.persistence.errors import ArtifactError


def checked_size(path: Path, limit: int | None = None) -> int:
    """Return the size of a regular file of at most `limit` bytes; links, pipes and devices are refused unopened."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing: the artifact is incomplete; copy or save it again") from None
    if not stat.S_ISREG(status.st_mode):
        raise ArtifactError(f"{path} must be a regular file, not a link, directory or device; copy it in its place")
    if limit is not None and status.st_size > limit:
        raise ArtifactError(f"{path} must have at most {limit} bytes, got {status.st_size}: it is not ours; remove it")
    return status.st_size


def describe_file(path: Path) -> dict[str, int | str]:
    """Return the size and the sha256 of a file, as config.json keeps them."""
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def check_file(path: Path, size: int, sha256: str, limit: int | None = None) -> None:
    """Raise an ArtifactError unless the file is exactly the one described."""
    found = checked_size(path, limit)
    if found != size:
        raise ArtifactError(
            f"{path} must have {size} bytes, got {found}: it was cut short or replaced; copy or save it again"
        )
    if describe_file(path)["sha256"] != sha256:
        raise ArtifactError(f"{path} does not match its checksum: it was changed after saving; copy or save it again")
