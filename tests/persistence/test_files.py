"""Files that are cut short, links, pipes or not to be read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from probing import refusal


def test_truncated_tensors_say_by_how_much(saved: Path) -> None:
    size = (saved / "model.safetensors").stat().st_size
    os.truncate(saved / "model.safetensors", size - 1)
    assert f"model.safetensors must have {size} bytes, got {size - 1}: it was cut short" in refusal(saved)


@pytest.mark.parametrize("target", ["outside", "inside", "nowhere"])
def test_links_are_refused(saved: Path, tmp_path: Path, target: str) -> None:
    file = saved / "vocabulary.items.json"
    shutil.copy(file, tmp_path / "outside")
    file.unlink()
    file.symlink_to({"outside": tmp_path / "outside", "inside": "vocabulary.users.json", "nowhere": "gone"}[target])
    assert "vocabulary.items.json must be a regular file, not a link" in refusal(saved)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_and_not_waited_for(saved: Path) -> None:
    (saved / "config.json").unlink()
    os.mkfifo(saved / "config.json")
    assert "config.json must be a regular file" in refusal(saved)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(saved: Path) -> None:
    (saved / "config.json").chmod(0)
    assert "check the path and its permissions" in refusal(saved)
