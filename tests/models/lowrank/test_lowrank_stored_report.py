"""Reports that anyone may have written; whole directories are in test_lowrank_storage.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from gossamer.models.lowrank import Budget, compress
from gossamer.models.lowrank.stored_report import one_line, read_report
from gossamer.persistence import ArtifactError


@pytest.fixture
def report():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
    return compress(
        network, data=[torch.randn(16, 8)], budget=Budget(params=0.7), allocator="uniform"
    ).compression_report


def test_a_report_is_what_it_was(report, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report.as_json()))
    assert read_report(path).as_json() == report.as_json()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("scheme", "diagonal", "scheme must be"),
        ("layers", 3, "got 3 as layers"),
        ("before", {"macs": "many"}, "got 'many' as before.macs"),
        ("before", {"macs": 1.0}, "before must have params"),
        ("colour", "red", "got colour, which this version does not know"),
    ],
)
def test_what_is_no_report_is_named(name: str, value: object, message: str, report, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**report.as_json(), name: value}))
    with pytest.raises(ArtifactError, match=message):
        read_report(path)


def test_what_is_no_json_and_what_is_missing_are_named(report, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("{")
    with pytest.raises(ArtifactError, match="must be JSON, got"):
        read_report(path)
    values = report.as_json()
    del values["allocator"]
    path.write_text(json.dumps(values))
    with pytest.raises(ArtifactError, match="got no allocator"):
        read_report(path)


def test_messages_are_one_line() -> None:
    assert one_line(ValueError("a\n  b")) == "a b"
    assert one_line(KeyError()) == "KeyError"
    assert one_line(OSError(2, "No such file", "x")) == "No such file: x"
