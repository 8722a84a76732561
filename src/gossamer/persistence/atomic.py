"""Replace a whole directory so that a crash at any moment leaves the old one or the new one.

New content is written to `.NAME.new-xxxxxxxx` beside it and synced; then the old directory is renamed to
`.NAME.old-xxxxxxxx`, the new one to `NAME`, and the old one to `.NAME.gone-xxxxxxxx` and removed. Should a crash fall
between the first two renames, `look_inside` still finds the old one; the next save removes whatever a crash left.

Several writers may be at work. Each locks what it writes to, so that no other takes it for a leftover; the lock ends
with the process, however it ends. New and old directory of one save end alike: as long as there is a new one beside it,
the old one may be all there is, and no other writer removes it.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from gossamer.core.atomic import sync_to_disk
from gossamer.persistence.errors import ArtifactError

if sys.platform != "win32":
    import fcntl

_log = logging.getLogger(__name__)

T = TypeVar("T")


@contextmanager
def replacing_directory(path: Path) -> Iterator[Path]:
    """Yield an empty directory that becomes `path` when the block ends well, and vanishes when it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    staging, lock = _locked_directory(path)
    try:
        yield staging
        for file in staging.iterdir():
            sync_to_disk(file)
        sync_to_disk(staging)
        _move_in(staging, path)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    _discard_set_aside(path)


def look_inside(path: Path, look: Callable[[Path], T]) -> T:
    """Return `look(directory)` of the directory at `path`, looking again where a save replaced it meanwhile.

    Where a save was killed between its two renames, the directory is the old one that was set aside.
    """
    while True:
        directory = _present_directory(path)
        before = directory, _identity(directory)
        try:
            seen = look(directory)
        except (ArtifactError, FileNotFoundError):
            if _is_still(path, before):
                raise
        else:  # what was seen may be half of the old and half of the new directory
            if _is_still(path, before):
                return seen


def _is_still(path: Path, before: tuple[Path, tuple[int, int, int]]) -> bool:
    directory = _present_directory(path)
    return (directory, _identity(directory)) == before  # both: a directory set aside keeps its identity


def _identity(directory: Path) -> tuple[int, int, int]:
    try:
        status = directory.stat()
    except FileNotFoundError:
        return 0, 0, 0
    return status.st_mtime_ns, status.st_ino, status.st_dev  # the time too, because inodes are used again


def _present_directory(path: Path) -> Path:
    if os.path.lexists(path):
        return path
    set_aside = sorted(_siblings(path, "old"), key=_identity)  # the newest last
    if not set_aside:
        return path
    _log.warning("%s is missing because a save was interrupted; reading %s", path, set_aside[-1])
    return set_aside[-1]


def _siblings(path: Path, role: str) -> list[Path]:
    pattern = re.compile(rf"\.{re.escape(path.name)}\.{role}-[0-9a-f]{{8}}")
    if not path.parent.is_dir():
        return []
    return [sibling for sibling in path.parent.iterdir() if pattern.fullmatch(sibling.name)]


def _new_sibling(path: Path, role: str) -> Path:
    return path.parent / f".{path.name}.{role}-{secrets.token_hex(4)}"


def _partner(sibling: Path, role: str) -> Path:
    """Return the directory of the same save in another role."""
    return sibling.with_name(re.sub(r"\.(new|old)-(?=[0-9a-f]{8}$)", f".{role}-", sibling.name))


def _locked_directory(path: Path) -> tuple[Path, int | None]:
    """Make a staging directory and lock it, so that another writer does not take it for a leftover."""
    while True:
        staging = _new_sibling(path, "new")
        staging.mkdir()
        lock = _lock(staging, waits=True)  # for a writer that took it for a leftover, and is removing it
        if staging.exists():
            return staging, lock
        if lock is not None:
            os.close(lock)


def _remove_leftovers(path: Path) -> None:
    """Remove what dead writers left."""
    for leftover in _siblings(path, "gone"):
        shutil.rmtree(leftover, ignore_errors=True)
    for leftover in _siblings(path, "new"):
        lock = _lock(leftover)
        if lock is not None:
            shutil.rmtree(leftover, ignore_errors=True)
            os.close(lock)


def _discard_set_aside(path: Path) -> None:
    """Remove what was set aside, but for what a writer may still have to put back."""
    for set_aside in _siblings(path, "old"):
        if not _partner(set_aside, "new").exists():
            _discard(set_aside, path)


def _discard(set_aside: Path, path: Path) -> None:
    """Remove a directory under another name, so that a directory set aside is always whole."""
    gone = _new_sibling(path, "gone")
    with suppress(OSError):  # another writer may have been quicker
        set_aside.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _lock(directory: Path, *, waits: bool = False) -> int | None:
    """Return a descriptor that holds the directory's lock, or None where it is gone, not supported, or taken.

    With `waits` a lock that is taken is waited for.
    """
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _move_in(staging: Path, path: Path) -> None:
    """Give `staging` the name `path`; what had it is set aside, and put back where that fails."""
    set_aside = _partner(staging, "old")
    while True:
        with suppress(FileNotFoundError):  # there may be nothing to replace
            path.rename(set_aside)
        try:
            staging.rename(path)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):  # another writer came in between
                _discard(set_aside, path)
                continue
            if set_aside.exists():
                set_aside.rename(path)
            raise
        sync_to_disk(path.parent)  # the new name is on disk before the old content goes
        return
