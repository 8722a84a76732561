"""Two processes with batches of B give the model of one process with batches of 2B."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gossamer.core.progress import show_progress
from gossamer.data.batching import Batches
from gossamer.training import fit, make_fabric
from gossamer.training.checkpoint import read_checkpoint

sys.path.insert(0, str(Path(__file__).parent))  # tests are no package
import processes_program


def train_in_one_and_in_two(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir(exist_ok=True)
    processes_program.train_all(make_fabric("cpu"), 6, folder / "one")
    torchrun = [sys.executable, "-W", "error", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, processes_program.__file__, str(folder / "two"), "3"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def folders(made_once) -> tuple[Path, Path]:
    folder = made_once("processes", train_in_one_and_in_two)
    return folder / "one", folder / "two"


@pytest.mark.parametrize("case", ["dense13", "dense11", "sparse", "divided"])
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
    with pytest.raises(ValueError, match=r"batches must be those of the checkpoint .*'num_processes': 2"):
        processes_program.train_dense(make_fabric("cpu"), 13, 3, two)


class SecondProcess:
    """What `fit` asks of Fabric, as the second of two processes sees it."""

    global_rank, world_size, is_global_zero, device = 1, 2, False, torch.device("cpu")

    def __init__(self, first: object = None) -> None:
        self.first = first

    def broadcast(self, mine: object) -> object:
        return mine if self.first is None else self.first

    def all_reduce(self, values: torch.Tensor, reduce_op: str) -> torch.Tensor:
        return values


class NothingToLearn:
    def setup(self, fabric: object) -> None:
        pass

    def __call__(self, batch: object, weight: float) -> dict[str, float]:
        return {"loss": 1.0}

    def state_dict(self) -> dict[str, int]:
        return {}

    def load_state_dict(self, state: dict[str, int]) -> None:
        pass


def test_another_process_writes_nothing_and_shows_nothing(tmp_path, capsys):
    batches = Batches(lambda rows: rows, 10, 2)
    with show_progress():
        history = fit(
            NothingToLearn(),
            batches,
            epochs=2,
            log=tmp_path / "log",
            log_every=1,
            checkpoint=tmp_path / "c",
            fabric=SecondProcess(),
        )
    assert history.steps == 6
    assert os.listdir(tmp_path) == []
    assert capsys.readouterr() == ("", "")


def test_processes_that_do_not_see_the_same_are_told():
    batches = Batches(lambda rows: rows, 10, 2, random_state=None)
    with pytest.raises(ValueError, match=r"the same on every process .* got .* on process 1 and .* on process 0"):
        fit(NothingToLearn(), batches, epochs=1, fabric=SecondProcess(first=({"seed": 1}, 0)))
