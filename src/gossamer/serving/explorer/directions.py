"""A map with axes of one's own: from one name to another, across and up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from gossamer.serving.explorer.projection import principal_components


@dataclass(frozen=True)
class Ends:
    """The names between which the axes of a map run; a pair may be left out as a whole."""

    across_from: str | None = None
    across_to: str | None = None
    up_from: str | None = None
    up_to: str | None = None

    @property
    def across(self) -> tuple[str, str] | None:
        """From what to what, from left to right."""
        return _pair("across_from and across_to", self.across_from, self.across_to)

    @property
    def up(self) -> tuple[str, str] | None:
        """From what to what, from below."""
        return _pair("up_from and up_to", self.up_from, self.up_to)


def _pair(names: str, begin: str | None, end: str | None) -> tuple[str, str] | None:
    if (begin is None) != (end is None):
        raise ValueError(f"{names} must be given together, got one of them")
    return None if begin is None or end is None else (begin, end)


def farthest_pair(vectors: np.ndarray) -> tuple[int, int]:
    """Return the two rows (V, D) that lie farthest apart along the direction in which rows differ most.

    >>> farthest_pair(np.array([[0.0, 0.0], [5.0, 1.0], [-4.0, 0.0]]))
    (2, 1)
    """
    along = principal_components(vectors, 1)[:, 0]
    return int(along.argmin()), int(along.argmax())


def places_between(
    vectors: np.ndarray, across: tuple[np.ndarray, np.ndarray], up: tuple[np.ndarray, np.ndarray] | None
) -> Float32[np.ndarray, "V 2"]:
    """Return where rows (V, D) lie between two ends: x = (v - (a + b)/2)·(b - a)/|b - a|²; a is at -½ and b at ½.

    Without a second pair, y is the direction in which rows differ most when the first is left out, in the same unit.
    """
    wide = np.asarray(vectors, dtype=np.float64)
    x = _between(wide, across)
    if up is not None:
        return np.stack([x, _between(wide, up)], axis=1).astype(np.float32)
    way = _way(across)
    length = float(np.linalg.norm(way))
    others = wide - wide.mean(axis=0)
    others -= np.outer(others @ way, way) / length**2
    return np.stack([x, principal_components(others, 1)[:, 0] / length], axis=1).astype(np.float32)


def _between(vectors: np.ndarray, ends: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    way = _way(ends)
    middle = (ends[0].astype(np.float64) + ends[1]) / 2
    found: np.ndarray = (vectors - middle) @ way / (way @ way)
    return found


def _way(ends: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    way: np.ndarray = ends[1].astype(np.float64) - ends[0]
    if not np.linalg.norm(way) > 0:
        raise ValueError("the ends of an axis must lie at different places, got two that lie at the same")
    return way
