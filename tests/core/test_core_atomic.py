from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from gossamer.core.atomic import replacing_file


def test_the_new_content_takes_the_name(tmp_path):
    path = tmp_path / "deep" / "file.txt"
    for content in ("old", "new"):
        with replacing_file(path) as temporary:
            temporary.write_text(content)
            assert temporary != path
        assert path.read_text() == content
    assert os.listdir(path.parent) == ["file.txt"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def write_half() -> None:
        with replacing_file(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_a_kill_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    program = (
        "import os, signal, sys; from pathlib import Path; from gossamer.core.atomic import replacing_file\n"
        "with replacing_file(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"


def test_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing_file(tmp_path / "file.txt") as temporary:
            temporary.write_text("shared")
    finally:
        os.umask(before)
    assert (tmp_path / "file.txt").stat().st_mode & 0o777 == 0o640


def test_only_what_must_outlive_the_machine_waits_for_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("gossamer.core.atomic.sync_to_disk", synced.append)
    for durable in (False, True):
        with replacing_file(tmp_path / "file.txt", durable=durable) as temporary:
            temporary.write_text(str(durable))
        assert (tmp_path / "file.txt").read_text() == str(durable)
        assert len(synced) == (2 if durable else 0)
