"""Two processes with batches of B give the model of one process with batches of 2B."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gossamer.training.checkpoint import read_checkpoint

PROGRAM = Path(__file__).with_name("processes_program.py")


def run(launcher: list[str], folder: Path, batch_size: int) -> str:
    folder.mkdir()
    command = [sys.executable, "-W", "error", *launcher, str(PROGRAM), str(folder), str(batch_size)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("processes")
    run([], root / "one", 6)
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    run(torchrun, root / "two", 3)
    return root / "one", root / "two"


@pytest.mark.parametrize("case", ["dense13", "dense11", "sparse"])
def test_two_processes_give_the_model_of_one_with_the_doubled_batch(case, folders):
    one, two = folders
    expected, first, second = (
        read_checkpoint(path)[case] for path in (one / "result0", two / "result0", two / "result1")
    )
    for name, values in expected["parameters"].items():
        torch.testing.assert_close(first["parameters"][name], values, rtol=1e-4, atol=1e-6)
        assert torch.equal(first["parameters"][name], second["parameters"][name])
    for ours, theirs in zip(first["epochs"], expected["epochs"], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4)
    assert first["epochs"] == second["epochs"]


def test_only_process_0_logs_and_the_log_has_no_duplicates(folders):
    _, two = folders
    lines = [json.loads(line) for line in (two / "log13").read_text().splitlines()]
    assert [line["step"] for line in lines if line["kind"] == "step"] == list(range(1, 13))
    assert [line["epoch"] for line in lines if line["kind"] == "epoch"] == list(range(4))
    assert {line["score"] for line in lines if line["kind"] == "epoch"} == {0.0}


def test_a_checkpoint_of_two_processes_is_not_resumed_by_one(folders):
    _, two = folders
    loop = read_checkpoint(two / "checkpoint13")["loop"]
    assert loop["batches"]["num_processes"] == 2
