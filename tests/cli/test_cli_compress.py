"""`gossamer compress`: a file of one's own to a directory with tensors, report and drawing."""

from __future__ import annotations

from pathlib import Path

from command_line import Gossamer

NETWORK = """
import torch
from torch import nn

def build():
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))

def batches():
    return [(torch.randn(4, 8), torch.randint(3, (4,))) for _ in range(3)]
"""


def test_a_network_is_compressed_and_drawn(gossamer: Gossamer) -> None:
    Path("net.py").write_text(NETWORK)
    words = ("net.py:build", "-d", "net.py:batches", "--params", 0.8, "--macs", 0.9, "--allocator", "pos_cvx")
    done = gossamer("compress", *words, "-o", "small")
    assert done.code == 0, done.err
    assert "params left" in done.out
    assert "saved to small" in done.out
    assert {path.name for path in Path("small").iterdir()} == {
        "layers.svg",
        "model.safetensors",
        "report.json",
        "report.txt",
    }


def test_mistakes_are_sentences(gossamer: Gossamer) -> None:
    Path("net.py").write_text(NETWORK)
    done = gossamer("compress", "net.py:build", "-d", "net.py:batches", "-o", "small")
    assert done.code == 2
    assert "budget must have at least one of macs, params, bytes, milliseconds, got none" in done.err
