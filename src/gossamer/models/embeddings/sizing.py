"""How a table becomes as large as asked: by its own size argument or by a compression ratio, never by both."""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import nn

from gossamer.models.embeddings.table import budget_of

INITIAL_STD = 0.1  # of every number in a new table, whatever its method, so that methods start alike


def check_one_size(name: str, size: object, ratio: float | None) -> None:
    """Raise a ValueError unless exactly one of a table's own size and `ratio` is given.

    >>> check_one_size("rank", 4, 20)
    Traceback (most recent call last):
    ValueError: rank or ratio must be given, one of them alone, got rank=4 and ratio=20
    """
    if (size is None) == (ratio is None):
        raise ValueError(f"{name} or ratio must be given, one of them alone, got {name}={size} and ratio={ratio}")


def affordable(num_embeddings: int, embedding_dim: int, ratio: float, *, smallest: int, advice: str = "") -> int:
    """Return how many numbers `ratio` allows, or say the largest ratio at which the `smallest` table fits.

    >>> affordable(1000, 64, 100, smallest=1064)
    Traceback (most recent call last):
    ValueError: ratio must be at most 60.15, where the smallest such table of 1000 × 64 has 1064 numbers, got 100
    """
    budget = budget_of(num_embeddings, embedding_dim, ratio)
    if budget < smallest:
        largest = num_embeddings * embedding_dim / smallest
        if largest < 1:
            raise ValueError(
                f"num_embeddings × embedding_dim must be at least {smallest}, the smallest such table{advice}, "
                f"got {num_embeddings} × {embedding_dim}"
            )
        # Rounded down, so that the ratio in the sentence is one that works.
        shown = math.floor(largest * 100) / 100
        while budget_of(num_embeddings, embedding_dim, shown) < smallest:  # 423 / 16.92 is 25 on paper only
            shown = round(shown - 0.01, 2)
        written = f"{shown:.2f}".rstrip("0").rstrip(".")
        raise ValueError(
            f"ratio must be at most {written}, where the smallest such table of {num_embeddings} × {embedding_dim} "
            f"has {smallest} numbers{advice}, got {ratio:g}"
        )
    return budget


def normal_parameter(shape: tuple[int, ...], std: float, generator: torch.Generator) -> nn.Parameter:
    """Return a trainable tensor of normal numbers."""
    return nn.Parameter(torch.randn(shape, generator=generator) * std)


def by_importance(
    num_embeddings: int,
    counts: Float[np.ndarray, " V"] | Int[np.ndarray, " V"] | None,
    padding_idx: int | None,
) -> Int[np.ndarray, " V"]:
    """Return all ids, most important first and padding last; without counts, ids are taken to be in order already.

    >>> by_importance(3, np.array([1.0, 5.0, 5.0]), None).tolist()
    [1, 2, 0]
    """
    importance = -np.arange(num_embeddings, dtype=np.float64) if counts is None else np.array(counts, dtype=np.float64)
    if importance.shape != (num_embeddings,):
        raise ValueError(f"counts must be one number per id ({num_embeddings}), got shape {importance.shape}")
    if np.isnan(importance).any():
        raise ValueError(f"counts must be numbers, got NaN for id {int(np.isnan(importance).argmax())}")
    if padding_idx is not None:
        importance[padding_idx] = -np.inf
    return np.argsort(-importance, kind="stable")
