"""What a distribution of sparse discrete codes must be able to do: the interface between networks and bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn


@dataclass(frozen=True)
class Drawn:
    """Hard codes (S, B, K) with log q of what was drawn, and log q − log p of the code, for weights (S, B)."""

    codes: Float[Tensor, "S B K"]
    log_q: Float[Tensor, "S B"]
    log_ratio: Float[Tensor, "S B"]


class Latent(nn.Module, ABC):
    """q(z | x) and p(z) over codes of `num_features` numbers, `max_active` of them not zero at most.

    `encoded` (B, `width`) is what the encoder says of a batch, of which the last `num_gate_logits` columns may come
    from a network of their own. `num_kinds` is how many temperatures there are.
    """

    num_features: int
    max_active: int
    width: int
    num_gate_logits: int = 0
    num_kinds: int = 1

    @abstractmethod
    def kl(
        self, encoded: Float[Tensor, "B W"], codes: Float[Tensor, "*S B K"]
    ) -> Float[Tensor, "*S B"] | Float[Tensor, " B"]:
        """Return KL(q(z | x) ‖ p(z)), exact where it has a formula; else what has it as its mean over `codes` of q."""

    @abstractmethod
    def pathwise(
        self,
        encoded: Float[Tensor, "B W"],
        gradient: str,
        temperatures: Float[Tensor, " kinds"],
        generator: torch.Generator | None,
    ) -> Float[Tensor, "B K"]:
        """Return one code per observation that gradients pass through; hard unless `gradient` is "relaxed"."""

    @abstractmethod
    def draw(self, encoded: Float[Tensor, "B W"], num_samples: int, generator: torch.Generator | None) -> Drawn:
        """Return hard codes of q; `log_q` and `log_ratio` are differentiable in `encoded`."""

    @abstractmethod
    def draw_prior(self, num_codes: int, generator: torch.Generator | None) -> Float[Tensor, "n K"]:
        """Return codes of p."""

    @abstractmethod
    def likeliest(self, encoded: Float[Tensor, "B W"]) -> Float[Tensor, "B K"]:
        """Return the code that stands for an observation: no draw, equal for equal observations."""
