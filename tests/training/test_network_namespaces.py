"""Two machines, as far as one has them: two network namespaces with a cable between them, one process in each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

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


def test_two_machines_give_the_model_of_one_process_with_the_doubled_batch(machines, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "cable"}
    where = ["--nnodes", "2", "--nproc-per-node", "1", "--master-addr", "10.77.0.1", "--master-port", "29500"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", *where]
    started = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, *torchrun, "--node-rank", str(rank), processes_program.__file__, two, "3"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, name in enumerate(machines)
    ]
    processes_program.train_all(make_fabric("cpu"), 6, one)
    try:
        errors = [process.communicate(timeout=250)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0, 0], errors
    expected = read_checkpoint(one / "result0")
    for rank in (0, 1):
        for case, learned in read_checkpoint(two / f"result{rank}").items():
            for name, values in expected[case]["parameters"].items():
                torch.testing.assert_close(learned["parameters"][name], values, rtol=1e-4, atol=1e-6)
