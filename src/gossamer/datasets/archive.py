"""Take the wanted files out of an archive, whatever else it holds and wherever it would like to write."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from typing import IO

from gossamer.core.atomic import replacing_file


def extract_members(archive: Path, wanted: Iterable[str], folder: Path) -> None:
    """Write the wanted regular files of a zip or tar archive into `folder`, under their wanted names.

    A member is wanted as `name` or `<one folder>/name`. Only the caller's names are ever used as paths, so a
    member called `../../x`, an absolute path or a link cannot write anywhere; such members are simply not wanted.
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                members = {info.filename: info for info in opened.infolist() if not info.is_dir()}
                for name in wanted:
                    _write(opened.open(members[_member(archive, name, members)]), folder / name)
        else:
            with tarfile.open(archive) as packed:
                files = {info.name: info for info in packed.getmembers() if info.isreg()}
                for name in wanted:
                    stream = packed.extractfile(files[_member(archive, name, files)])
                    assert stream is not None  # only regular files are in `files`
                    _write(stream, folder / name)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError) as error:
        raise ValueError(f"{archive} must be a whole zip or tar archive, got a damaged one ({error})") from None


def _member(archive: Path, wanted: str, members: Iterable[str]) -> str:
    for member in members:
        parts = PurePosixPath(member).parts
        if parts == (wanted,) or (len(parts) == 2 and parts[0] not in ("..", "/") and parts[1] == wanted):
            return member
    raise ValueError(f"{archive} must contain {wanted}, got an archive without it")


def _write(source: AbstractContextManager[IO[bytes]], path: Path) -> None:
    with source as stream, replacing_file(path) as temporary, temporary.open("wb") as target:
        shutil.copyfileobj(stream, target)
