"""Planted 0/1 images for benchmarks of discrete VAEs, and a model small enough to list all its codes."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from measuring import Arrays
from torch import Tensor

from gossamer.models.discrete.module import DiscreteNetwork
from gossamer.models.discrete.objective import negative_bound
from gossamer.models.discrete.observations import BinaryObservation
from gossamer.models.discrete.slots import SlotLatent
from gossamer.models.discrete.temperatures import Temperatures

NUM_SLOTS, NUM_OPTIONS, NUM_COLUMNS, NUM_ROWS = 3, 3, 12, 4
NUM_ESTIMATES = 4000


def planted_images(num_images: int, num_pixels: int, num_strokes: int, seed: int = 0) -> Arrays:
    """Return 0/1 rows, each with a fifth of `num_strokes` random strokes on, and one pixel in fifty flipped."""
    rng = np.random.default_rng(seed)
    strokes = rng.random((num_strokes, num_pixels)) < 0.05
    on = rng.random((num_images, num_strokes)) < 0.2
    images = (on.astype(np.float32) @ strokes.astype(np.float32)) > 0
    return {"images": images ^ (rng.random(images.shape) < 0.02)}


def load_images(arrays: Arrays) -> np.ndarray:
    """Return the rows as float32."""
    return arrays["images"].astype(np.float32)


def gradient_error(gradient: str, num_samples: int) -> dict[str, float]:
    """Return bias and standard deviation of an estimator of d bound / d logits, relative to the norm of the true one.

    Three slots of three features: 64 codes, so that the truth is a sum. Rows repeated are independent estimates.
    """
    network, x = _tiny()
    encoded = network.encode(x).detach()
    leaf = encoded.clone().requires_grad_()
    (truth,) = torch.autograd.grad(_exact_loss(network, x, leaf) * NUM_ROWS, leaf)
    wide = encoded.repeat(NUM_ESTIMATES, 1).requires_grad_()
    generator = torch.Generator().manual_seed(0)
    rows = x.repeat(NUM_ESTIMATES, 1)
    loss, _ = negative_bound(network, rows, gradient, num_samples, generator, encoded=wide)
    (each,) = torch.autograd.grad(loss * len(rows), wide)
    each = each.view(NUM_ESTIMATES, NUM_ROWS, -1)
    norm = truth.norm()
    return {
        "bias": float((each.mean(dim=0) - truth).norm() / norm),
        "deviation": float(each.var(dim=0).sum().sqrt() / norm),
    }


def _tiny() -> tuple[DiscreteNetwork, Tensor]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        latent = SlotLatent(NUM_SLOTS * NUM_OPTIONS, NUM_SLOTS)
        observation = BinaryObservation(torch.full((NUM_COLUMNS,), 0.5))
        temperatures = Temperatures(1, "fixed", 1.0, 0.1, 1)
        network = DiscreteNetwork(observation, latent, temperatures, encoder_dims=[8], decoder_dims=[16])
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, std=0.7)
        x = torch.bernoulli(torch.full((NUM_ROWS, NUM_COLUMNS), 0.5))
    return network.double(), x.double()


def _exact_loss(network: DiscreteNetwork, x: Tensor, encoded: Tensor) -> Tensor:
    latent = network.latent
    assert isinstance(latent, SlotLatent)
    log_q = latent.log_probs(encoded)
    total = torch.zeros(len(x), dtype=x.dtype)
    for choice in product(range(NUM_OPTIONS + 1), repeat=NUM_SLOTS):
        code = torch.zeros(NUM_SLOTS, NUM_OPTIONS + 1, dtype=x.dtype)
        code[torch.arange(NUM_SLOTS), torch.tensor(choice)] = 1
        weight = sum(log_q[:, slot, option] for slot, option in enumerate(choice)).exp()
        total = total + weight * network.log_likelihood(code[:, :NUM_OPTIONS].reshape(1, -1).expand(len(x), -1), x)
    return (latent.kl(encoded, latent.likeliest(encoded)) - total).mean()
