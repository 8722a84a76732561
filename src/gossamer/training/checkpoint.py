"""Checkpoints: nested state in one safetensors file, written atomically, verified on load, never pickled.

Tensors are stored as they are. Everything else is JSON in the file's metadata, with a checksum of both: safetensors
itself notices a truncated file, not a flipped bit.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from gossamer.core.atomic import replacing_file

FORMAT = "gossamer-checkpoint-1"


def write_checkpoint(state: Mapping[str, Any], path: Path) -> None:
    """Write `state` (tensors, numbers, strings, None and nested dicts, lists and tuples of them) to `path`.

    The file appears under its name only when it is complete and on disk, so a process killed at any moment leaves
    either the previous checkpoint or the new one.
    """
    tensors = _Tensors()
    text = json.dumps(_encode(state, tensors, "state"), allow_nan=False, separators=(",", ":"))
    metadata = {"format": FORMAT, "state": text, "crc32": str(_checksum(text, tensors))}
    with replacing_file(Path(path)) as temporary:
        save_file(tensors, temporary, metadata=metadata)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Return the state written by `write_checkpoint`, tensors on the CPU; a damaged file is a ValueError."""
    path = Path(path)
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except SafetensorError as error:
        raise ValueError(_damaged(path, f"it is truncated or not a checkpoint ({error})")) from error
    if metadata.get("format") != FORMAT:
        raise ValueError(_damaged(path, f"its format is {metadata.get('format')!r}, not {FORMAT!r}"))
    if metadata.get("crc32") != str(_checksum(metadata.get("state", ""), tensors)):
        raise ValueError(_damaged(path, "its checksum does not match its content"))
    state = _decode(json.loads(metadata["state"]), tensors)
    if not isinstance(state, dict):
        raise ValueError(_damaged(path, "it holds no state"))
    return state


def copy_state(state: Any) -> Any:
    """Return a deep copy of nested state, tensors cloned on the CPU."""
    if isinstance(state, Tensor):
        return state.detach().to("cpu", copy=True)
    if isinstance(state, dict):
        return {key: copy_state(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(copy_state(value) for value in state)
    return state


def find_nan(state: Any, name: str = "") -> str | None:
    """Return the dotted name of the first tensor in nested state that holds a NaN, or None."""
    if isinstance(state, Tensor):
        # The sum is NaN if an entry is; only then (inf - inf gives NaN too) is each entry looked at.
        suspicious = state.is_floating_point() and bool(state.sum().isnan())
        return name if suspicious and bool(state.isnan().any()) else None
    if isinstance(state, dict):
        children = list(state.items())
    elif isinstance(state, list | tuple):
        children = list(enumerate(state))
    else:
        return None
    found = (find_nan(value, f"{name}.{key}" if name else str(key)) for key, value in children)
    return next((child for child in found if child is not None), None)


class _Tensors(dict[str, Tensor]):
    """Tensors by name, each piece of memory once."""

    def __init__(self) -> None:
        super().__init__()
        self._name_of_memory: dict[int, str] = {}

    def store(self, tensor: Tensor, name: str) -> str:
        """Add `tensor` under a unique name and return it; a tied weight that is already there is stored once."""
        if tensor.layout != torch.strided:
            raise ValueError(f"{name} must be a dense tensor, got layout {tensor.layout}; store its parts")
        dense = tensor.detach().cpu().contiguous()
        memory = dense.untyped_storage().data_ptr()
        if dense.numel() and memory in self._name_of_memory:
            known = self._name_of_memory[memory]
            other = self[known]
            if (dense.data_ptr(), dense.shape, dense.dtype) == (other.data_ptr(), other.shape, other.dtype):
                return known
            dense = dense.clone()  # another view of the same memory, which safetensors refuses
        elif dense.numel():
            self._name_of_memory[memory] = name
        while name in self:  # keys "1" and 1 of the same dict
            name += "'"
        self[name] = dense
        return name


def _encode(value: Any, tensors: _Tensors, name: str) -> Any:
    """Return the JSON form of `value`; what JSON lacks becomes a one-key object whose key begins with '!'."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"!float": repr(float(value))}
    if isinstance(value, Tensor):
        return {"!tensor": tensors.store(value, name)}
    if isinstance(value, list):
        return [_encode(item, tensors, f"{name}.{index}") for index, item in enumerate(value)]
    if isinstance(value, tuple):
        return {"!tuple": _encode(list(value), tensors, name)}
    if not isinstance(value, dict):
        raise ValueError(
            f"{name} must be a tensor, number, string, None or a dict, list or tuple of them, "
            f"got {type(value).__name__}"
        )
    if not all(isinstance(key, int | str) for key in value):
        raise ValueError(f"{name} must have keys that are strings or integers, got {list(value)!r}")
    items = [(key, _encode(item, tensors, f"{name}.{key}")) for key, item in value.items()]
    # Optimiser states have integer keys, which a JSON object would turn into strings: keep pairs instead.
    plain = all(isinstance(key, str) and not key.startswith("!") for key in value)
    return dict(items) if plain else {"!dict": items}


def _decode(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    if isinstance(value, list):
        return [_decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    match list(value):
        case ["!float"]:
            return float(value["!float"])
        case ["!tensor"]:
            return tensors[value["!tensor"]]
        case ["!tuple"]:
            return tuple(_decode(item, tensors) for item in value["!tuple"])
        case ["!dict"]:
            return {key: _decode(item, tensors) for key, item in value["!dict"]}
    return {key: _decode(item, tensors) for key, item in value.items()}


def _checksum(text: str, tensors: Mapping[str, Tensor]) -> int:
    checksum = zlib.crc32(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        checksum = zlib.crc32(f"{name}{tensor.dtype}{tuple(tensor.shape)}".encode(), checksum)
        if tensor.numel():
            checksum = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, checksum)
    return checksum


def _damaged(path: Path, reason: str) -> str:
    return (
        f"checkpoint must be a complete file written by gossamer, got {str(path)!r}: {reason}; "
        "it was left as it is: restore it, delete it, or train anew with resume=False"
    )
