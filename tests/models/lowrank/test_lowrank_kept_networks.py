"""Networks that are trained once."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from gossamer.models.lowrank.kept_networks import check_folder, train_or_take_


def make(folder: Path | None, identity: dict[str, object]) -> tuple[nn.Linear, list[str]]:
    network, trained = nn.Linear(2, 3), []
    train_or_take_(network, lambda: trained.append("trained"), None if folder is None else str(folder), identity)
    return network, trained


def test_one_identity_is_trained_once(tmp_path: Path):
    first, trained = make(tmp_path, {"seed": 0, "rate": 0.1})
    assert trained
    second, trained = make(tmp_path, {"rate": 0.1, "seed": 0})
    assert not trained
    assert torch.equal(first.weight, second.weight)
    assert make(tmp_path, {"seed": 1, "rate": 0.1})[1]
    assert make(None, {"seed": 0, "rate": 0.1})[1]
    assert len(list(tmp_path.iterdir())) == 2


def test_nothing_is_kept_of_a_training_that_failed(tmp_path: Path):
    def fail() -> None:
        raise RuntimeError("out of power")

    with pytest.raises(RuntimeError, match="out of power"):
        train_or_take_(nn.Linear(2, 3), fail, str(tmp_path), {})
    assert not list(tmp_path.iterdir())


def test_files_that_are_none_of_ours_are_named(tmp_path: Path):
    make(tmp_path, {})
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    with pytest.raises(ValueError, match=r"must hold the network that was kept there, got: .*; delete the file"):
        make(tmp_path, {})
    path.write_bytes(whole)
    make(tmp_path, {"seed": 1})
    (other,) = set(tmp_path.iterdir()) - {path}
    other.write_bytes(whole)
    with pytest.raises(ValueError, match=r'must be of the network {"seed": 1}, got one of {}; delete the file'):
        make(tmp_path, {"seed": 1})
    with pytest.raises(ValueError, match="must hold the network that was kept there, got"):
        train_or_take_(nn.Linear(3, 3), list, str(tmp_path), {})


@pytest.mark.parametrize("value", ["word", 3, ["a/b"]])
def test_folders_are_checked(value: object):
    with pytest.raises(ValueError, match="base must be None or the path of a folder, with a slash in it"):
        check_folder("base", value)
