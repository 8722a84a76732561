"""Random damage to any file of an artifact: an ArtifactError or the very same model, never anything else."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from probing import fitted, nothing_executed, reseal, state

from gossamer.persistence import ArtifactError, read_artifact

FILES = ["card.md", "config.json", "model.safetensors", "vocabulary.items.json", "vocabulary.users.json"]
FAST = settings(max_examples=200)
SLOW = settings(max_examples=10_000, suppress_health_check=list(HealthCheck))

# At a relative position, either flip a bit, or replace some bytes by others (cuts and insertions among them).
Edit = tuple[float, int] | tuple[float, int, bytes]
FLIP = st.tuples(st.floats(0, 1), st.integers(0, 7))
EDIT = st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=20))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def sound(probe_module: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], Any]:
    """The files of a sound artifact, and what it holds."""
    path = tmp_path_factory.mktemp("sound") / "model"
    probe = fitted(probe_module.Probe)
    probe.save(path, provenance={"data": "planted"}, metrics={"ndcg": 0.5})
    read_artifact(path)
    return {name: (path / name).read_bytes() for name in FILES}, state(probe)


def edited(content: bytes, edits: list[Edit]) -> bytes:
    for place, amount, *inserted in edits:
        at = round(place * max(len(content) - 1, 0))
        if inserted:
            content = content[:at] + inserted[0] + content[at + amount :]
        elif content:
            content = content[:at] + bytes([content[at] ^ (1 << amount)]) + content[at + 1 :]
    return content


def outcome(files: dict[str, bytes], change: Callable[[Path], None] | None = None) -> Any:
    """Return the loaded state, or None where the artifact was refused; every other exception fails the test."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        for name, content in files.items():
            (path / name).write_bytes(content)
        if change is not None:
            change(path)
        with nothing_executed():
            try:
                estimator = read_artifact(path).estimator
            except ArtifactError:
                return None
        return state(estimator)


def check_damage(sound: tuple[dict[str, bytes], Any], name: str, edits: list[Edit]) -> None:
    damaged = outcome({**sound[0], name: edited(sound[0][name], edits)})
    assert damaged is None or damaged == sound[1]


def check_resealed_damage(sound: tuple[dict[str, bytes], Any], name: str, edits: list[Edit]) -> None:
    """With checksums made right, the parsers themselves see the damage; another sound model is then fair."""
    outcome({**sound[0], name: edited(sound[0][name], edits)}, reseal)


def check_resealed_config(sound: tuple[dict[str, bytes], Any], route: list[int], value: Any) -> None:
    """Put any JSON value at any place of config.json."""

    def change(config: dict[str, Any]) -> None:
        at: Any = config
        for depth, turn in enumerate(route, start=1):
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                return
            key = keys[turn % len(keys)]
            if not isinstance(at[key], dict | list) or depth == len(route):
                at[key] = value
                return
            at = at[key]

    outcome(sound[0], lambda path: reseal(path, change))


NAMES = st.sampled_from(FILES)
OTHER_NAMES = st.sampled_from([name for name in FILES if name != "config.json"])
EDITS = st.lists(FLIP | EDIT, min_size=1, max_size=3)
ROUTES = st.lists(st.integers(0, 20), min_size=1, max_size=4)


@FAST
@given(name=NAMES, edits=EDITS)
def test_damage(sound: Any, name: str, edits: Any) -> None:
    check_damage(sound, name, edits)


@FAST
@given(name=OTHER_NAMES, edits=EDITS)
def test_resealed_damage(sound: Any, name: str, edits: Any) -> None:
    check_resealed_damage(sound, name, edits)


@FAST
@given(route=ROUTES, value=JSON_VALUES)
def test_resealed_config(sound: Any, route: list[int], value: Any) -> None:
    check_resealed_config(sound, route, value)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@SLOW
@given(name=NAMES, edits=EDITS)
def test_damage_10000(sound: Any, name: str, edits: Any) -> None:
    check_damage(sound, name, edits)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@SLOW
@given(name=OTHER_NAMES, edits=EDITS)
def test_resealed_damage_10000(sound: Any, name: str, edits: Any) -> None:
    check_resealed_damage(sound, name, edits)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@SLOW
@given(route=ROUTES, value=JSON_VALUES)
def test_resealed_config_10000(sound: Any, route: list[int], value: Any) -> None:
    check_resealed_config(sound, route, value)
