from __future__ import annotations

import pytest
import torch

from gossamer.training import make_fabric
from gossamer.training.devices import gather_from_all, prepare_for_processes


def test_one_process_on_the_cpu():
    fabric = make_fabric("cpu", num_processes=1)
    assert (fabric.world_size, fabric.global_rank, fabric.device) == (1, 0, torch.device("cpu"))


def test_auto_is_cuda_where_there_is_one():
    assert make_fabric("auto").device.type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_mistakes(monkeypatch):
    with pytest.raises(ValueError, match="device must be one of 'cpu', 'cuda', 'auto', got 'tpu'"):
        make_fabric("tpu")
    with pytest.raises(ValueError, match=r"number of processes that torchrun started \(1\), got 2; start them with: "):
        make_fabric(num_processes=2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="device must be 'cpu' or 'auto' where torch finds no CUDA device, got 'cuda'"):
        make_fabric("cuda")


def test_a_process_that_is_alone_gathers_its_own_value_and_prepares_nothing():
    fabric, module = make_fabric("cpu"), torch.nn.Linear(2, 1)
    assert gather_from_all("mine", fabric) == ["mine"]
    prepare_for_processes(module, fabric)
    assert not hasattr(module, "_ddp_params_and_buffers_to_ignore")
