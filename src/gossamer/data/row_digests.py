"""Digests of single rows: a fingerprint that processes can add up, and what a row is known by wherever it is held."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.sentences import Sentences
from gossamer.data.sequences import Sequences
from gossamer.data.vocabulary import Vocabulary

SUMMED = "rows:"  # how the fingerprints of this module begin; those of whole containers are bare SHA-256
_DIGEST_BYTES = 16
_MODULUS = 1 << (8 * _DIGEST_BYTES)


def sum_row_digests(data: Any) -> int:
    """Return the sum over rows of a digest of each row's content, modulo 2^128.

    A sum does not depend on who holds which rows, nor in which order. Of interactions a row is a user; users without
    interactions add nothing and items count by their ids, so that it does not matter whether empty ones were dropped.

    >>> data = Interactions.from_pairs(["ann", "bob", "ann"], ["tea", "tea", "jam"])
    >>> sum_row_digests(data) == (sum_row_digests(data[:1]) + sum_row_digests(data[1:])) % 2**128
    True
    """
    return sum(int.from_bytes(_digest(row), "little") for row in _whole_rows(data)) % _MODULUS


def fingerprint_of_sums(sums: Iterable[int]) -> str:
    """Return the fingerprint of all rows from the sums of those who have divided them.

    >>> fingerprint_of_sums([1, 2]) == fingerprint_of_sums([3])
    True
    """
    return f"{SUMMED}{sum(sums) % _MODULUS:0{2 * _DIGEST_BYTES}x}"


def row_contents(data: Any) -> Iterator[bytes]:
    """Yield what each document, example or series is known by: its name if series have names, else all but its class.

    >>> words = Vocabulary(["ham", "eggs"])
    >>> first, second, third = row_contents(Sentences(np.array([0, 1, 0]), np.arange(4), words))
    >>> first == third, first == second
    (True, False)
    """
    if isinstance(data, Sequences) and data.names is not None:
        return (f"{name!r}".encode() for name in data.names)
    return _READERS[type(data)](data)


def _whole_rows(data: Any) -> Iterator[bytes]:
    """Yield everything that a row holds, its name and its class included."""
    if isinstance(data, Interactions):
        yield from _user_rows(data)
        return
    labels = getattr(data, "labels", getattr(data, "targets", None))
    beside = [] if labels is None else [labels]
    if isinstance(data, Sequences) and data.features is not None:
        beside.append(data.features)
    names: Any = getattr(data, "names", None)
    for number, content in enumerate(_READERS[type(data)](data)):
        parts = [] if names is None else [f"{names[number]!r}".encode()]
        yield b";".join([*parts, content, *(np.ascontiguousarray(values[number]).tobytes() for values in beside)])


def _user_rows(data: Interactions) -> Iterator[bytes]:
    items = _id_digests(data.items)
    for row in np.flatnonzero(np.diff(data.indptr)).tolist():
        own = slice(data.indptr[row], data.indptr[row + 1])
        parts = [f"{data.users[row]!r}".encode(), items[data.indices[own]].tobytes()]
        parts += [values[own].tobytes() for values in (data.rating, data.time) if values is not None]
        yield b";".join(parts)


def _sentence_rows(data: Sentences) -> Iterator[bytes]:
    words = _id_digests(data.vocabulary)
    for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        yield words[data.tokens[begin:end]].tobytes()


def _count_rows(data: Counts) -> Iterator[bytes]:
    matrix = data.matrix if data.matrix.has_sorted_indices else data.matrix.sorted_indices()
    terms = _id_digests(data.terms)
    for begin, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        yield terms[matrix.indices[begin:end]].tobytes() + matrix.data[begin:end].tobytes()


def _array_rows(data: LabelledArrays) -> Iterator[bytes]:
    return (np.ascontiguousarray(row).tobytes() for row in data.inputs)


def _series_rows(data: Sequences) -> Iterator[bytes]:
    values = data.observations
    if values.ndim == 1 and data.vocabulary is not None:  # behind the names of events comes that of a missing one, -1
        values = np.append(_id_digests(data.vocabulary), np.uint64(0))[values]
    for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        states = b"" if data.states is None else data.states[begin:end].tobytes()
        yield np.ascontiguousarray(values[begin:end]).tobytes() + states


_READERS: dict[type, Callable[[Any], Iterator[bytes]]] = {
    Sentences: _sentence_rows,
    Counts: _count_rows,
    LabelledArrays: _array_rows,
    Sequences: _series_rows,
}


def _id_digests(ids: Vocabulary) -> np.ndarray:
    """Return a number for every id, by which rows are compared whatever the order of the ids."""
    return np.array([int.from_bytes(_digest(f"{name!r}".encode())[:8], "little") for name in ids], dtype="<u8")


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
