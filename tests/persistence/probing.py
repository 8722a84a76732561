"""Fitted probes, and how to compare two; used by the tests and by the script that kills itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gossamer.data.vocabulary import Vocabulary
from gossamer.persistence import ArtifactError, read_artifact
from gossamer.persistence.config import config_checksum
from gossamer.persistence.files import describe_file

PROBE_FOLDER = Path(__file__).parent / "probe_models"


def fitted(cls: type, seed: int = 0, **arguments: Any) -> Any:
    random = np.random.default_rng(seed)
    probe = cls(**arguments)
    probe.weights_ = random.normal(size=(3, 4)).astype(np.float32)
    probe.bias_ = np.array(random.normal())
    probe.seen_ = np.array([True, False, True])
    probe.codes_ = csr_array(np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]], np.float32) * (seed + 1))
    probe.items_ = Vocabulary(["ham", "eggs", "späm", 'quote " and\nline'])
    probe.users_ = Vocabulary([10, 20 + seed, -3])
    probe.history_ = [{"epoch": 1, "loss": 0.25 * seed}]
    return probe


def state(probe: Any) -> tuple[Any, ...]:
    """Everything that makes two probes equal, as comparable bytes and values."""
    arrays = {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in probe.learned_arrays().items()}
    vocabularies = {name: list(vocabulary) for name, vocabulary in probe.learned_vocabularies().items()}
    arguments = {name: list(value) if isinstance(value, tuple) else value for name, value in probe.get_params().items()}
    return type(probe).__name__, arguments, arrays, vocabularies, probe.learned_metadata()


def reseal(path: Path, change: Any = None) -> None:
    """Make every checksum right again after a change, as somebody hostile would."""
    config = json.loads((path / "config.json").read_text())
    for name in config["files"]:
        if (path / name).is_file():
            config["files"][name] = describe_file(path / name)
    if change is not None:
        change(config)
    with suppress(ValueError):  # infinities have no checksum, and must be refused before it is looked at
        config["checksum"] = config_checksum(config)
    (path / "config.json").unlink()  # ext4 waits for the disk where a file is overwritten
    (path / "config.json").write_text(json.dumps(config))


_watched: list[str] | None = None
_DEEDS = {"import", "exec", "compile", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen"} | {
    "pickle.find_class",
    "marshal.loads",
    "code.__new__",
    "ctypes.dlopen",
}


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched is not None and event in _DEEDS:
        _watched.append(f"{event} {arguments[:1]}")


sys.addaudithook(_watch)


@contextmanager
def nothing_executed() -> Iterator[None]:
    """Fail where the block imports, compiles, unpickles or starts anything."""
    global _watched
    _watched = deeds = []
    try:
        yield
    finally:
        _watched = None
        assert not deeds, deeds


def refusal(path: Path) -> str:
    """Return the message with which an artifact is refused, having executed nothing."""
    with nothing_executed():
        try:
            read_artifact(path)
        except ArtifactError as error:
            return str(error)
    raise AssertionError(f"{path} was loaded")
