from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.models.linear import memory


def test_available_memory_is_read_in_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "meminfo").write_text("MemTotal:       100 kB\nMemAvailable:    42 kB\n", encoding="ascii")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    assert memory.available_bytes() == 42 * 1024


@pytest.mark.parametrize("text", [None, "MemTotal: 100 kB\n"])
def test_a_system_that_does_not_tell_gives_none(text: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    if text is not None:
        (tmp_path / "meminfo").write_text(text, encoding="ascii")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    assert memory.available_bytes() is None
