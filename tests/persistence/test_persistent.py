"""save and load on the class itself."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from probing import fitted, state

from gossamer.persistence import ArtifactError, Persistent


def test_load_takes_the_class_or_a_subclass(probe_module: ModuleType, tmp_path: Path) -> None:
    grand = fitted(probe_module.GrandProbe)
    grand.save(tmp_path / "grand")
    for cls in (probe_module.GrandProbe, probe_module.Probe, Persistent):
        assert state(cls.load(tmp_path / "grand")) == state(grand)


def test_load_refuses_another_class(probe_module: ModuleType, saved: Path) -> None:
    with pytest.raises(ArtifactError, match=r"must hold a GrandProbe for GrandProbe.load, got a Probe; use Probe.load"):
        probe_module.GrandProbe.load(saved)


def test_paths_may_be_strings_and_parents_are_made(probe: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "er" / "model")
    probe.save(path)
    assert state(type(probe).load(path)) == state(probe)
