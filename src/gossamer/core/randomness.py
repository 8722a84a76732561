"""Explicit randomness: every random choice in gossamer comes from a generator built here."""

from __future__ import annotations

import hashlib

import numpy as np
import torch

RandomState = int | np.random.Generator | None


def numpy_generator(random_state: RandomState) -> np.random.Generator:
    """Return a NumPy generator: an int seeds a new one, a generator is used as it is, None asks the system.

    >>> int(numpy_generator(0).integers(100))
    85
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    is_int = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if random_state is not None and not (is_int and random_state >= 0):
        raise ValueError(f"random_state must be None, a non-negative int or a numpy Generator, got {random_state!r}")
    return np.random.default_rng(random_state)


def torch_generator(random_state: RandomState) -> torch.Generator:
    """Return a CPU torch generator seeded from `random_state`."""
    generator = torch.Generator()
    if isinstance(random_state, int):
        numpy_generator(random_state)  # the same check of the value
        generator.manual_seed(derive_seed(random_state))
    else:
        generator.manual_seed(int(numpy_generator(random_state).integers(2**63)))
    return generator


def derive_seed(*parts: int | str) -> int:
    """Mix parts such as (seed, epoch, rank) into one stable 63-bit seed.

    A hash, unlike arithmetic on seeds, gives neighbouring seeds and epochs unrelated streams, and unlike
    Python's own `hash` it is the same in every process.

    >>> derive_seed(0, "epoch", 1) == derive_seed(0, "epoch", 1) != derive_seed(0, "epoch", 2)
    True
    """
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
