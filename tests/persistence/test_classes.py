"""Only estimators that gossamer.models ships can be named; everything else is neither imported nor called."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from probing import PROBE_FOLDER, refusal, reseal

EVIL = [
    "os:system",
    "builtins:eval",
    "subprocess:Popen",
    "gossamer:Models",
    "gossamer.cli.app:Main",
    "gossamer.models:Probe",
    "gossamer.modelsx.a:Probe",
    "gossamer.models.linear.os:System",
    "gossamer.models.._probe:Probe",
    "gossamer.models._probe:Probe.load",
    "gossamer.models._probe:__class__",
    "gossamer.models._probe:Probe\n",
    "gossamer.models._probe.Probe",
    "gossamer.models._probe:Pröbe",
    "gossamer.models._probe.os:System",
    "gossamer.models.missing:Probe",
    "gossamer.models._probe:Missing",
    "gossamer.models._probe:Join",
    "gossamer.models._probe:ForeignClass",
    "gossamer.models._probe:Stranger",
]


@pytest.mark.parametrize("path", EVIL)
def test_only_estimators_of_gossamer_models_can_be_named(saved: Path, path: str) -> None:
    reseal(saved, lambda config: config.update({"class": path}))
    assert "config.json cannot be loaded: class " in refusal(saved)


def test_a_module_beside_the_package_is_never_imported(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('executed')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    reseal(saved, lambda config: config.update({"class": "gossamer.models.evil:Evil"}))
    assert "this version has no 'gossamer.models.evil'" in refusal(saved)


def test_a_name_planted_in_sys_modules_is_not_enough(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gossamer.models.planted", sys.modules["gossamer.models._probe"])
    reseal(saved, lambda config: config.update({"class": "gossamer.models.planted:Probe"}))
    assert "this version has no 'gossamer.models.planted'" in refusal(saved)


def test_probes_are_found_as_files() -> None:
    assert Path(sys.modules["gossamer.models._probe"].__file__ or "").parent == PROBE_FOLDER
