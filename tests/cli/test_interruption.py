"""What Ctrl-C leaves of a run that is being fitted."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.cli.interruption import resumable


def test_an_interrupted_run_keeps_its_checkpoint_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(checkpoint: Path) -> None:
        checkpoint.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), resumable(tmp_path / "vae", {"epochs": 3}) as checkpoint:
        interrupted(checkpoint)
    written = capsys.readouterr()
    assert (written.out, f"what was learned so far is in {checkpoint}; the same" in written.err) == ("", True)
    with resumable(tmp_path / "vae", {"epochs": 3}) as again:
        assert again.read_text() == "half"
    assert f"going on from {checkpoint}" in capsys.readouterr().out.replace("\n", "")
    assert not checkpoint.exists()


def test_nothing_is_promised_where_nothing_was_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), resumable(tmp_path / "vae", {}):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == ""


def test_a_failure_leaves_the_last_good_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def diverge(checkpoint: Path) -> None:
        checkpoint.write_text("half")
        raise FloatingPointError("loss is nan")

    with pytest.raises(FloatingPointError), resumable(tmp_path / "vae", {}) as checkpoint:
        diverge(checkpoint)
    assert checkpoint.exists()
    assert capsys.readouterr().err == ""
