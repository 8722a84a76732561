"""Saving: what comes back, what is refused, what is left on the disk."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from probing import fitted, state
from safetensors.numpy import load_file

from gossamer.data.vocabulary import Vocabulary
from gossamer.persistence import ArtifactError, Persistable, read_artifact, write_artifact


def test_round_trip_is_exact(probe: Any, tmp_path: Path) -> None:
    write_artifact(probe, tmp_path / "model", provenance={"data": "planted"}, metrics={"ndcg": np.float32(0.5)})
    artifact = read_artifact(tmp_path / "model")
    assert state(artifact.estimator) == state(probe)
    assert artifact.config["provenance"] == {"data": "planted"}
    assert artifact.config["metrics"] == {"ndcg": 0.5}
    assert artifact.config["class"] == "gossamer.models._probe:Probe"
    assert isinstance(probe, Persistable)


def test_an_artifact_is_made_of_readable_standard_files(saved: Path) -> None:
    assert {file.name for file in saved.iterdir()} == {
        "config.json", "model.safetensors", "card.md", "vocabulary.items.json", "vocabulary.users.json",
    }  # fmt: skip
    assert json.loads((saved / "vocabulary.items.json").read_text())["ids"][:2] == ["ham", "eggs"]
    assert json.loads((saved / "vocabulary.users.json").read_text()) == {"kind": "int", "ids": [10, 20, -3]}
    assert load_file(saved / "model.safetensors")["weights"].shape == (3, 4)


def test_saving_twice_gives_the_same_bytes(probe: Any, tmp_path: Path) -> None:
    for folder in "ab":
        probe.save(tmp_path / folder / "model")
    for file in (tmp_path / "a" / "model").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / "model" / file.name).read_bytes()


def test_loaded_arrays_are_our_own_to_change(saved: Path, probe: Any) -> None:
    loaded = read_artifact(saved).estimator
    loaded.weights_ += 1
    assert state(read_artifact(saved).estimator) == state(probe)


def test_arrays_of_any_layout_and_dtype_survive(probe: Any, tmp_path: Path) -> None:
    everything = {
        "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "strided": np.arange(10)[::3],
        "big_endian": np.arange(3, dtype=">i4"),
        "empty": np.zeros((0, 5), np.uint8),
        "scalar": np.array(2.5, np.float16),
        "nan": np.array([math.nan, math.inf]),
    }
    probe.learned_arrays = lambda: everything
    probe.save(tmp_path / "model")
    loaded = load_file(tmp_path / "model" / "model.safetensors")
    for name, array in everything.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].shape == array.shape
        assert loaded[name].dtype == array.dtype.newbyteorder("=")


def test_empty_vocabularies_survive(probe: Any, tmp_path: Path) -> None:
    probe.users_ = Vocabulary([])
    probe.items_ = Vocabulary([])
    probe.weights_, probe.seen_ = np.zeros((0, 0), np.float32), np.zeros(0, bool)
    probe.save(tmp_path / "model")
    assert state(read_artifact(tmp_path / "model").estimator) == state(probe)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate": math.nan}, r"Probe argument 'rate' must be finite to be stored as JSON, got nan"),
        ({"rate": np.float32("inf")}, r"Probe argument 'rate' must be finite to be stored as JSON, got inf"),
        ({"layers": [1, {2}]}, r"Probe argument 'layers'\[1\] must be None, a bool, .*, got \{2\}"),
        ({"layers": {1: 2}}, r"Probe argument 'layers' must have strings as keys to be stored as JSON, got 1"),
        ({"random_state": np.random.default_rng(0)}, r"Probe argument 'random_state' must be None, .*Generator"),
        ({"rate": 1 << 64}, r"Probe argument 'rate' must fit 64 bits"),
        ({"rate": "\ud800"}, r"Probe argument 'rate' must be text to be stored as JSON"),
    ],
)
def test_arguments_that_are_not_json_are_refused(
    probe_module: Any, tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArtifactError, match=message):
        fitted(probe_module.Probe, **arguments).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_an_argument_that_contains_itself_is_refused(probe_module: Any, tmp_path: Path) -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ArtifactError, match="must be nested at most 64 deep"):
        fitted(probe_module.Probe, layers=circle).save(tmp_path / "model")


def test_metrics_provenance_and_metadata_are_checked_too(probe: Any, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"metrics\['ndcg'\] must be finite"):
        probe.save(tmp_path / "model", metrics={"ndcg": math.nan})
    with pytest.raises(ArtifactError, match=r"provenance\['data'\] must be None, a bool"):
        probe.save(tmp_path / "model", provenance={"data": object()})
    probe.history_ = [math.inf]
    with pytest.raises(ArtifactError, match=r"metadata\['history'\]\[0\] must be finite"):
        probe.save(tmp_path / "model")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array(["a"]), "array 'odd' must hold bools, ints or floats, got dtype <U1"),
        (np.array([None]), "array 'odd' must hold bools, ints or floats, got dtype object"),
        (np.array([1j]), "array 'odd' must hold bools, ints or floats, got dtype complex128"),
        ([1.0], "array 'odd' must be a numpy array, got list"),
    ],
)
def test_arrays_that_cannot_be_stored_are_refused(probe: Any, tmp_path: Path, array: Any, message: str) -> None:
    probe.learned_arrays = lambda: {"odd": array}
    with pytest.raises(ArtifactError, match=message):
        probe.save(tmp_path / "model")


def test_a_vocabulary_name_is_never_a_path(probe: Any, tmp_path: Path) -> None:
    probe.learned_vocabularies = lambda: {"../items": Vocabulary(["a"])}
    with pytest.raises(ArtifactError, match="vocabulary name must be a lower-case identifier"):
        probe.save(tmp_path / "model")


def test_a_class_that_could_not_be_loaded_is_not_saved(probe_module: Any, tmp_path: Path) -> None:
    class Local(probe_module.Probe):
        pass

    with pytest.raises(ArtifactError, match=r"must be a class at the top of a gossamer\.models module"):
        fitted(Local).save(tmp_path / "model")


def test_only_nothing_emptiness_or_an_artifact_is_replaced(probe: Any, saved: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    probe.save(tmp_path / "empty")
    probe.save(saved)

    (saved / "notes.txt").write_text("mine")
    with pytest.raises(ArtifactError, match=r"also holds notes.txt; move that away or choose another path"):
        probe.save(saved)
    assert (saved / "notes.txt").read_text() == "mine"

    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("mine")
    with pytest.raises(ArtifactError, match="thesis must be a new or empty directory or an artifact"):
        probe.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "mine"

    (tmp_path / "file").write_text("mine")
    with pytest.raises(ArtifactError, match="got a file; choose another path"):
        probe.save(tmp_path / "file")


def test_saving_through_a_link_replaces_what_it_points_to(probe_module: Any, saved: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(saved, target_is_directory=True)
    newer = fitted(probe_module.Probe, seed=1)
    newer.save(tmp_path / "latest")
    assert (tmp_path / "latest").is_symlink()
    assert state(read_artifact(saved).estimator) == state(newer)
    assert state(read_artifact(tmp_path / "latest").estimator) == state(newer)


def test_others_may_read_what_the_umask_lets_them(saved: Path) -> None:
    mask = os.umask(0)
    os.umask(mask)
    assert saved.stat().st_mode & 0o777 == 0o777 & ~mask
    for file in saved.iterdir():
        assert file.stat().st_mode & 0o777 == 0o666 & ~mask
