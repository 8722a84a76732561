"""Two processes give the model of one: a table divided between them, and tiny models of all families."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from gossamer.models.embeddings import AnchorEmbedding
from gossamer.models.embeddings.sharded import ShardedAnchorEmbedding

sys.path.insert(0, str(Path(__file__).parent))  # tests are no package
import sharded_program

pytestmark = pytest.mark.timeout(900)  # the first test waits for all trainings


def train_in_one_and_in_two(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir(exist_ok=True)
    sharded_program.train_all(8, folder / "one")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, sharded_program.__file__, str(folder / "two"), "4"]
    # Tiny models need no compiled kernels, and to compile them takes minutes where nothing is compiled yet.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def folders(made_once) -> tuple[Path, Path]:
    folder = made_once("sharded", train_in_one_and_in_two)
    return folder / "one", folder / "two"


def read(folder: Path, name: str, rank: int) -> dict[str, np.ndarray]:
    with np.load(folder / f"{name}.{rank}.npz") as stored:
        return dict(stored)


def test_a_divided_table_is_the_undivided_one_trained_with_the_doubled_batch(folders):
    expected, first, second = read(folders[0], "table", 0), read(folders[1], "table", 0), read(folders[1], "table", 1)
    assert first.pop("shape").tolist() == [12, 3]
    assert second.pop("shape").tolist() == [11, 3]
    assert (first["transform"] == 0).mean() > (expected["transform"] == 0).mean() - 0.01 > 0.5
    for name, values in first.items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(values, second[name])


@pytest.mark.parametrize(("name", "is_that_of_one"), [(case[0], case[3]) for case in sharded_program.CASES])
def test_processes_agree_and_without_noise_give_the_model_of_one(name, is_that_of_one, folders):
    expected, first, second = read(folders[0], name, 0), read(folders[1], name, 0), read(folders[1], name, 1)
    assert first.keys() == second.keys() == expected.keys()
    for key, values in first.items():
        np.testing.assert_array_equal(values, second[key], err_msg=key)
        if is_that_of_one:
            np.testing.assert_allclose(values, expected[key], rtol=2e-3, atol=1e-5, err_msg=key)


def test_alone_it_is_an_anchor_embedding(monkeypatch):
    monkeypatch.setattr("gossamer.models.embeddings.sharded.ROWS_AT_ONCE", 7)  # drawn block by block, all the same
    size = {"num_anchors": 6, "num_slots": 3, "padding_idx": 5, "random_state": 3}
    plain, alone = AnchorEmbedding(23, 4, **size), ShardedAnchorEmbedding(23, 4, **size)
    assert torch.equal(plain.slots, alone.slots)
    assert torch.equal(plain.values, alone.values)
    assert torch.equal(plain.anchors, alone.anchors)
    ids = torch.tensor([3, 5, 3, 22])
    torch.testing.assert_close(alone(ids), plain(ids))
    torch.testing.assert_close(alone.whole().weight, plain.weight)
    assert alone.nnz() == plain.nnz()


def test_the_start_of_a_share_is_those_rows_of_the_whole_start(monkeypatch):
    monkeypatch.setattr("gossamer.models.embeddings.sharded.ROWS_AT_ONCE", 4)
    whole = AnchorEmbedding(23, 4, 6, num_slots=3)
    monkeypatch.setattr(ShardedAnchorEmbedding, "num_shards", 3)
    for rank in range(3):
        monkeypatch.setattr(ShardedAnchorEmbedding, "first_row", rank)
        share = ShardedAnchorEmbedding(23, 4, 6, num_slots=3)
        assert torch.equal(share.values, whole.values[rank::3])
        assert torch.equal(share.slots, whole.slots[rank::3])
        assert torch.equal(share.anchors, whole.anchors)


def test_what_needs_all_rows_is_refused():
    table = ShardedAnchorEmbedding(23, 4, 6)
    with pytest.raises(ValueError, match="a divided table has no logits"):
        table.logits(torch.zeros(1, 4))
    with pytest.raises(ValueError, match="a divided table does not grow"):
        table.grow(1)
    with pytest.raises(ValueError, match="a divided table has no relations"):
        table.set_exempt(None)
    with pytest.raises(ValueError, match="sparse must be True"):
        ShardedAnchorEmbedding(23, 4, 6, sparse=False)
