"""What was learned, as tables for people: the states, and what follows what."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float64

from gossamer.data.vocabulary import Vocabulary

NUM_PARTS = 4  # of an observation that a table names


def state_table(
    initial: Float64[np.ndarray, " K"],
    mean_durations: Float64[np.ndarray, " K"],
    expected: Float64[np.ndarray, "K D"],
    names: Vocabulary | None,
    *,
    are_probs: bool,
    n: int,
) -> list[dict[str, Any]]:
    """Return a row per state: how often series begin with it, how long it lasts, what it emits."""
    return [
        {
            "state": state,
            "begins": float(initial[state]),
            "mean duration": float(mean_durations[state]),
            "emits": _described(expected[state], names, are_probs),
        }
        for state in range(min(n, len(initial)))
    ]


def transition_table(transition: Float64[np.ndarray, "K K"], n: int) -> list[dict[str, Any]]:
    """Return the n most probable moves from a state to another."""
    moves = transition * (1 - np.eye(len(transition)))
    order = np.argsort(-moves, axis=None, kind="stable")[:n]
    pairs = [divmod(int(place), len(moves)) for place in order]
    return [{"from": i, "to": j, "probability": float(moves[i, j])} for i, j in pairs]


def _described(expected: np.ndarray, names: Vocabulary | None, are_probs: bool) -> str:
    if not are_probs:
        labels = [""] * len(expected) if names is None else [f"{name} " for name in names]
        shown = [f"{label}{value:.3g}" for label, value in zip(labels, expected, strict=True)][:NUM_PARTS]
        return ", ".join(shown) + (" …" if len(expected) > NUM_PARTS else "")
    best = np.argsort(-expected, kind="stable")[:NUM_PARTS]
    return ", ".join(f"{names[int(v)] if names is not None else v} {expected[v]:.2f}" for v in best)
