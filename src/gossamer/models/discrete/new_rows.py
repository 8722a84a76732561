"""New observations from codes."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Float32
from scipy import sparse
from torch import Tensor

from gossamer.models.discrete.module import DiscreteNetwork
from gossamer.models.discrete.observations import MIN_VARIANCE, BinaryObservation, RealObservation
from gossamer.models.discrete.rows import Rows

NUM_QUANTILES = 101


def length_quantiles(rows: Rows) -> Float32[np.ndarray, " 101"]:
    """Return the percentiles, 0 … 100, of the sums of rows that have counts."""
    lengths = np.asarray(rows.values.sum(axis=1)).ravel()
    quantiles: np.ndarray = np.quantile(lengths[lengths > 0], np.linspace(0, 1, NUM_QUANTILES)).astype(np.float32)
    return quantiles


@torch.no_grad()
def draw_rows(
    network: DiscreteNetwork,
    codes: Float[Tensor, "n K"],
    quantiles: Float32[np.ndarray, " 101"] | None,
    generator: np.random.Generator,
) -> np.ndarray | sparse.csr_array:
    """Return one observation per code; `quantiles` of lengths are for counts, of which each row has at least one."""
    outputs = network.decoder(codes)
    mean = network.observation.mean(outputs).numpy()
    if isinstance(network.observation, BinaryObservation):
        return (generator.random(mean.shape, dtype=np.float32) < mean).astype(np.float32)
    if isinstance(network.observation, RealObservation):
        observation = network.observation
        spread = observation.log_variance.exp().clamp_min(MIN_VARIANCE).sqrt() * observation.scale
        noise = generator.standard_normal(mean.shape, dtype=np.float32)
        values: np.ndarray = mean + noise * spread.numpy()
        return values
    assert quantiles is not None
    places = np.linspace(0, 1, len(quantiles))
    lengths = np.maximum(np.rint(np.interp(generator.random(len(mean)), places, quantiles)), 1).astype(np.int64)
    probs = mean.astype(np.float64)
    words = generator.multinomial(lengths, probs / probs.sum(axis=1, keepdims=True))
    return sparse.csr_array(words.astype(np.float32))
