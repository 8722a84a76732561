"""The running interpreter's standard library as raw data: parsed once, kept in the cache, never executed."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import platform
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from gossamer.core.atomic import replacing_file
from gossamer.core.progress import track
from gossamer.datasets import stdlib_names
from gossamer.datasets.cache import cache_directory

logger = logging.getLogger(__name__)

# Installed packages, compiled files, and the inputs of tests (which are often wrong on purpose).
SKIPPED_DIRECTORIES = frozenset({"site-packages", "dist-packages", "__pycache__", "lib-dynload", "data"})


@dataclass(frozen=True)
class StdlibSource:
    """Modules, the names they use with counts, the calls of every function, and all docstrings.

    `uses[m]` is [[name number, count], …] for module m; `calls` is [function, [name number, …]];
    `docstrings` is [owner's dotted name, module number, text].
    """

    modules: list[str]
    names: list[str]
    uses: list[list[list[int]]]
    calls: list[tuple[str, list[int]]]
    docstrings: list[tuple[str, int, str]]


def library_directory() -> Path:
    """Return where the running interpreter keeps its standard library, also inside a virtual environment."""
    return Path(sysconfig.get_path("stdlib"))


def load_stdlib_source() -> StdlibSource:
    """Return the parsed standard library, from the cache where this very library was parsed before."""
    root = library_directory()
    files = list(source_files(root))
    if not files:
        raise FileNotFoundError(
            f"the source files of Python's standard library must lie in {root}, got none; "
            "use a Python that ships its library as .py files"
        )
    path = cache_directory() / f"stdlib-{platform.python_version()}-{_key(root, files)}.json.gz"
    cached = _read_cache(path)
    if cached is not None:
        return cached
    parsed = parse_library(root, files)
    try:
        _write_cache(path, parsed)
    except OSError as error:  # a read-only home: slower next time, nothing else
        logger.info("parsed standard library not kept in %s: %s", path, error)
    return parsed


def source_files(root: Path) -> Iterator[Path]:
    """Yield the .py files below `root` in a fixed order, without installed packages and test inputs."""
    for entry in sorted(root.iterdir(), key=lambda path: path.name) if root.is_dir() else ():
        if entry.is_dir():
            if entry.name not in SKIPPED_DIRECTORIES and not entry.name.startswith("config-"):
                yield from source_files(entry)
        elif entry.suffix == ".py":
            yield entry


def parse_library(root: Path, files: list[Path]) -> StdlibSource:
    """Parse `files` below `root`; files that are not valid Python (test inputs, templates) are left out."""
    source = StdlibSource([], [], [], [], [])
    numbers: dict[str, int] = {}

    def number(name: str) -> int:
        if name not in numbers:
            numbers[name] = len(numbers)
            source.names.append(name)
        return numbers[name]

    for file in track(files, "reading the standard library"):
        parts = file.relative_to(root).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # invalid escapes in old tests are no concern of the user
                found = stdlib_names.read_names(file.read_bytes(), module, is_package=is_package)
        except (SyntaxError, ValueError, RecursionError, OSError) as error:
            logger.debug("%s left out: %s", file, error)
            continue
        source.modules.append(module)
        source.uses.append([[number(name), count] for name, count in found.uses.items()])
        source.calls.extend((function, [number(name) for name in called]) for function, called in found.calls)
        index = len(source.modules) - 1
        source.docstrings.extend((owner, index, text) for owner, text in found.docstrings.items())
    return source


def _key(root: Path, files: list[Path]) -> str:
    """Identify parser and library: another version of either never meets an old cache file."""
    digest = hashlib.sha256()
    for module in (stdlib_names.__file__, __file__):
        digest.update(Path(module).read_bytes())
    for file in files:
        digest.update(f"{file.relative_to(root).as_posix()} {file.stat().st_size}\n".encode())
    return digest.hexdigest()[:16]


def _read_cache(path: Path) -> StdlibSource | None:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            stored: dict[str, Any] = json.load(stream)
        if sorted(stored) != sorted(field.name for field in fields(StdlibSource)):
            raise ValueError(f"unexpected fields {sorted(stored)}")
        return StdlibSource(**stored)
    except FileNotFoundError:
        return None
    except (OSError, EOFError, ValueError, TypeError) as error:
        logger.warning("%s is not readable (%s); the standard library is parsed again", path, error)
        return None


def _write_cache(path: Path, source: StdlibSource) -> None:
    with replacing_file(path) as temporary, gzip.open(temporary, "wt", encoding="utf-8", compresslevel=3) as stream:
        json.dump(asdict(source), stream, ensure_ascii=True, separators=(",", ":"))
