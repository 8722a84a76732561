"""Puts the probe estimators where artifacts may name them: on gossamer.models' own search path."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from probing import PROBE_FOLDER, fitted

import gossamer.models
from gossamer.persistence import read_artifact


@pytest.fixture(autouse=True, scope="module")
def probe_module() -> Iterator[ModuleType]:
    gossamer.models.__path__.append(str(PROBE_FOLDER))
    yield importlib.import_module("gossamer.models._probe")
    gossamer.models.__path__.remove(str(PROBE_FOLDER))
    del sys.modules["gossamer.models._probe"]
    del gossamer.models._probe  # type: ignore[attr-defined]


@pytest.fixture
def probe(probe_module: ModuleType) -> Any:
    return fitted(probe_module.Probe)


@pytest.fixture
def saved(probe: Any, tmp_path: Path) -> Path:
    path = tmp_path / "model"
    probe.save(path, provenance={"data": "planted"}, metrics={"ndcg": 0.5})
    read_artifact(path)  # whatever loading imports by itself is imported now
    return path
