"""A run that was killed and resumed ends with the bits of a run that was not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from gossamer.training.checkpoint import copy_state, read_checkpoint

sys.path.insert(0, str(Path(__file__).parent))  # tests are no package
import resume_program


def assert_identical(found: Any, expected: Any) -> None:
    if isinstance(expected, torch.Tensor):
        assert torch.equal(found, expected)
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            assert_identical(found[key], expected[key])
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert_identical(ours, theirs)
    else:
        assert found == expected


def start(folder: Path, kill_after: int) -> subprocess.Popen[bytes]:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-W", "error", resume_program.__file__, str(folder), str(kill_after)]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})


def test_killed_and_resumed_is_bit_identical_to_uninterrupted(tmp_path):
    uninterrupted = start(tmp_path / "whole", 0)
    killed = start(tmp_path / "cut", 14)  # nine batches per epoch: in the middle of the second
    assert killed.wait(250) == -signal.SIGKILL
    assert read_checkpoint(tmp_path / "cut" / "checkpoint")["loop"]["next_batch"] == 3
    assert start(tmp_path / "cut", 0).wait(250) == 0
    assert uninterrupted.wait(250) == 0

    whole, cut = (read_checkpoint(tmp_path / name / "result") for name in ("whole", "cut"))
    assert whole.pop("served") > cut.pop("served") > 0
    assert_identical(cut, whole)
    logs = [(tmp_path / name / "log.jsonl").read_text() for name in ("whole", "cut")]
    assert logs[0] == logs[1]


class Crash(Exception):
    pass


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[dict[str, Any], dict[str, Any], str]:
    folder = tmp_path_factory.mktemp("whole")
    step = resume_program.make_step()
    history = resume_program.train(folder, step)
    history.seconds = 0.0
    return copy_state(step.state_dict()), history.as_dict(), (folder / "log.jsonl").read_text()


@pytest.mark.parametrize("checkpoint_every", [1, 5, None])
def test_a_crash_at_any_batch_changes_nothing(checkpoint_every, whole, tmp_path):
    total = whole[1]["steps"]
    for crash_after in range(0, total, 7):
        folder = tmp_path / str(crash_after)
        served = 0

        def crash(limit: int = crash_after) -> None:
            nonlocal served
            if served == limit:
                raise Crash
            served += 1

        with pytest.raises(Crash):
            resume_program.train(folder, resume_program.make_step(), crash, checkpoint_every=checkpoint_every)
        torch.rand(1)  # whatever others draw from the global generator must not matter
        step = resume_program.make_step()
        history = resume_program.train(folder, step, checkpoint_every=checkpoint_every)
        history.seconds = 0.0
        assert_identical((step.state_dict(), history.as_dict()), whole[:2])
        assert (folder / "log.jsonl").read_text() == whole[2]


def test_the_log_is_one_line_per_epoch_and_logged_step(whole):
    records = [json.loads(line) for line in whole[2].splitlines()]
    epochs = [record for record in records if record["kind"] == "epoch"]
    steps = [record for record in records if record["kind"] == "step"]
    assert [record["epoch"] for record in epochs] == list(range(len(whole[1]["epochs"])))
    assert [record["step"] for record in steps] == list(range(2, whole[1]["steps"] + 1, 2))
    for record, epoch in zip(epochs, whole[1]["epochs"], strict=True):
        assert {name: record[name] for name in epoch} == epoch
