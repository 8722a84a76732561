"""model.safetensors: named dense arrays, written without a copy and read only after its header is sane."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from gossamer.persistence.errors import ArtifactError

MAX_HEADER_BYTES = 16 << 20  # names and shapes only; ours are a few kilobytes

_KINDS = "biuf"
# By name, not by what numpy makes of them: that depends on whether some library has taught it bfloat16.
_DTYPES = {"BOOL": "?"} | {f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)}
_DTYPES |= {f"F{8 * size}": f"<f{size}" for size in (2, 4, 8)}
_MAX_ITEMSIZE = 8  # no long double


def storable_array(name: str, array: object) -> NDArray[Any]:
    """Return `array` ready to be stored: dense, C-contiguous, little-endian, of a plain number type."""
    if not isinstance(array, np.ndarray):
        raise ArtifactError(f"array {name!r} must be a numpy array, got {type(array).__name__}")
    if array.dtype.kind not in _KINDS or array.dtype.itemsize > _MAX_ITEMSIZE:
        raise ArtifactError(f"array {name!r} must hold bools, ints or floats, got dtype {array.dtype}")
    # safetensors reads memory as it lies, so order and byte order must be right before it looks.
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays that `storable_array` returned."""
    save_file(dict(arrays), path)
    # safetensors makes its file private; a service run by another user must read what the umask lets it.
    path.chmod(path.parent.stat().st_mode & 0o666)


def read_tensors(path: Path, *, mapped: bool = False) -> dict[str, NDArray[Any]]:
    """Read every array of a safetensors file, or raise an ArtifactError that says what is wrong with it.

    With `mapped` they lie in the file's own pages, which processes share; what is written to them stays in memory.
    """
    length = _check_header_length(path)
    try:
        _check_types(path)
        arrays = _map_file(path, length) if mapped else load_file(path)
    except ArtifactError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArtifactError(f"{path} must be a valid safetensors file, but: {error}; save it again") from error
    for name, array in arrays.items():
        if array.dtype == bool and (array.view(np.uint8) > 1).any():
            raise ArtifactError(f"{path} must hold only 0 and 1 in the bools of {name!r}; save it again")
    return arrays


def _check_types(path: Path) -> None:
    """Refuse arrays of other types than we write."""
    with safe_open(path, framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118 (not a dict)
            kind = file.get_slice(name).get_dtype()
            if kind not in _DTYPES:
                raise ArtifactError(f"{path} must hold bools, ints or floats, got {kind} {name!r}; save it again")


def _map_file(path: Path, header_length: int) -> dict[str, NDArray[Any]]:
    """Return arrays over the pages of a file whose header safetensors has accepted: names, shapes and places fit."""
    # Copy on write rather than read-only: torch warns of memory it must not write to, and numba compiles all anew.
    pages = np.memmap(path, mode="c", dtype=np.uint8).view(np.ndarray)
    header = json.loads(pages[8 : 8 + header_length].tobytes())
    content = pages[8 + header_length :]
    return {
        name: content[slice(*entry["data_offsets"])].view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__"
    }


def _check_header_length(path: Path) -> int:
    """Refuse a header longer than its file or than reason, before anything allocates room for it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        prefix = file.read(8)
    if len(prefix) < 8:
        raise ArtifactError(f"{path} must begin with 8 bytes of header length, got {size} bytes; save it again")
    (length,) = struct.unpack("<Q", prefix)
    if length > MAX_HEADER_BYTES or length > size - 8:
        raise ArtifactError(
            f"{path} declares a header of {length} bytes in a file of {size} "
            f"(at most {MAX_HEADER_BYTES} are read): it is damaged or not ours; save it again"
        )
    return int(length)
