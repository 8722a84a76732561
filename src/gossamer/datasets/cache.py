"""Where data sets are looked for and kept: `$GOSSAMER_DATA` first, then the cache directory."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def data_directory() -> Path | None:
    """Return the user's own data directory, `$GOSSAMER_DATA`, or None where it is unset."""
    folder = os.environ.get("GOSSAMER_DATA")
    return Path(folder).expanduser() if folder else None


def cache_directory() -> Path:
    """Return `$GOSSAMER_CACHE`, else `$XDG_CACHE_HOME/gossamer`, else `~/.cache/gossamer`; it need not exist."""
    if folder := os.environ.get("GOSSAMER_CACHE"):
        return Path(folder).expanduser()
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder).expanduser() / "gossamer"
    try:
        home = Path.home()
    except RuntimeError:  # a process without HOME and without an entry in the user database
        home = Path(tempfile.gettempdir())
    return home / ".cache" / "gossamer"


def search_directories() -> list[Path]:
    """Return the directories that may hold data sets, in the order they are searched."""
    own = data_directory()
    return [cache_directory()] if own is None else [own, cache_directory()]
