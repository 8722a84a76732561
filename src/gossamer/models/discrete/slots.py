"""Ours: features divided among slots, at most one of a slot on; no charge for draws that nobody sees."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.discrete.gradients import PATHWISE, draw_choices
from gossamer.models.discrete.latent import Drawn, Latent

NEVER = -1e4  # the logit of an option that is not there: exp is exactly 0, and differences stay finite


class SlotLatent(Latent):
    """K features in `max_active` slots; a slot is a categorical over its own features and, with `has_off`, "none".

    So ‖z‖₀ ≤ max_active, whatever the encoder says. KL(q ‖ p) is a sum over slots of C terms. With a `learned_prior`
    every slot has its own p, else all options are alike. max_active = 20, K = 200 and no "none" are the 20 × 10
    categoricals of Jang et al.; max_active = K is a vector of K Bernoullis.
    """

    option_feature: Tensor
    is_absent: Tensor

    def __init__(self, num_features: int, max_active: int, *, has_off: bool = True, learned_prior: bool = True) -> None:
        super().__init__()
        self.num_features, self.max_active, self.has_off = num_features, max_active, has_off
        most = -(-num_features // max_active)
        self.num_options = most + has_off
        self.width = max_active * self.num_options
        # Uneven slots: some have one feature less, and an option that never comes.
        sizes = torch.full((max_active, 1), num_features // max_active)
        sizes[: num_features % max_active] += 1
        place = torch.arange(most).expand(max_active, most)
        is_feature = place < sizes
        feature = torch.where(is_feature, (sizes.cumsum(0) - sizes) + place, num_features)
        self.register_buffer("option_feature", feature, persistent=False)
        absent = functional.pad(~is_feature, (0, int(has_off)))  # "none" is the last option, and always there
        self.register_buffer("is_absent", absent, persistent=False)
        self.is_even = bool(is_feature.all())
        prior = torch.zeros(max_active, self.num_options)
        if learned_prior:
            self.prior_logits = nn.Parameter(prior)
        else:
            self.register_buffer("prior_logits", prior)

    def log_probs(self, encoded: Float[Tensor, "B W"]) -> Float[Tensor, "B G C"]:
        """Return log q of every option of every slot."""
        return self._present(encoded.view(len(encoded), self.max_active, self.num_options)).log_softmax(dim=-1)

    def log_prior(self) -> Float[Tensor, "G C"]:
        """Return log p of every option of every slot."""
        return self._present(self.prior_logits).log_softmax(dim=-1)

    def log_prior_after(self, codes: Float[Tensor, "*S B K"]) -> Float[Tensor, "*S B G C"] | Float[Tensor, "G C"]:
        """Return log p of every option of every slot, which here does not depend on the other slots."""
        del codes
        return self.log_prior()

    def kl(self, encoded: Float[Tensor, "B W"], codes: Float[Tensor, "*S B K"]) -> Float[Tensor, "*S B"]:
        """Return Σ_slots Σ_options q log(q / p), p given the codes where slots depend on each other."""
        log_q = self.log_probs(encoded)
        return (log_q.exp() * (log_q - self.log_prior_after(codes))).sum(dim=(-2, -1))

    def pathwise(
        self,
        encoded: Float[Tensor, "B W"],
        gradient: str,
        temperatures: Float[Tensor, " kinds"],
        generator: torch.Generator | None,
    ) -> Float[Tensor, "B K"]:
        """Return the on-or-off of every feature, with a gradient."""
        return self._codes(PATHWISE[gradient](self.log_probs(encoded), temperatures[0], generator))

    def draw(self, encoded: Float[Tensor, "B W"], num_samples: int, generator: torch.Generator | None) -> Drawn:
        """Return hard codes and their probabilities."""
        log_q = self.log_probs(encoded)
        wide = log_q.expand(num_samples, *log_q.shape)
        choice = draw_choices(wide.detach(), generator).unsqueeze(-1)
        chosen = wide.gather(-1, choice).sum(dim=(2, 3))
        codes = self._of_choices(choice.squeeze(-1))
        log_p = self.log_prior_after(codes).expand_as(wide).gather(-1, choice).sum(dim=(2, 3))
        return Drawn(codes, chosen, chosen - log_p)

    def draw_prior(self, num_codes: int, generator: torch.Generator | None) -> Float[Tensor, "n K"]:
        """Return codes whose slots are drawn from p."""
        log_p = self.log_prior().detach()
        return self._of_choices(draw_choices(log_p.expand(num_codes, *log_p.shape), generator))

    def likeliest(self, encoded: Float[Tensor, "B W"]) -> Float[Tensor, "B K"]:
        """Return the likeliest option of every slot: the mode of q, because slots are independent."""
        return self._of_choices(self.log_probs(encoded).argmax(dim=-1))

    def _present(self, logits: Tensor) -> Tensor:
        return logits if self.is_even else logits.masked_fill(self.is_absent, NEVER)

    def _of_choices(self, choice: Tensor) -> Tensor:
        return self._codes(functional.one_hot(choice, self.num_options).to(self.prior_logits.dtype))

    def _codes(self, choices: Float[Tensor, "*B G C"]) -> Float[Tensor, "*B K"]:
        """Return the features of one-hot choices, without "none" and without options that are not there."""
        features = choices[..., : self.option_feature.shape[1]]
        flat = features.reshape(*choices.shape[:-2], -1)
        return flat if self.is_even else flat[..., self.option_feature.flatten() < self.num_features]
