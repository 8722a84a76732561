"""The paper's codes: L₀ gates and L₀ features, drawn from one λ_i and one π_i per observation (equations 1–14)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.discrete.gated_sum import gated_relaxed_sum
from gossamer.models.discrete.gradients import PATHWISE, gumbel, with_gradient_of
from gossamer.models.discrete.latent import Drawn, Latent


class SharedLatent(Latent):
    """z = Σ_l ω_l z_l with ω_l ~ Bernoulli(λ_i), z_l ~ Categorical(π_i), l = 1 … L₀: counts that sum to L₀ at most.

    The last column of `encoded` is the logit of λ_i, the others those of π_i. With `charge_closed` the KL is the
    paper's (13) + (14), which counts the features behind closed gates too. They do not reach the decoder: without
    them KL = (13) + λ_i · (14) is that of the code itself (in counts, what an order would cost q it costs p as well, so
    it cancels), a tighter bound of the same model.
    """

    num_gate_logits = 1
    num_kinds = 2

    def __init__(
        self,
        num_features: int,
        max_active: int,
        *,
        gate_prior: float = 0.5,
        learned_prior: bool = False,
        charge_closed: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.max_active = num_features, max_active
        self.width = num_features + 1
        self.charge_closed = charge_closed
        gate = torch.full((1,), math.log(gate_prior / (1 - gate_prior)))
        features = torch.zeros(num_features)
        if learned_prior:
            self.gate_prior_logit, self.prior_logits = nn.Parameter(gate), nn.Parameter(features)
        else:
            self.register_buffer("gate_prior_logit", gate)
            self.register_buffer("prior_logits", features)

    def kl(self, encoded: Float[Tensor, "B W"], codes: Float[Tensor, "*S B K"]) -> Float[Tensor, " B"]:
        """Return L₀ times equation (13) plus (14), the latter times λ where closed gates are free; no code matters."""
        del codes
        gates, of_features = self._gate_kl(encoded), self._feature_kl(encoded)
        if not self.charge_closed:
            of_features = of_features * encoded[:, -1].sigmoid()
        return self.max_active * (gates + of_features)

    def pathwise(
        self,
        encoded: Float[Tensor, "B W"],
        gradient: str,
        temperatures: Float[Tensor, " kinds"],
        generator: torch.Generator | None,
    ) -> Float[Tensor, "B K"]:
        """Return Σ_l ω_l z_l, equation (12), with a gradient."""
        logits, gate = encoded[:, :-1], encoded[:, -1:]
        if gradient == "straight-through":
            return self._straight_through(encoded, temperatures, generator)
        sample = PATHWISE[gradient]
        pairs = torch.cat([functional.logsigmoid(gate), functional.logsigmoid(-gate)], dim=1)
        rows, width = logits.shape
        gates = sample(pairs.unsqueeze(1).expand(rows, self.max_active, 2), temperatures[0], generator)[..., 0]
        if gradient == "relaxed":
            noise = gumbel(logits.unsqueeze(1).expand(rows, self.max_active, width), generator)
            return gated_relaxed_sum(logits, gates, temperatures[1], noise)
        log_probs = logits.log_softmax(dim=1).unsqueeze(1).expand(rows, self.max_active, width)
        features = sample(log_probs, temperatures[1], generator)
        return torch.bmm(gates.unsqueeze(1), features).squeeze(1)

    def _straight_through(
        self, encoded: Float[Tensor, "B W"], temperatures: Tensor, generator: torch.Generator | None
    ) -> Float[Tensor, "B K"]:
        """Return counts with the gradients of Σ_l ω_l·π and, for λ, of L₀·λ·π: no B × L₀ × K numbers are needed.

        Gates and features straight through give Σ_l z_l as the gradient of λ; here its mean L₀·π takes its place.
        """
        counts, num_open = self._draw_counts(encoded.detach(), generator)
        probs = (encoded[:, :-1] / temperatures[1]).softmax(dim=1)
        rate = (encoded[:, -1:] / temperatures[0]).sigmoid()
        surrogate = num_open.unsqueeze(1) * probs + self.max_active * rate * probs.detach()
        return with_gradient_of(counts, surrogate)

    def draw(self, encoded: Float[Tensor, "B W"], num_samples: int, generator: torch.Generator | None) -> Drawn:
        """Return counts; q and p have the same number of orders per code, so log q − log p needs none of them.

        `log_q` is that of the open gates' number and of the features behind them, up to constants in `encoded`.
        """
        wide = encoded.repeat(num_samples, 1)
        counts, num_open = self._draw_counts(wide.detach(), generator)
        num_closed = self.max_active - num_open
        log_probs, gate = wide[:, :-1].log_softmax(dim=1), wide[:, -1]
        log_q = num_open * functional.logsigmoid(gate) + num_closed * functional.logsigmoid(-gate)
        log_q = log_q + (counts * log_probs).sum(dim=1)
        prior_gate = self.gate_prior_logit
        log_p = num_open * functional.logsigmoid(prior_gate) + num_closed * functional.logsigmoid(-prior_gate)
        log_p = log_p + counts @ self.prior_logits.log_softmax(dim=0)
        shape = (num_samples, len(encoded))
        return Drawn(counts.view(*shape, -1), log_q.view(shape), (log_q - log_p).view(shape))

    def draw_prior(self, num_codes: int, generator: torch.Generator | None) -> Float[Tensor, "n K"]:
        """Return codes of equations (1) and (2)."""
        row = torch.cat([self.prior_logits, self.gate_prior_logit]).detach()
        return self._draw_counts(row.expand(num_codes, -1), generator)[0]

    def likeliest(self, encoded: Float[Tensor, "B W"]) -> Float[Tensor, "B K"]:
        """Return n·π rounded to counts of sum n by largest remainders, n = L₀·λ rounded: near the mode of q."""
        num_open = (self.max_active * encoded[:, -1:].sigmoid()).round()
        share = num_open * encoded[:, :-1].softmax(dim=1)
        counts = share.floor()
        left = num_open - counts.sum(dim=1, keepdim=True)
        rank = (share - counts).argsort(dim=1, descending=True, stable=True).argsort(dim=1)
        rounded: Tensor = counts + (rank < left).to(counts.dtype)
        return rounded

    def _gate_kl(self, encoded: Tensor) -> Float[Tensor, " B"]:
        """Return λ log(λ / λ₀) + (1 − λ) log((1 − λ) / (1 − λ₀)), one gate's part of (13)."""
        gate, prior = encoded[:, -1], self.gate_prior_logit
        on = functional.logsigmoid(gate) - functional.logsigmoid(prior)
        off = functional.logsigmoid(-gate) - functional.logsigmoid(-prior)
        return gate.sigmoid() * on + (-gate).sigmoid() * off

    def _feature_kl(self, encoded: Tensor) -> Float[Tensor, " B"]:
        """Return Σ_k π_k log(π_k / α_k), one feature's part of (14)."""
        log_q = encoded[:, :-1].log_softmax(dim=1)
        return (log_q.exp() * (log_q - self.prior_logits.log_softmax(dim=0))).sum(dim=1)

    def _draw_counts(
        self, encoded: Float[Tensor, "B W"], generator: torch.Generator | None
    ) -> tuple[Float[Tensor, "B K"], Float[Tensor, " B"]]:
        """Return how often each feature is drawn behind an open gate, and how many gates are open."""
        shape, dtype = (len(encoded), self.max_active), encoded.dtype
        is_open = torch.rand(shape, generator=generator, dtype=dtype) < encoded[:, -1:].sigmoid()
        probs = encoded[:, :-1].softmax(dim=1)
        feature: Int[Tensor, "B L"] = torch.multinomial(probs, self.max_active, True, generator=generator)
        counts = torch.zeros(len(encoded), self.num_features, dtype=dtype)
        counts.scatter_add_(1, feature, is_open.to(dtype))
        return counts, is_open.sum(dim=1).to(dtype)
