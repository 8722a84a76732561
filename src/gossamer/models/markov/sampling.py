"""Paths of hidden states drawn from a model, all sequences at once."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64


def draw_index(probs: Float64[np.ndarray, "n K"], generator: np.random.Generator) -> Int64[np.ndarray, " n"]:
    """Draw one column of every row by its probabilities; an outcome of probability zero is never drawn.

    >>> draw_index(np.array([[0.0, 1.0], [1.0, 0.0]]), np.random.default_rng(0)).tolist()
    [1, 0]
    """
    bounds = np.cumsum(probs, axis=1)
    uniform = generator.random((len(probs), 1)) * bounds[:, -1:]
    return np.asarray((uniform >= bounds).sum(axis=1))


def sample_hmm_states(
    initial: Float64[np.ndarray, "P K"],
    transition: Float64[np.ndarray, "P K K"],
    lengths: Int64[np.ndarray, " B"],
    generator: np.random.Generator,
) -> Int64[np.ndarray, " N"]:
    """Draw states of sequences of these lengths, one below the other; P is 1 or B."""
    owners = np.arange(len(lengths)) if len(initial) > 1 else np.zeros(len(lengths), dtype=np.int64)
    states = np.zeros((len(lengths), int(lengths.max(initial=0))), dtype=np.int64)
    for step in range(states.shape[1]):
        rows = np.flatnonzero(lengths > step)
        probs = transition[owners[rows], states[rows, step - 1]] if step else initial[owners[rows]]
        states[rows, step] = draw_index(probs, generator)
    return states[np.arange(states.shape[1]) < lengths[:, None]]


def sample_hsmm_states(
    initial: Float64[np.ndarray, "P K"],
    transition: Float64[np.ndarray, "P K K"],
    duration: Float64[np.ndarray, "P K D"],
    lengths: Int64[np.ndarray, " B"],
    generator: np.random.Generator,
) -> Int64[np.ndarray, " N"]:
    """Draw states of sequences of these lengths; the last segment is cut off by the end."""
    owners = np.arange(len(lengths)) if len(initial) > 1 else np.zeros(len(lengths), dtype=np.int64)
    states = np.zeros((len(lengths), int(lengths.max(initial=0))), dtype=np.int64)
    left = np.zeros(len(lengths), dtype=np.int64)
    for step in range(states.shape[1]):
        if step:
            states[:, step] = states[:, step - 1]
        rows = np.flatnonzero((left == 0) & (lengths > step))
        probs = transition[owners[rows], states[rows, step - 1]] if step else initial[owners[rows]]
        states[rows, step] = draw_index(probs, generator)
        left[rows] = 1 + draw_index(duration[owners[rows], states[rows, step]], generator)
        left -= 1
    return states[np.arange(states.shape[1]) < lengths[:, None]]
