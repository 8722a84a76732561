"""Where the files of a data set come from, where they are looked for, and what to tell a user who lacks them."""

from __future__ import annotations

import gzip
import hashlib
import logging
import lzma
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.datasets.archive import extract_members
from gossamer.datasets.cache import cache_directory, data_directory, search_directories
from gossamer.datasets.download import check_file, download

logger = logging.getLogger(__name__)

COMPRESSED_ENDINGS = ("", ".gz")


@dataclass(frozen=True)
class Download:
    """One file at its official address; `members` are the files to take out of it, where it is an archive.

    `checksum` is "md5:…" or "sha256:…" as the publisher (or a widely used library) states it, None where nobody
    does: then the loader's own counts of rows are the check.
    """

    url: str
    checksum: str | None = None
    members: tuple[str, ...] = ()
    saved_as: str | None = None

    @property
    def file_name(self) -> str:
        """The name under which the file is kept."""
        return self.saved_as or self.url.rsplit("/", 1)[1]


@dataclass(frozen=True)
class Source:
    """Folders that may hold a data set, the files it needs, and how to get them.

    `layouts` are alternatives: the first whose files are all there (plain or .gz) is read; `downloads` supply
    one of them. `content_md5` are checksums of the uncompressed files that publishers or mirrors agree on.
    `other_folders` are places of other programs, in which environment variables are filled in.
    """

    folder: str
    layouts: tuple[tuple[str, ...], ...]
    downloads: tuple[Download, ...] = ()
    content_md5: Mapping[str, str] = field(default_factory=dict)
    other_folders: tuple[str, ...] = ()
    advice: str = ""

    def directories(self) -> list[Path]:
        """Return the directories that are searched, in order."""
        expanded = (os.path.expandvars(folder) for folder in self.other_folders)
        others = [Path(folder) for folder in expanded if "$" not in folder]
        return [*(directory / self.folder for directory in search_directories()), *others]

    def find(self) -> Files | None:
        """Return the files where they are complete on this machine; nothing is downloaded."""
        for directory in self.directories():
            for layout in self.layouts:
                paths = {name: _present(directory / name) for name in layout}
                if all(paths.values()):
                    return Files(directory, {name: path for name, path in paths.items() if path}, self.content_md5)
        return None

    def obtain(self) -> Files:
        """Return the files, downloaded into the cache where they are nowhere else, or say what to put where."""
        found = self.find()
        if found is not None:
            return found
        reason = "no address to download from"
        if self.downloads:
            try:
                self._download()
            except OSError as error:
                reason = f"download failed: {error}"
            else:
                found = self.find()
                reason = "the download lacked some of them"
        if found is None:
            raise FileNotFoundError(self.instructions(reason))
        return found

    def instructions(self, reason: str) -> str:
        """Say in one message which files to put into which directory, and from which address."""
        own = data_directory()
        shown = "" if own is not None else f" (or below a directory that $GOSSAMER_DATA names, in {self.folder}/)"
        wanted = " or ".join(", ".join(layout) for layout in self.layouts)
        addresses = ", ".join(download.url for download in self.downloads)
        origin = f"; they come from {addresses}" if addresses else ""
        archives = [download.file_name for download in self.downloads if download.members]
        packed = f"; {', '.join(archives)} itself may lie there too" if archives else ""
        advice = f"; {self.advice}" if self.advice else ""
        return (
            f"{self.folder} must be on this machine, got no complete copy ({reason}): put {wanted} "
            f"(plain or .gz) into {' or '.join(map(str, self.directories()))}{shown}{origin}{packed}{advice}"
        )

    def _download(self) -> None:
        folder = cache_directory() / self.folder
        for wanted in self.downloads:
            if not wanted.members:
                download(wanted.url, folder / wanted.file_name, wanted.checksum)
                continue
            archive = self._supplied_archive(wanted)
            if archive is not None:
                extract_members(archive, wanted.members, folder)
                continue
            archive = folder / wanted.file_name
            download(wanted.url, archive, wanted.checksum)
            extract_members(archive, wanted.members, folder)
            archive.unlink()  # the files in it are kept, twice the space is not

    def _supplied_archive(self, wanted: Download) -> Path | None:
        """Return the archive where somebody put it, checked like a download."""
        for directory in search_directories():
            for place in (directory / self.folder / wanted.file_name, directory / wanted.file_name):
                if place.is_file():
                    check_file(place, wanted.checksum)
                    return place
        return None


@dataclass(frozen=True)
class Files:
    """The files of a data set on this machine, by their official names."""

    directory: Path
    paths: Mapping[str, Path]
    content_md5: Mapping[str, str]

    def __contains__(self, name: str) -> bool:
        return name in self.paths

    def optional_path(self, name: str) -> Path | None:
        """Return the path of a file that not every copy has, or None."""
        return _present(self.directory / name)

    def read(self, name: str) -> bytes:
        """Return a file's uncompressed content, checked against its known checksum."""
        path = self.paths[name]
        content = read_compressed(path)
        expected = self.content_md5.get(name)
        if expected is not None:
            actual = hashlib.md5(content, usedforsecurity=False).hexdigest()
            if actual != expected:
                raise ValueError(f"{path} must have the content with md5 {expected}, got {actual}; fetch it again")
        return content

    def checked_path(self, name: str) -> Path:
        """Return the file's path for a reader, its content checked first where a checksum is known."""
        if name in self.content_md5:
            self.read(name)
        return self.paths[name]

    def read_text(self, name: str, encoding: str = "utf-8") -> str:
        """Return a file's uncompressed content as text."""
        try:
            return self.read(name).decode(encoding)
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.paths[name]} must be {encoding} text, got {error}") from None


def read_compressed(path: Path) -> bytes:
    """Return the content of a plain, .gz or .xz file; a damaged one is a ValueError that names it."""
    content = path.read_bytes()
    try:
        if path.suffix == ".gz":
            return gzip.decompress(content)
        if path.suffix == ".xz":
            return lzma.decompress(content)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path} must be a whole {path.suffix} file, got a damaged one ({error})") from None
    return content


def check_count(what: str, actual: int, expected: int, place: Path) -> None:
    """Check a number the publisher states, so that a cut-off file is noticed."""
    if actual != expected:
        raise ValueError(f"{place} must hold {expected:,} {what}, got {actual:,}; the copy is incomplete or altered")


def _present(path: Path) -> Path | None:
    for ending in COMPRESSED_ENDINGS:
        candidate = path.with_name(path.name + ending)
        if candidate.is_file():
            return candidate
    return None
