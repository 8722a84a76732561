"""What many fits in one process have in common is computed once, where somebody asked for that.

Values are found again by the content of all that they depend on, so that what is remembered is what would be computed.
Nothing is remembered outside of `remembering`.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

T = TypeVar("T")

CAPACITY = 8  # large values of one subject; those that were asked for longest ago are forgotten


@dataclass
class Memory:
    """Values by subject and key, each with the seconds that computing it took."""

    values: dict[str, OrderedDict[str, tuple[Any, float]]] = field(default_factory=dict)
    seconds: float = 0.0  # that were not spent again


_memory: ContextVar[Memory | None] = ContextVar("memory", default=None)


@contextmanager
def remembering() -> Iterator[Memory]:
    """Remember in this block what `remembered` computes."""
    memory = Memory()
    token = _memory.set(memory)
    try:
        yield memory
    finally:
        _memory.reset(token)


def remembered(subject: str, causes: Any, compute: Callable[[], T], *, capacity: int = CAPACITY) -> T:
    """Return `compute()`, or what it returned before for the same `causes`.

    `causes` are all that the value depends on: tensors, arrays, text and numbers, in tuples, lists and dicts. Where
    there is anything else among them the value is computed. Who gets a value must not change it. A `capacity` above
    the usual one is for many small values.

    >>> with remembering() as memory:
    ...     for number in (1, 1, 2):
    ...         _ = remembered("squares", number, lambda: print("computing"))
    computing
    computing
    """
    memory = _memory.get()
    key = None if memory is None else content_hash(causes)
    if memory is None or key is None:
        return compute()
    known = memory.values.setdefault(subject, OrderedDict())
    if key in known:
        known.move_to_end(key)
        value: T
        value, seconds = known[key]
        memory.seconds += seconds
        return value
    began, saved = time.perf_counter(), memory.seconds
    value = compute()
    # What computing it took would have taken longer, had parts of it not been remembered.
    known[key] = value, time.perf_counter() - began + memory.seconds - saved
    if len(known) > capacity:
        known.popitem(last=False)
    return value


def is_remembering() -> bool:
    """Say whether somebody asked for what is computed here to be remembered."""
    return _memory.get() is not None


def seconds_remembered() -> float:
    """Return how long computing all that was remembered so far would have taken."""
    memory = _memory.get()
    return 0.0 if memory is None else memory.seconds


def content_hash(causes: Any) -> str | None:
    """Return a hash of tensors, arrays, text and numbers, nested in tuples, lists and dicts; None for anything else.

    >>> content_hash({"a": 1}) == content_hash({"a": 1.0}), content_hash([object()])
    (False, None)
    """
    digest = hashlib.blake2b(digest_size=20)
    try:
        _feed(digest, causes)
    except TypeError:
        return None
    return digest.hexdigest()


def _feed(digest: hashlib.blake2b, part: Any) -> None:
    """Tell a digest a part, with its kind and size, so that no two lists of parts run into the same bytes."""
    if isinstance(part, Tensor):
        part = part.detach().cpu().numpy()
    if isinstance(part, np.ndarray) and part.dtype != object:
        digest.update(f"array {part.dtype.str} {part.shape}\n".encode())
        digest.update(np.ascontiguousarray(part).data)
    elif isinstance(part, Mapping):
        digest.update(f"dict {len(part)}\n".encode())
        for item in part.items():
            _feed(digest, item)
    elif isinstance(part, tuple | list):
        digest.update(f"list {len(part)}\n".encode())
        for item in part:
            _feed(digest, item)
    elif part is None or isinstance(part, str | int | float):
        text = repr(part).encode()
        digest.update(f"{type(part).__name__} {len(text)}\n".encode() + text)
    else:
        raise TypeError(type(part).__name__)
