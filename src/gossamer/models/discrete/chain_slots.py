"""Slots with a prior that knows what goes together: each slot's p depends on the slots before it."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from gossamer.models.discrete.gradients import draw_choices
from gossamer.models.discrete.slots import SlotLatent


class ChainSlotLatent(SlotLatent):
    """Slots as in `SlotLatent`, with p(z) = Π_g p(z_g | z_1 … z_{g−1}), log-linear: logits are b_g + Σ_{h<g} W_gh z_h.

    q keeps independent slots, so encoding costs nothing more. Where slots depend on each other over the data, one p per
    slot charges q for what the others have told already; this p does not. KL(q ‖ p) is the mean over z ~ q of
    Σ_g KL(q_g ‖ p(· | z_1 … z_{g−1})), of which `kl` takes the sum exactly and the mean over the codes it is given.
    """

    is_earlier: Tensor

    def __init__(self, num_features: int, max_active: int) -> None:
        super().__init__(num_features, max_active)
        self.register_buffer("is_earlier", self._earlier(), persistent=False)
        self.influence = nn.Parameter(torch.zeros(self.width, num_features))  # begins as a p per slot

    def log_prior_after(self, codes: Float[Tensor, "*S B K"]) -> Float[Tensor, "*S B G C"]:
        """Return log p of every option of every slot, given what the codes have in the slots before it."""
        logits = self.prior_logits.flatten() + codes @ (self.influence * self.is_earlier).T
        return self._present(logits.view(*codes.shape[:-1], self.max_active, self.num_options)).log_softmax(dim=-1)

    def draw_prior(self, num_codes: int, generator: torch.Generator | None) -> Float[Tensor, "n K"]:
        """Return codes drawn slot by slot."""
        with torch.no_grad():
            choice = torch.zeros(num_codes, self.max_active, dtype=torch.long)
            for slot in range(self.max_active):
                # What later slots have for now does not matter: no slot looks at them.
                log_p = self.log_prior_after(self._of_choices(choice))[:, slot]
                choice[:, slot] = draw_choices(log_p, generator)
            return self._of_choices(choice)

    def _earlier(self) -> Bool[Tensor, "W K"]:
        """Return which features belong to a slot before that of each option."""
        slot_of_option = torch.arange(self.max_active).repeat_interleave(self.num_options)
        slots = torch.arange(self.max_active).unsqueeze(1).expand_as(self.option_feature)
        slot_of_feature = slots[self.option_feature < self.num_features]
        return slot_of_feature < slot_of_option.unsqueeze(1)
