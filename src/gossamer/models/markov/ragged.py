"""What the recursions of HMM and HSMM share: ragged sequences for kernels, and derivatives by complex steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

NUM_CHUNKS = 16  # of sequences that add to one sum; fixed, so that sums do not depend on the number of threads
SAFE_LOG_RATIO = -575.0  # log 1e-250: emissions further below the step's largest may underflow in a product
SAFE_PROB = 1e-50  # a transition less probable than this may underflow in a product
DISAGREEMENT = 1e-8  # of forward and backward likelihood: rounding is far below, anything that was lost far above
STEP = 1e-16  # of complex differentiation: its square is nothing, itself far from underflow


def check_sequences(log_emissions: Tensor, offsets: np.ndarray | Tensor) -> Int64[np.ndarray, " B+1"]:
    """Return `offsets` as an array, or raise a ValueError where they or the log densities make no sense."""
    bounds = np.ascontiguousarray(_plain(offsets), dtype=np.int64)
    if log_emissions.ndim != 2:
        raise ValueError(f"log_emissions must have shape (N, K), got {tuple(log_emissions.shape)}")
    is_rising = bounds.ndim == 1 and len(bounds) > 0 and bounds[0] == 0 and (np.diff(bounds) >= 0).all()
    if not is_rising or bounds[-1] != len(log_emissions):
        raise ValueError(f"offsets must rise from 0 to the number of steps, {len(log_emissions)}, got {bounds}")
    return bounds


def with_owner(name: str, tensor: Tensor, shape: tuple[int, ...], num_sequences: int) -> Tensor:
    """Return parameters with a leading axis, 1 for shared ones or B for one set per sequence, or raise a ValueError.

    >>> with_owner("log_initial", torch.zeros(3), (3,), 5).shape
    torch.Size([1, 3])
    """
    if tuple(tensor.shape) == shape:
        return tensor[None]
    if tuple(tensor.shape) in ((1, *shape), (num_sequences, *shape)):
        return tensor
    raise ValueError(f"{name} must have shape {shape} or {(num_sequences, *shape)}, got {tuple(tensor.shape)}")


def same_owners(tensors: list[Tensor]) -> list[Tensor]:
    """Return parameters that are all shared, or all one set per sequence."""
    owners = max(len(tensor) for tensor in tensors)
    return [tensor.expand(owners, *tensor.shape[1:]) for tensor in tensors]


def as_array(tensor: Tensor) -> np.ndarray:
    """Return the values in double precision, contiguous, without a graph."""
    return np.ascontiguousarray(tensor.detach().cpu().double().numpy())


def kinds_of(tensors: list[Tensor]) -> list[tuple[torch.device, torch.dtype]]:
    """Return where tensors live and of which type they are, which outlives them."""
    return [(tensor.device, tensor.dtype) for tensor in tensors]


def as_kind(array: np.ndarray, kind: tuple[torch.device, torch.dtype]) -> Tensor:
    """Return an array as a tensor of this device and type."""
    return torch.from_numpy(array).to(device=kind[0], dtype=kind[1])


def shaped_as(counts: Tensor, parameter: Tensor) -> Tensor:
    """Return counts in the shape of the parameter they belong to, summed over sequences that share it."""
    return counts.sum(0).reshape_as(parameter) if counts.numel() > parameter.numel() else counts.reshape_as(parameter)


def counts_gradient(run: Any, made: Any, likelihood: Tensor, counts: Sequence[Tensor]) -> list[np.ndarray]:
    """Return the gradient of expected counts and likelihoods by the logs, from the incoming one.

    The Jacobian of the counts is the Hessian of the log-likelihood, hence symmetric: the gradient is the derivative of
    the counts along the incoming one, which a pass with complex steps gives to machine precision. `run` makes a pass
    such as `made`.
    """
    directions = [as_array(count) for count in counts]
    total = [np.zeros_like(direction) for direction in directions]
    size = step_size(directions)
    if size > 0:
        moved = run(made.logs, made.offsets, directions, size, *made.options)
        moved.lost |= made.lost
        found = moved.counts(np.ones(len(likelihood)))
        total = [np.ascontiguousarray(value.imag) / size for value in found]
    if likelihood.any():
        first = made.counts(as_array(likelihood))
        total = [value + more for value, more in zip(total, first, strict=True)]
    return total


def relative_emissions(
    log_emissions: Float64[np.ndarray, "N K"], offsets: Int64[np.ndarray, " B+1"]
) -> tuple[Float64[np.ndarray, "N K"], Float64[np.ndarray, " N"], np.ndarray]:
    """Return densities over the step's largest, the log of the largest, and which sequences span very much (B)."""
    logs = torch.from_numpy(log_emissions)
    peaks = logs.amax(dim=1) if len(logs) else logs.new_zeros(0)
    if not (peaks < torch.inf).all():
        raise ValueError("log_emissions must be finite or -inf, got NaN or +inf")
    peaks = peaks.masked_fill(peaks == -torch.inf, 0.0)  # an impossible step has densities 0, not NaN
    ratios = logs - peaks[:, None]
    spans = np.zeros(len(offsets) - 1, dtype=bool)
    if ratios.numel() and ratios.min() < SAFE_LOG_RATIO:
        far = ((ratios < SAFE_LOG_RATIO) & (ratios > -torch.inf)).any(dim=1).numpy()
        totals = np.concatenate([[0], np.cumsum(far)])
        spans = np.diff(totals[offsets]) > 0
    return ratios.exp_().numpy(), peaks.numpy(), spans


def has_tiny(*probs: np.ndarray) -> bool:
    """Say whether a probability is so small that products with it may underflow."""
    return any(bool(((array < SAFE_PROB) & (array > 0)).any()) for array in probs)


def chunk_bounds(num_sequences: int, num_owners: int) -> Int64[np.ndarray, " C+1"]:
    """Return which sequences add to which row of sums: one row each, or a few rows where all share parameters."""
    if num_owners > 1:
        return np.arange(num_sequences + 1)
    return np.linspace(0, num_sequences, min(NUM_CHUNKS, max(num_sequences, 1)) + 1).astype(np.int64)


def owner_sums(chunks: np.ndarray, num_owners: int) -> np.ndarray:
    """Return the sums of owners from those of chunks."""
    return chunks if num_owners > 1 else chunks.sum(axis=0, keepdims=True)


def step_factors(direction: np.ndarray, size: float) -> np.ndarray:
    """Return 1 + iεv: what multiplies a probability when its log moves along v."""
    return 1.0 + 1j * size * direction


def moved_logs(logs: Sequence[np.ndarray], directions: Sequence[np.ndarray], size: float) -> list[np.ndarray]:
    """Return logs + iεv."""
    return [log + 1j * size * v for log, v in zip(logs, directions, strict=True)]


def step_size(directions: list[np.ndarray]) -> float:
    """Return ε, so small against the largest direction that ε² is nothing in double precision."""
    largest = max(float(np.abs(direction).max(initial=0.0)) for direction in directions)
    return STEP / largest if largest > 0 else 0.0


def sequence_numbers(offsets: np.ndarray | Tensor) -> Int64[Tensor, " N"]:
    """Return to which sequence every step belongs.

    >>> sequence_numbers(np.array([0, 2, 3])).tolist()
    [0, 0, 1]
    """
    bounds = _plain(offsets)
    return torch.from_numpy(np.repeat(np.arange(len(bounds) - 1), np.diff(bounds)))


def _plain(offsets: np.ndarray | Tensor) -> np.ndarray:
    return offsets.cpu().numpy() if isinstance(offsets, Tensor) else np.asarray(offsets)
