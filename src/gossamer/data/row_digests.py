"""A fingerprint of interactions that processes can take of their own users and add up."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from gossamer.data.interactions import Interactions

SUMMED = "rows:"  # how the fingerprints of this module begin; those of whole containers are bare SHA-256
_DIGEST_BYTES = 16
_MODULUS = 1 << (8 * _DIGEST_BYTES)


def sum_row_digests(data: Interactions) -> int:
    """Return the sum over users of a digest of each user's id and interactions, modulo 2^128.

    A sum does not depend on who holds which users, nor in which order; users without interactions add nothing and items
    count by their ids, so that it does not matter whether empty ones were dropped.

    >>> data = Interactions.from_pairs(["ann", "bob", "ann"], ["tea", "tea", "jam"])
    >>> sum_row_digests(data) == (sum_row_digests(data[:1]) + sum_row_digests(data[1:])) % 2**128
    True
    """
    items = np.array([int.from_bytes(_digest(f"{item!r}".encode())[:8], "little") for item in data.items], dtype="<u8")
    total = 0
    for row in np.flatnonzero(np.diff(data.indptr)).tolist():
        own = slice(data.indptr[row], data.indptr[row + 1])
        parts = [f"{data.users[row]!r}".encode(), items[data.indices[own]].tobytes()]
        parts += [values[own].tobytes() for values in (data.rating, data.time) if values is not None]
        total += int.from_bytes(_digest(b";".join(parts)), "little")
    return total % _MODULUS


def fingerprint_of_sums(sums: Iterable[int]) -> str:
    """Return the fingerprint of all rows from the sums of those who have divided them.

    >>> fingerprint_of_sums([1, 2]) == fingerprint_of_sums([3])
    True
    """
    return f"{SUMMED}{sum(sums) % _MODULUS:0{2 * _DIGEST_BYTES}x}"


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
