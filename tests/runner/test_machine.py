"""Commit, code hash, machine and memory: what a record says about how it came to be."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.runner import machine


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package's source that may be edited."""
    copy = tmp_path / "gossamer"
    shutil.copytree(machine.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(machine, "PACKAGE", copy)
    return copy


def edit(path: Path) -> None:
    path.write_text(path.read_text() + "\n# edited\n")


@pytest.mark.parametrize(
    "path",
    [
        "core/checks.py",
        "metrics/ranking.py",
        "models/linear/__init__.py",
        "models/item_ranker.py",
        "runner/run.py",
        "runner/per_user.py",
    ],
)
def test_the_hash_follows_the_code_behind_a_row(package: Path, path: str) -> None:
    before = machine.code_hash("linear")
    edit(package / path)
    assert machine.code_hash("linear") != before


@pytest.mark.parametrize("path", ["cli/__init__.py", "report/__init__.py", "runner/table.py", "runner/peers.py"])
def test_the_hash_ignores_what_cannot_change_a_number(package: Path, path: str) -> None:
    before = machine.code_hash("linear")
    edit(package / path)
    assert machine.code_hash("linear") == before


def test_another_family_does_not_invalidate_a_row(package: Path) -> None:
    before = machine.code_hash("linear"), machine.code_hash(None)
    (package / "models" / "other").mkdir()
    (package / "models" / "other" / "__init__.py").write_text('"""New."""\n')
    assert (machine.code_hash("linear"), machine.code_hash(None)) == before
    edit(package / "runner" / "peers.py")
    assert machine.code_hash(None) != before[1]


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_the_commit_is_that_of_the_checkout_and_knows_its_changes(package: Path, tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    (root / "src").mkdir(parents=True)
    moved = root / "src" / "gossamer"
    shutil.move(package, moved)
    machine.PACKAGE = moved  # the fixture's monkeypatch restores it
    git(root, "init", "-q")
    assert machine.commit() == (None, None), "somebody else's repository is not ours"
    git(root, "add", "src")
    git(root, "commit", "-qm", "all")
    commit, dirty = machine.commit()
    assert commit is not None
    assert (len(commit), dirty) == (40, False)
    (root / "results").mkdir()
    (root / "results" / "x.json").write_text("{}")
    assert machine.commit() == (commit, False), "records do not make the code dirty"
    edit(moved / "version.py")
    assert machine.commit() == (commit, True)


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert machine.commit() == (None, None)


def test_the_machine_is_described_without_its_name() -> None:
    described = machine.machine()
    assert described["cores"] >= 1
    assert described["python"].startswith(f"{sys.version_info.major}.")
    assert "host" not in described


def test_versions_name_the_arithmetic_and_what_is_asked_for() -> None:
    assert {"gossamer", "numpy", "torch", "typer"} <= set(machine.versions("typer"))


SEEN_IN_A_NEW_PROCESS = """
import numpy as np
from gossamer.runner import machine
machine.reset_peak_rss()
before = machine.peak_rss_bytes()
block = np.ones(16 << 20)
print(machine.peak_rss_bytes() - before)
"""


def test_peak_memory_sees_what_was_allocated_since_the_reset() -> None:
    # As rows are run: a process that was larger before may still hold what it has freed, and needs nothing new.
    done = subprocess.run([sys.executable, "-c", SEEN_IN_A_NEW_PROCESS], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 100 << 20


def test_peak_memory_without_proc_is_the_systems_own_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", refuse)
    monkeypatch.setattr(Path, "write_text", refuse)
    machine.reset_peak_rss()
    assert machine.peak_rss_bytes() > 10 << 20
