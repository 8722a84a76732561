"""Text files, plain or gzipped, as blocks of whole records or as lines, with every fault named by its line."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import polars as pl

from gossamer.core.checks import check_choice

FilePath = str | os.PathLike[str]

ENCODINGS = ("utf-8", "latin-1")
BLOCK_BYTES = 1 << 24
LONGEST_RECORD_BYTES = 1 << 26


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Turn what gzip, the system or polars say about a damaged input into one ValueError that names it."""
    try:
        yield
    except (FileNotFoundError, ValueError):
        raise
    except IsADirectoryError:
        raise ValueError(f"{name} must be a file, got a directory") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as fault:
        raise ValueError(
            f"{name} must be a complete gzip file, got a damaged or truncated one ({fault}); fetch it again"
        ) from None
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as fault:
        reason = (str(fault).strip().splitlines() or [type(fault).__name__])[0]
        raise ValueError(f"{name} must be readable, got: {reason}; is the file complete and of this format?") from None


def file_name(path: FilePath) -> str:
    """Return how messages call a file: its path as the user wrote it."""
    return os.fspath(path)


def check_exists(path: FilePath) -> Path:
    """Return the path of an existing, non-empty file."""
    found = Path(path)
    with readable(file_name(path)):
        if not found.exists():
            raise FileNotFoundError(f"{path} must be an existing file, got none; check the path")
        if found.is_dir():
            raise ValueError(f"{path} must be a file, got a directory")
        if found.stat().st_size == 0:
            raise ValueError(f"{path} must have content, got an empty file")
    return found


def is_gzip(path: FilePath) -> bool:
    """Say whether the file's ending promises gzip."""
    return Path(path).suffix.lower() == ".gz"


def read_blocks(path: FilePath, *, encoding: str = "utf-8", quoted: bool = False) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, UTF-8 bytes) of blocks that end where a line, or a quoted record, ends.

    Invalid characters and NUL bytes raise a ValueError with their line; a byte order mark is dropped.
    """
    check_choice("encoding", encoding, ENCODINGS)
    name, line, rest = file_name(path), 1, b""
    found = check_exists(path)
    with readable(name), _open_bytes(found) as file:
        at_start = True
        while piece := file.read(BLOCK_BYTES):
            if at_start:
                piece, at_start = piece.removeprefix(b"\xef\xbb\xbf"), False
            piece = rest + piece
            cut = _last_record_end(piece, quoted)
            if cut:
                yield line, _decoded(name, line, piece[:cut], encoding)
                line += piece.count(b"\n", 0, cut)
            rest = piece[cut:]
            if len(rest) > LONGEST_RECORD_BYTES:
                raise ValueError(
                    f"{name}, line {line} must be shorter than {LONGEST_RECORD_BYTES >> 20} MiB, got more; "
                    "is a quote left open, or is this no text file?"
                )
        if rest:
            yield line, _decoded(name, line, rest, encoding)


def read_lines(path: FilePath, *, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a text file."""
    for first, block in read_blocks(path, encoding=encoding):
        # Not splitlines: it also splits at U+2028 and other characters that are ordinary inside a text.
        lines = block.decode().split("\n")
        if lines[-1] == "":
            lines.pop()
        for number, line in enumerate(lines, start=first):
            yield number, line.removesuffix("\r")


def _open_bytes(path: Path) -> IO[bytes]:
    if is_gzip(path):
        return gzip.open(path, "rb")  # type: ignore[return-value]  # a GzipFile reads like any binary file
    return path.open("rb")


def _last_record_end(piece: bytes, quoted: bool) -> int:
    """Return the end of the last line outside quotes: a line end with an even number of quotes before it."""
    end = piece.rfind(b"\n") + 1
    if not quoted or not end:
        return end
    open_quotes = piece.count(b'"', 0, end) % 2
    while end and open_quotes:
        previous = piece.rfind(b"\n", 0, end - 1) + 1
        open_quotes = (open_quotes - piece.count(b'"', previous, end)) % 2
        end = previous
    return end


def _decoded(name: str, first_line: int, block: bytes, encoding: str) -> bytes:
    nul = block.find(b"\0")
    if nul >= 0:
        line = first_line + block.count(b"\n", 0, nul)
        raise ValueError(f"{name}, line {line} must be text, got a NUL byte; save the file as UTF-8 text")
    if encoding == "latin-1":
        return block.decode("latin-1").encode()
    try:
        block.decode("utf-8")
    except UnicodeDecodeError as fault:
        line = first_line + block.count(b"\n", 0, fault.start)
        raise ValueError(
            f"{name}, line {line} must be UTF-8 text, got the byte 0x{block[fault.start]:02x}; "
            "convert the file, or pass encoding='latin-1' where the reader takes it"
        ) from None
    return block
