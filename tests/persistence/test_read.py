"""Loading what is damaged, hostile or from the future: one sentence each, and nothing is executed."""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from probing import PROBE_FOLDER, fitted, nothing_executed, refusal, reseal, state
from safetensors.numpy import load_file, save_file

import gossamer.persistence.read as reading
from gossamer.persistence import read_artifact
from gossamer.version import __version__


def test_missing_artifact(tmp_path: Path) -> None:
    assert refusal(tmp_path / "model").endswith("model does not exist; check the path, or save a model there first")
    assert "does not exist" in refusal(tmp_path / "no" / "such" / "folder" / "model")


def test_a_file_is_not_an_artifact(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("")
    assert "model must be a directory" in refusal(tmp_path / "model")


def test_any_other_directory_is_not_an_artifact(tmp_path: Path) -> None:
    assert "config.json is missing" in refusal(tmp_path)
    (tmp_path / "config.json").write_text('{"architectures": ["Bert"]}')
    assert "this is no gossamer artifact" in refusal(tmp_path)


@pytest.mark.parametrize(
    "file", ["config.json", "model.safetensors", "card.md", "vocabulary.items.json", "vocabulary.users.json"]
)
def test_every_file_is_needed_whole_and_unchanged(saved: Path, file: str) -> None:
    content = (saved / file).read_bytes()
    (saved / file).unlink()
    assert f"{file} is missing" in refusal(saved)
    (saved / file).write_bytes(content[:-9])
    assert file in refusal(saved)
    (saved / file).write_bytes(content.replace(b"0", b"1"))
    if b"0" in content:
        assert f"{file} does not match its checksum: it was changed after saving" in refusal(saved)


def test_truncated_tensors_say_by_how_much(saved: Path) -> None:
    size = (saved / "model.safetensors").stat().st_size
    os.truncate(saved / "model.safetensors", size - 1)
    assert f"model.safetensors must have {size} bytes, got {size - 1}: it was cut short" in refusal(saved)


def test_an_extra_file_is_refused(saved: Path) -> None:
    (saved / "payload.pkl").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    assert "holds 'payload.pkl', which is not part of the artifact; move it away" in refusal(saved)


@pytest.mark.parametrize("target", ["outside", "inside", "nowhere"])
def test_links_are_refused(saved: Path, tmp_path: Path, target: str) -> None:
    file = saved / "vocabulary.items.json"
    shutil.copy(file, tmp_path / "outside")
    file.unlink()
    file.symlink_to({"outside": tmp_path / "outside", "inside": "vocabulary.users.json", "nowhere": "gone"}[target])
    assert "vocabulary.items.json must be a regular file, not a link" in refusal(saved)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_and_not_waited_for(saved: Path) -> None:
    (saved / "config.json").unlink()
    os.mkfifo(saved / "config.json")
    assert "config.json must be a regular file" in refusal(saved)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(saved: Path) -> None:
    (saved / "config.json").chmod(0)
    assert "check the path and its permissions" in refusal(saved)


@pytest.mark.parametrize("name", ["../stolen", "/etc/passwd", "vocabulary.../x.json", "a/b", "", "..", "c:\\x", "\0"])
def test_a_listed_name_cannot_leave_the_directory(saved: Path, name: str) -> None:
    reseal(saved, lambda config: config["files"].update({name: {"size": 1, "sha256": "0" * 64}}))
    assert f"config.json lists the file {name!r}, but an artifact holds only" in refusal(saved)


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


def test_a_huge_vocabulary_is_refused_unread(saved: Path) -> None:
    os.truncate(saved / "vocabulary.items.json", (1 << 30) + 1)
    assert f"vocabulary.items.json must have at most {1 << 30} bytes" in refusal(saved)


@pytest.mark.parametrize("length", [10 << 30, (1 << 64) - 1, 17 << 20, 600])
def test_a_declared_huge_header_is_refused_unread(saved: Path, length: int) -> None:
    content = (saved / "model.safetensors").read_bytes()
    (saved / "model.safetensors").write_bytes(struct.pack("<Q", length) + content[8:])
    reseal(saved)
    assert f"model.safetensors declares a header of {length} bytes in a file of {len(content)}" in refusal(saved)


def test_tensors_without_even_a_header(saved: Path) -> None:
    (saved / "model.safetensors").write_bytes(b"1234567")
    reseal(saved)
    assert "model.safetensors must begin with 8 bytes of header length, got 7 bytes" in refusal(saved)


def test_a_huge_header_is_refused_even_where_the_file_has_it(saved: Path) -> None:
    length = 17 << 20
    with (saved / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", length))
        file.truncate(8 + length)
    reseal(saved)
    assert f"declares a header of {length} bytes" in refusal(saved)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, "must be a valid safetensors file"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 1 << 60]}}, "must be a valid safetensors file"),
        ({"a": {"dtype": "F32", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 4]}}, "must be a valid"),
        ({"a": {"dtype": "PICKLE", "shape": [1], "data_offsets": [0, 4]}}, "must be a valid safetensors file"),
        ({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, "must be a valid safetensors file"),
        ({"a": {"dtype": "C64", "shape": [0], "data_offsets": [0, 0]}}, "must be a valid safetensors file"),
        ({"a": {"dtype": "BOOL", "shape": [4], "data_offsets": [0, 4]}}, "must hold only 0 and 1 in the bools of 'a'"),
        ([], "must be a valid safetensors file"),
    ],
)
def test_a_hostile_tensor_header(saved: Path, header: Any, message: str) -> None:
    text = json.dumps(header).encode()
    (saved / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"\2\0\0\0")
    reseal(saved)
    assert message in refusal(saved)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("weights", np.zeros((3, 4)), "array 'weights' must be float32, got float64"),
        ("weights", np.zeros((4, 3), np.float32), r"array 'weights' must have shape (3, 4), got (4, 3)"),
        ("weights", None, "arrays must include 'weights'"),
        ("codes.indptr", np.array([0, 3, 1, 3], np.int32), "array 'codes.indptr' must rise from 0 to 3"),
        ("codes.indices", np.array([1, 0, 7], np.int32), "array 'codes.indices' must lie in 0..2, got 0..7"),
    ],
)
def test_wrong_tensors_are_named_with_their_artifact(saved: Path, name: str, array: Any, message: str) -> None:
    arrays = load_file(saved / "model.safetensors")
    if array is None:
        del arrays[name]
    else:
        arrays[name] = array
    save_file(arrays, saved / "model.safetensors")
    reseal(saved)
    assert f"{saved} does not fit gossamer.models._probe:Probe: {message}" in refusal(saved)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"kind": "str", "ids": ["a", "b", "a", "c"]}, "ids must be unique, got 'a' more than once"),
        ({"kind": "int", "ids": [1, 2, 2, 3]}, "ids must be unique, got 2 more than once"),
        ({"kind": "str", "ids": ["a", 1, "b", "c"]}, "its ids must all be str, got 1"),
        ({"kind": "int", "ids": [1, "a", 2, 3]}, "its ids must all be int, got 'a'"),
        ({"kind": "int", "ids": [1, True, 2, 3]}, "its ids must all be int, got True"),
        ({"kind": "int", "ids": [1, 2.0, 3, 4]}, "its ids must all be int, got 2.0"),
        ({"kind": "int", "ids": [1, None, 3, 4]}, "its ids must all be int, got None"),
        ({"kind": "int", "ids": [1, 1 << 63, 3, 4]}, "is not a vocabulary"),
        ({"kind": "str", "ids": ["\ud800", "b", "c", "d"]}, "is not a vocabulary"),
        ({"kind": "object", "ids": []}, 'its "kind" must be "str" or "int"'),
        ({"kind": ["str"], "ids": []}, 'its "kind" must be "str" or "int"'),
        ({"kind": "str", "ids": {"a": 0}}, 'its "ids" must be a list'),
        ({"kind": "str"}, 'it must be an object with the keys "kind" and "ids"'),
        (["a", "b"], 'it must be an object with the keys "kind" and "ids"'),
        ({"kind": "str", "ids": ["a"]}, "does not fit gossamer.models._probe:Probe: array 'weights' must have shape"),
    ],
)
def test_a_wrong_vocabulary_is_named(saved: Path, content: Any, message: str) -> None:
    (saved / "vocabulary.items.json").write_text(json.dumps(content))
    reseal(saved)
    assert message in refusal(saved)


def test_a_vocabulary_nested_without_end(saved: Path) -> None:
    (saved / "vocabulary.items.json").write_text('{"kind": "str", "ids": ' + "[" * 200_000)
    reseal(saved)
    assert "vocabulary.items.json is not a vocabulary: it is nested too deeply" in refusal(saved)


def test_a_vocabulary_missing_from_the_list_is_the_estimators_to_miss(saved: Path) -> None:
    (saved / "vocabulary.items.json").unlink()
    reseal(saved, lambda config: config["files"].pop("vocabulary.items.json"))
    assert "vocabularies must be named items, users, got users" in refusal(saved)


def test_the_watch_on_execution_does_watch() -> None:
    with pytest.raises(AssertionError, match="compile"), nothing_executed():
        eval("1 + 1")


def test_a_save_meanwhile_is_noticed(saved: Path, probe_module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = fitted(probe_module.Probe, seed=1)
    honest, calls = reading.read_config, []

    def replaced_in_between(path: Path) -> dict[str, Any]:
        config = honest(path)
        if not calls:
            calls.append(path)
            newer.save(saved)
        return config

    monkeypatch.setattr(reading, "read_config", replaced_in_between)
    assert state(read_artifact(saved).estimator) == state(newer)


def test_probes_are_found_as_files() -> None:
    assert Path(sys.modules["gossamer.models._probe"].__file__ or "").parent == PROBE_FOLDER
