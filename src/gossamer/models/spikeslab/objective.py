"""What is minimised: equation (2) of the paper, and the rivals' objectives of appendix B in the same terms."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.models.spikeslab.module import SentenceNetwork
from gossamer.models.spikeslab.ragged import SentenceBatch


@dataclass(frozen=True)
class Weights:
    """ψ of KL(z), λ of KL(γ) and of a divergence of the whole batch, and the weight of a norm of parameters."""

    psi: float = 0.01
    lam: float = 0.01
    penalty: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """The objective of a batch and its parts: means over sentences, in nats; `z` are the codes that were drawn."""

    loss: Float[Tensor, ""]
    reconstruction: Float[Tensor, ""]
    kl_z: Float[Tensor, ""]
    kl_gamma: Float[Tensor, ""]
    divergence: Float[Tensor, ""]
    on_share: Float[Tensor, ""]
    z: Float[Tensor, "B D"]

    def scalars(self) -> dict[str, Tensor]:
        """Return what the loop logs."""
        return {
            "loss": self.loss,
            "reconstruction": self.reconstruction,
            "kl_z": self.kl_z,
            "kl_gamma": self.kl_gamma,
            "divergence": self.divergence,
            "on_share": self.on_share,
        }


def objective(
    network: SentenceNetwork,
    batch: SentenceBatch,
    features: Float[Tensor, "B H"],
    weights: Weights,
    generator: torch.Generator | None,
    *,
    num_gates: int = 1,
    num_samples: int = 1,
) -> Outcome:
    """Return −ELBO with weights on its KLs: N = `num_gates` draws of γ, M = `num_samples` codes given each."""
    draws = [network.codes.draw(features, generator, num_samples) for _ in range(num_gates)]
    rebuilt = [network.reconstruction(batch, z)[0] for drawn in draws for z in drawn.z]
    reconstruction = torch.stack(rebuilt).mean()
    kl_z, kl_gamma, divergence, penalty = (
        torch.stack([getattr(drawn, part).mean() for drawn in draws]).mean()
        for part in ("kl_z", "kl_gamma", "divergence", "penalty")
    )
    loss = reconstruction + weights.psi * kl_z + weights.lam * (kl_gamma + divergence) + weights.penalty * penalty
    return Outcome(loss, reconstruction, kl_z, kl_gamma, divergence, draws[0].on_share, draws[0].z[0].detach())
