"""A save that dies at any step leaves the old model or the new one."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from probing import fitted, refusal, state

from gossamer.persistence import atomic, read_artifact
from gossamer.persistence.atomic import replacing_directory

NUM_STEPS = 40  # a save takes about 32; the assertions below notice when there are more


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_save_killed_at_any_step_leaves_the_old_or_the_new_model(probe_module: ModuleType, tmp_path: Path) -> None:
    old, new = fitted(probe_module.Probe, seed=0), fitted(probe_module.Probe, seed=1)
    old.save(tmp_path / "old")
    for step in range(NUM_STEPS):
        shutil.copytree(tmp_path / "old", tmp_path / str(step) / "model")
    script = Path(__file__).with_name("killed_saves.py")
    subprocess.run([sys.executable, script, tmp_path, str(NUM_STEPS)], check=True, timeout=120)

    found = []
    for step in range(NUM_STEPS):
        folder = tmp_path / str(step)
        loaded = state(read_artifact(folder / "model").estimator)
        assert loaded in (state(old), state(new))
        found.append(((folder / "outcome").read_text(), "old" if loaded == state(old) else "new"))
        # The next save works and clears away whatever the dead one left.
        new.save(folder / "model")
        assert state(read_artifact(folder / "model").estimator) == state(new)
        assert {entry.name for entry in folder.iterdir()} == {"model", "outcome"}
    assert {("killed", "old"), ("killed", "new"), ("saved", "new")} == set(found)
    assert found == sorted(found, key=[("killed", "old"), ("killed", "new"), ("saved", "new")].index)


def test_killed_between_the_renames_the_old_model_is_read(
    saved: Path, probe: Any, caplog: pytest.LogCaptureFixture
) -> None:
    saved.rename(saved.with_name(".model.old-0123abcd"))
    with caplog.at_level(logging.WARNING):
        assert state(read_artifact(saved).estimator) == state(probe)
    assert "is missing because a save was interrupted" in caplog.text


def test_the_newest_of_two_set_aside_is_read(saved: Path, probe_module: ModuleType) -> None:
    older, newer = saved.with_name(".model.old-ffffffff"), saved.with_name(".model.old-00000000")
    saved.rename(older)
    os.utime(older, (1, 1))
    fitted(probe_module.Probe, seed=1).save(saved.with_name("other"))
    saved.with_name("other").rename(newer)
    assert state(read_artifact(saved).estimator) == state(fitted(probe_module.Probe, seed=1))


def test_what_was_being_removed_is_never_read(saved: Path) -> None:
    saved.rename(saved.with_name(".model.gone-0123abcd"))
    assert "does not exist" in refusal(saved)


def test_only_leftovers_of_the_same_name_are_removed(saved: Path, probe: Any, tmp_path: Path) -> None:
    for name in (".model.new-00000000", ".model.old-00000000", ".model.gone-00000000"):
        shutil.copytree(saved, tmp_path / name)
    others = [".model.new-mine", ".model2.new-00000000", ".model.old-000000000", "model.old-00000000"]
    for name in others:
        (tmp_path / name).mkdir()
    probe.save(saved)
    assert {entry.name for entry in tmp_path.iterdir()} == {"model", *others}


def test_a_failed_save_leaves_nothing_and_the_old_model(
    saved: Path, probe: Any, probe_module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_: Any) -> None:
        raise OSError("No space left on device")

    for moment in ("write_tensors", "write_vocabulary", "model_card", "describe_file", "write_config"):
        with monkeypatch.context() as patch:
            patch.setattr(f"gossamer.persistence.write.{moment}", full_disk)
            with pytest.raises(OSError, match="No space left"):
                fitted(probe_module.Probe, seed=1).save(saved)
        assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
        assert state(read_artifact(saved).estimator) == state(probe)


def test_the_old_model_is_put_back_where_the_new_one_cannot_come_in(
    saved: Path, probe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Path.rename

    def stubborn(self: Path, target: Path) -> Path:
        if ".new-" in self.name:
            raise PermissionError("not allowed")
        return honest(self, target)

    monkeypatch.setattr(Path, "rename", stubborn)
    with pytest.raises(PermissionError, match="not allowed"):
        probe.save(saved)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
    assert state(read_artifact(saved).estimator) == state(probe)


def test_a_writer_at_work_is_not_swept_away(saved: Path, probe: Any, tmp_path: Path) -> None:
    with replacing_directory(saved) as staging:
        probe.save(saved)
        assert staging.is_dir()
        for file in saved.iterdir():
            shutil.copy(file, staging)
    assert state(read_artifact(saved).estimator) == state(probe)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_a_new_directory_that_was_taken_for_a_leftover_is_made_again(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer may lock a directory between its making and its own writer's lock; then it will remove it."""
    honest, removals = atomic._lock, []

    def late(directory: Path, *, waits: bool = False) -> int | None:
        if not removals:
            other = honest(directory)
            assert other is not None

            def remove() -> None:
                shutil.rmtree(directory)
                os.close(other)

            removals.append(threading.Timer(0.05, remove))
            removals[0].start()
        return honest(directory, waits=waits)

    monkeypatch.setattr(atomic, "_lock", late)
    before = {file.name: file.read_bytes() for file in saved.iterdir()}
    with replacing_directory(saved) as staging:
        removals[0].join()
        assert staging.is_dir()
        for name, content in before.items():
            (staging / name).write_bytes(content)
    assert {file.name: file.read_bytes() for file in saved.iterdir()} == before


def test_the_only_directory_is_not_removed_while_its_writer_is_between_the_renames(
    saved: Path, probe: Any, tmp_path: Path
) -> None:
    with replacing_directory(saved) as staging:
        for file in saved.iterdir():
            shutil.copy(file, staging)
        set_aside = saved.rename(atomic._partner(staging, "old"))
        atomic._discard_set_aside(saved)  # what another writer does last
        assert set_aside.is_dir()
        assert state(read_artifact(saved).estimator) == state(probe)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_writers_and_readers_at_once(saved: Path, probe_module: ModuleType, tmp_path: Path) -> None:
    probes = [fitted(probe_module.Probe, seed=seed) for seed in range(3)]
    errors: list[BaseException] = []

    def work(probe: Any) -> None:
        try:
            for _ in range(10):
                probe.save(saved)
                assert state(read_artifact(saved).estimator) in states
        except BaseException as error:
            errors.append(error)

    states = [state(probe) for probe in probes]
    threads = [threading.Thread(target=work, args=(probe,)) for probe in probes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
