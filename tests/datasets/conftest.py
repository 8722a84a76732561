"""A machine of its own for every test: empty data and cache directories, and no network."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest


@pytest.fixture
def folders(tmp_path, monkeypatch) -> Path:
    """Set $GOSSAMER_DATA and $GOSSAMER_CACHE to `data` and `cache` below the returned directory, and go offline."""
    monkeypatch.setenv("GOSSAMER_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WNHOME", raising=False)

    def offline(*args: object, **options: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    return tmp_path


@pytest.fixture
def put(folders):
    """Return a function that writes a file below $GOSSAMER_DATA."""

    def write(name: str, content: str | bytes) -> Path:
        path = folders / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
