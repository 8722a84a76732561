"""Training: one loop, steps, proximal optimisers, checkpoints."""

from gossamer.training.devices import make_fabric
from gossamer.training.history import History
from gossamer.training.loop import fit
from gossamer.training.optimisers import ProximalAdam, ProximalSGD, ProximalYogi
from gossamer.training.proximal import soft_threshold
from gossamer.training.step import GradientStep, Step

__all__ = [
    "GradientStep",
    "History",
    "ProximalAdam",
    "ProximalSGD",
    "ProximalYogi",
    "Step",
    "fit",
    "make_fabric",
    "soft_threshold",
]
