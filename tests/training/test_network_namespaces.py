"""Two machines, as far as one has them: two network namespaces with a cable between them, one process in each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from gossamer import load
from gossamer.cli.app import main
from gossamer.testing.right_answers import two_blocks
from gossamer.training import make_fabric
from gossamer.training.checkpoint import read_checkpoint

sys.path.insert(0, str(Path(__file__).parent))  # tests are no package
import processes_program


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=30)


@pytest.fixture
def machines() -> Iterator[list[str]]:
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and the program ip")
    names = [f"gossamer{os.getpid()}{letter}" for letter in "ab"]
    made = []
    try:
        for name in names:
            try:
                ip("netns", "add", name)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"network namespaces are not permitted here: {error.stderr.decode().strip()}")
            made.append(name)
        ip("link", "add", "cable", "netns", names[0], "type", "veth", "peer", "name", "cable", "netns", names[1])
        for number, name in enumerate(names):
            ip("-n", name, "address", "add", f"10.77.0.{number + 1}/24", "dev", "cable")
            ip("-n", name, "link", "set", "cable", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in made:
            ip("netns", "delete", name)


def start_on_both(machines: list[str], *program: object) -> list[subprocess.Popen[str]]:
    """Start a program, or a module by -m, on both machines, one process each."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "cable"}
    where = ["--nnodes", "2", "--nproc-per-node", "1", "--master-addr", "10.77.0.1", "--master-port", "29500"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", *where]
    return [
        subprocess.Popen(
            ["ip", "netns", "exec", name, *torchrun, "--node-rank", str(rank), *map(str, program)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, name in enumerate(machines)
    ]


def wait_for(started: list[subprocess.Popen[str]]) -> None:
    try:
        errors = [process.communicate(timeout=250)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0, 0], errors


def test_two_machines_give_the_model_of_one_process_with_the_doubled_batch(machines, tmp_path):
    """Dense layers, row-sparse gradients, and a table whose rows are fetched from the other machine (all-to-all)."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    started = start_on_both(machines, processes_program.__file__, two, 3)
    processes_program.train_all(make_fabric("cpu"), 6, one)
    wait_for(started)
    expected = read_checkpoint(one / "result0")
    assert "divided" in expected
    for rank in (0, 1):
        for case, learned in read_checkpoint(two / f"result{rank}").items():
            for name, values in expected[case]["parameters"].items():
                torch.testing.assert_close(learned["parameters"][name], values, rtol=1e-4, atol=1e-6)


def test_the_command_line_divides_ratings_and_the_table_between_two_machines(machines, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    data = two_blocks().history
    users, items = data.pairs()
    Path("events").mkdir()
    names = {"user": [data.users[user] for user in users], "item": [data.items[item] for item in items]}
    frame = pl.DataFrame({**names, "rating": data.rating})
    for part in range(2):
        frame[part::2].write_parquet(f"events/{part}.parquet")
    settings = {"solver": '"proximal"', "embedding_dim": 3, "user_anchors": 4, "item_anchors": 3, "epochs": 2}
    settings |= {"batch_size": 10_000, "table_options": '{"sharded": true, "gather": "first"}'}
    chosen = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    command = ["fit", "anchor-recommender", "--data", "events", *chosen, "--out"]
    wait_for(start_on_both(machines, "-m", "gossamer.cli", *command, "two"))
    main_of_command_line([*command, "one"])
    np.testing.assert_allclose(load("two").predict(data), load("one").predict(data), rtol=1e-3, atol=1e-4)


def main_of_command_line(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code
