"""Download one file: streamed beside its place, checked, and only then given its name."""

from __future__ import annotations

import hashlib
import logging
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import IO

from gossamer.core.atomic import replacing_file
from gossamer.core.progress import track

logger = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 20
TIMEOUT_SECONDS = 30


def download(url: str, path: Path, checksum: str | None = None) -> None:
    """Fetch `url` into `path`; nothing appears at `path` unless it is whole and has the checksum ("md5:…").

    Network trouble and short downloads are OSErrors, a wrong checksum is a ValueError.
    """
    logger.info("downloading %s", url)
    request = urllib.request.Request(url, headers={"User-Agent": "gossamer"})
    with replacing_file(path) as temporary:
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
                length = response.headers.get("Content-Length")
                expected = int(length) if length else None
                received = _copy(response, temporary, expected, path.name)
        except (HTTPException, ValueError) as error:
            raise OSError(f"{url}: {error}") from error
        if expected is not None and received != expected:
            raise OSError(f"{url} must be {expected:,} bytes, got {received:,}: the connection was cut")
        check_file(temporary, checksum, name=url)


def check_file(path: Path, checksum: str | None, name: str | None = None) -> None:
    """Check a file against "md5:…" or "sha256:…"; None means that nobody publishes one."""
    if checksum is None:
        return
    algorithm, expected = checksum.split(":")
    with path.open("rb") as stream:
        actual = hashlib.file_digest(stream, algorithm).hexdigest()
    if actual != expected:
        raise ValueError(
            f"{name or path} must have {algorithm} {expected}, got {actual}; "
            "the file is damaged or is not the published one"
        )


def _copy(response: IO[bytes], path: Path, expected: int | None, name: str) -> int:
    def chunks() -> Iterator[bytes]:
        while chunk := response.read(CHUNK_BYTES):
            yield chunk

    total = None if expected is None else -(-expected // CHUNK_BYTES)
    received = 0
    with path.open("wb") as stream:
        for chunk in track(chunks(), f"downloading {name} (MiB)", total=total):
            stream.write(chunk)
            received += len(chunk)
    return received
