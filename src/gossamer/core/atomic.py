"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing_file(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """Yield a new name beside `path` to write to; it becomes `path` when the block ends well, and vanishes otherwise.

    The content is on disk before the name is: a process killed, or a machine that loses power, at any moment leaves
    the previous file or the new one. What need not outlive the machine is written without waiting for the disk
    (`durable=False`). Missing parent directories are made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        if durable:
            sync_to_disk(temporary)
        os.replace(temporary, path)
        if durable:
            sync_to_disk(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sync_to_disk(path: Path) -> None:
    """Flush a file's content, or a directory's names, to the disk."""
    if sys.platform == "win32":  # directories cannot be opened there, files need write access to be synced
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
