"""Loading what is not an artifact, or not a whole one, or is being replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from probing import fitted, nothing_executed, refusal, state

import gossamer.persistence.read as reading
from gossamer.persistence import read_artifact


def test_missing_artifact(tmp_path: Path) -> None:
    assert refusal(tmp_path / "model").endswith("model does not exist; check the path, or save a model there first")
    assert "does not exist" in refusal(tmp_path / "no" / "such" / "folder" / "model")


def test_a_file_is_not_an_artifact(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("")
    assert "model must be a directory" in refusal(tmp_path / "model")


def test_any_other_directory_is_not_an_artifact(tmp_path: Path) -> None:
    assert "config.json is missing" in refusal(tmp_path)
    (tmp_path / "config.json").write_text('{"architectures": ["Bert"]}')
    assert "this is no gossamer artifact" in refusal(tmp_path)


@pytest.mark.parametrize(
    "file", ["config.json", "model.safetensors", "card.md", "vocabulary.items.json", "vocabulary.users.json"]
)
def test_every_file_is_needed_whole_and_unchanged(saved: Path, file: str) -> None:
    content = (saved / file).read_bytes()
    (saved / file).unlink()
    assert f"{file} is missing" in refusal(saved)
    (saved / file).write_bytes(content[:-9])
    assert file in refusal(saved)
    (saved / file).write_bytes(content.replace(b"0", b"1"))
    if b"0" in content:
        assert f"{file} does not match its checksum: it was changed after saving" in refusal(saved)


def test_an_extra_file_is_refused(saved: Path) -> None:
    (saved / "payload.pkl").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    assert "holds 'payload.pkl', which is not part of the artifact; move it away" in refusal(saved)


def test_the_watch_on_execution_does_watch() -> None:
    with pytest.raises(AssertionError, match="compile"), nothing_executed():
        eval("1 + 1")


def test_a_save_meanwhile_is_noticed(saved: Path, probe_module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = fitted(probe_module.Probe, seed=1)
    honest, calls = reading.read_config, []

    def replaced_in_between(path: Path) -> dict[str, Any]:
        config = honest(path)
        if not calls:
            calls.append(path)
            newer.save(saved)
        return config

    monkeypatch.setattr(reading, "read_config", replaced_in_between)
    assert state(read_artifact(saved).estimator) == state(newer)


def test_an_impossible_path_is_refused() -> None:
    assert "cannot be read: " in refusal(Path("a\0b"))


def test_a_save_killed_behind_a_link_is_found(saved: Path, probe: Any, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(saved, target_is_directory=True)
    saved.rename(saved.with_name(".model.old-0123abcd"))
    assert state(read_artifact(tmp_path / "latest").estimator) == state(probe)


def test_load_returns_the_model_of_any_family(tmp_path: Path, probe_module: Any) -> None:
    import gossamer

    fitted(probe_module.Probe).save(tmp_path / "model")
    assert state(gossamer.load(tmp_path / "model")) == state(read_artifact(tmp_path / "model").estimator)
