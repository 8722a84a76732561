"""A config.json that is wrong, hostile or from the future: one sentence each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from probing import refusal, reseal, state

from gossamer.persistence import read_artifact
from gossamer.version import __version__


def _set(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda config: config.__setitem__(key, value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda config: config["arguments"].update(exec="rm"), "Probe has no argument 'exec'"),
        (lambda config: config["arguments"].update(self=1), "Probe has no argument 'self'"),
        (_set("arguments", []), "must have a dict as 'arguments'"),
        (_set("class", None), "must have a str as 'class'"),
        (_set("extra", 1), "but not so ['extra']"),
        (lambda config: config.pop("metrics"), "but not so ['metrics']"),
        (_set("metadata", {}), "does not fit gossamer.models._probe:Probe: 'history'"),
        (_set("format_version", 0), "must have a positive int as 'format_version', got 0"),
        (_set("format_version", True), "must have a positive int as 'format_version', got True"),
        (_set("files", {}), "must list the file 'model.safetensors'"),
        (lambda config: config["files"].update({"card.md": 3}), "must give an int 'size' and a 'sha256' for 'card.md'"),
        (lambda config: config["files"]["card.md"].update(size=1.0), "must give an int 'size'"),
        (lambda config: config["files"]["card.md"].update(sha256="0"), "must give an int 'size'"),
        (lambda config: config["files"].pop("vocabulary.items.json"), "which is not part of the artifact"),
    ],
)
def test_a_wrong_configuration_is_named(saved: Path, change: Callable[[dict[str, Any]], None], message: str) -> None:
    reseal(saved, change)
    assert message in refusal(saved)


def test_an_edited_configuration_is_noticed(saved: Path) -> None:
    text = (saved / "config.json").read_text()
    (saved / "config.json").write_text(text.replace('"rate": 0.5', '"rate": 0.6'))
    assert "config.json does not match its checksum" in refusal(saved)


def test_layout_of_the_configuration_does_not_matter(saved: Path, probe: Any) -> None:
    (saved / "config.json").write_text(json.dumps(json.loads((saved / "config.json").read_text()), indent=7))
    assert state(read_artifact(saved).estimator) == state(probe)


def test_arguments_added_since_take_their_default(saved: Path, probe: Any) -> None:
    reseal(saved, lambda config: config["arguments"].pop("rate"))
    assert state(read_artifact(saved).estimator) == state(probe)


def test_a_future_version_asks_for_an_upgrade(saved: Path) -> None:
    (saved / "config.json").write_text(
        json.dumps({"format": "gossamer-artifact", "format_version": 2, "gossamer_version": "9.1.0", "new": 1})
    )
    assert (
        f"config.json was written by gossamer 9.1.0 (format 2); this is gossamer {__version__} (format 1): "
        "upgrade gossamer to load it"
    ) in refusal(saved)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b'{"format": NaN}', "it holds NaN, which is not JSON"),
        (b'{"format": -Infinity}', "it holds -Infinity, which is not JSON"),
        (b'{"format": 1e999}', "it holds 1e999, which is too large for a float"),
        (b'{"format": 1, "format": 2}', "it holds the key 'format' twice"),
        (b"[" * 200_000, "it is nested too deeply"),
        (b'{"a":' * 200_000, "it is nested too deeply"),
        (b"[" * 65 + b"]" * 65, "must be nested at most 64 deep"),
        (b'{"format": ' + b"9" * 5_000 + b"}", "cannot be read"),
        (b'{"format": "\\ud800"}', "must be text"),
        (b"[1, 2]", "this is no gossamer artifact"),
    ],
)
def test_a_configuration_that_is_no_sound_json(saved: Path, content: bytes, message: str) -> None:
    (saved / "config.json").write_bytes(content)
    assert message in refusal(saved)


def test_a_huge_configuration_is_refused_unread(saved: Path) -> None:
    os.truncate(saved / "config.json", 65 << 20)  # sparse: it takes no room
    assert f"config.json must have at most {64 << 20} bytes, got {65 << 20}" in refusal(saved)


@pytest.mark.parametrize("name", ["../stolen", "/etc/passwd", "vocabulary.../x.json", "a/b", "", "..", "c:\\x", "\0"])
def test_a_listed_name_cannot_leave_the_directory(saved: Path, name: str) -> None:
    reseal(saved, lambda config: config["files"].update({name: {"size": 1, "sha256": "0" * 64}}))
    assert f"config.json lists the file {name!r}, but an artifact holds only" in refusal(saved)
