"""What is held out by a hash alone, so that processes that divide the data need not ask each other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, UInt64

from gossamer.core.checks import check_int, check_real


def check_shares(valid_share: float, test_share: float, random_state: int, what: str) -> None:
    """Refuse shares of `what` that leave nothing to learn from, or nothing to judge by."""
    check_real("valid_share", valid_share, at_least=0, below=1)
    check_real("test_share", test_share, above=0, below=1)
    check_int("random_state", random_state, at_least=0)
    if valid_share + test_share >= 1:
        raise ValueError(f"valid_share and test_share must leave training {what}, got {valid_share} and {test_share}")


def hash_contents(contents: Iterable[bytes], seed: int) -> UInt64[np.ndarray, " N"]:
    """Return a number for every content, the same on every machine."""
    # Not the checksum by which shares are dealt out: else some process would have all that is held out.
    begin = f"{seed}/".encode()
    digests = [hashlib.blake2b(begin + content, digest_size=8).digest() for content in contents]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def mix_hashes(first: UInt64[np.ndarray, " n"], second: UInt64[np.ndarray, " n"]) -> UInt64[np.ndarray, " n"]:
    """Return a number for every pair of numbers; not that of the pair the other way round.

    >>> mix_hashes(np.array([1, 2], dtype=np.uint64), np.array([2, 1], dtype=np.uint64)).tolist()
    [10905525725756348110, 13757245211066428519]
    """
    mixed = first * np.uint64(0x9E3779B97F4A7C15) + second
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finaliser of SplitMix64
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    found: np.ndarray = mixed ^ (mixed >> np.uint64(31))
    return found


def held_out_by(
    numbers: UInt64[np.ndarray, " N"], valid_share: float, test_share: float
) -> tuple[Bool[np.ndarray, " N"], Bool[np.ndarray, " N"]]:
    """Say which of the hashed things are for validation, and which for the test."""
    place = numbers / 2.0**64
    is_test = place < test_share
    return ~is_test & (place < test_share + valid_share), is_test
