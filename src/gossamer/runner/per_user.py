"""What a record keeps of every user, so that rows can be compared user by user afterwards."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gossamer.data.interactions import HeldOut
from gossamer.runner.specs import check_keys

DIGITS = 5  # an error of 5e-6 at most, far below any standard error; a quarter of what all digits would take


@dataclass(frozen=True)
class PerUser:
    """One metric of each held-out user, in their order, None for a user without targets.

    `held_out` is a short digest of who was held out with which history and targets: values with different ones must not
    be paired.
    """

    metric: str
    held_out: str
    values: tuple[float | None, ...]

    @classmethod
    def keep(cls, metric: str, held_out: HeldOut, values: Float[np.ndarray, " N"]) -> PerUser:
        """Round the values of users for a record."""
        parts = held_out.history.fingerprint() + held_out.target.fingerprint()
        digest = hashlib.sha256(parts.encode()).hexdigest()[:16]
        rounded = np.round(values, DIGITS).tolist()
        return cls(metric, digest, tuple(None if math.isnan(value) else value for value in rounded))

    @classmethod
    def from_json(cls, content: Any) -> PerUser:
        """Take back what a record holds, checked."""
        names = list(cls.__dataclass_fields__)
        check_keys("per_user", content, names, required=names)
        for name in ("metric", "held_out"):
            if not isinstance(content[name], str) or not content[name]:
                raise ValueError(f"per_user.{name} must be a text, got {content[name]!r}")
        values = content["values"]
        if not isinstance(values, list):
            raise ValueError(f"per_user.values must be a list, got {values!r}")
        for value in values:
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise ValueError(f"per_user.values must be numbers or null, got {value!r}")
        return cls(content["metric"], content["held_out"], tuple(values))

    def array(self) -> Float[np.ndarray, " N"]:
        """Return the values, NaN for a user without targets."""
        return np.array(self.values, dtype=np.float64)
