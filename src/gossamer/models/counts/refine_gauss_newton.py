"""Refinement of posteriors below hidden layers: L-BFGS upon a shared Gauss–Newton curvature, with smoothed activations.

Means that climb log p(x | z = μ) end at a poor bound: layers of ReLU give something else at μ than on average around
it. What enters an activation is normal in the first layer and nearly so in the next, with variances that the
posterior's s and the layers' mean squared sensitivities tell, so every activation can be replaced by its average
(`smooth`). With h̃ the hidden layer made of these, what is climbed is

    F(μ, s) = log p(x | h̃(μ, s)) − ½ N Σ_k s_k M_kk − KL,     M the shared curvature,

the middle term being what log-sum-exp rises by on average. ∂F/∂s_k = 0 gives the variances in closed form:

    1 / s_k = 1 + N M_kk − Σ_layers Σ_i g_i f''_i (∂a_i/∂z_k)²,     g the gradient in the layer's output.

F never falls, but it is no bound: at its optimum, the bound (2) is some tenths of a nat (1 at K = 100) below its own.
From an encoder's posterior the way up is longer than that; one refined already by many steps of Adam may lose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gossamer.models.counts.block_likelihood import BlockLikelihood, exponentiate
from gossamer.models.counts.climbing import MAX_TRIALS, SHRINK, climb_up, fell
from gossamer.models.counts.hidden_trace import HiddenTrace, trace_hidden
from gossamer.models.counts.limited_memory import LimitedMemory
from gossamer.models.counts.module import Decoder
from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.shared_curvature import SharedCurvature, shared_curvature

LEAST_PRECISION = 0.5  # where activations bend the other way, a posterior may be wider than the prior, but not by much


def climb_by_gauss_newton(
    decoder: Decoder, block: BlockLikelihood, start: Posterior, num_steps: int, tolerance: float | None
) -> Posterior:
    """Return posteriors after `num_steps` steps, F nowhere lower than at `start`.

    With a `tolerance`, a row ends when a step gains no more than so many nats.
    """
    return climb_up(HiddenClimb.begin(decoder, block, start), len(block), num_steps, tolerance)


@dataclass
class HiddenClimb:
    """The state of a block of documents that climb: posteriors, hidden layers, and the softmax p (not normalised)."""

    decoder: Decoder
    block: BlockLikelihood
    curvature: SharedCurvature
    mean: Float[Tensor, "B K"]
    variance: Float[Tensor, "B K"]
    traced: HiddenTrace
    probs: Float[Tensor, "B V"]
    total: Float[Tensor, "B 1"]  # what p must be divided by
    value: Float[Tensor, "B 1"]
    memory: LimitedMemory
    last: tuple[Tensor, Tensor] | None = None  # the last step, and the gradient before it

    @classmethod
    def begin(cls, decoder: Decoder, block: BlockLikelihood, start: Posterior) -> HiddenClimb:
        """Stand at `start`, or where that is better at its means with the variances of an average document."""
        curvature, mean = shared_curvature(decoder), start.mean.clone()
        probs = block.logits_space()
        climb = cls(
            decoder,
            block,
            curvature,
            mean,
            start.log_variance.exp(),
            HiddenTrace(mean, (), ()),
            probs,
            torch.zeros_like(block.lengths),
            torch.zeros_like(block.lengths),
            LimitedMemory(),
        )
        climb.traced, climb.value, climb.total = climb._evaluate(block, mean, climb.variance, probs)
        climb._try_variance(curvature.variance(block.lengths))
        return climb

    def step(self, number: int) -> Float[Tensor, " B"]:  # noqa: ARG002 (all steps are the same)
        """Move every mean by a quasi-Newton step, shortened where it would go down, and return what was gained."""
        gradient = self.traced.pull_back(self._for_hidden()) - self.mean
        if self.last is not None:
            step_before, gradient_before = self.last
            self.memory = self.memory.after(step_before, gradient_before - gradient)
        direction = self.memory.direction(gradient, self._precondition)
        here, before = self.mean, self.value
        self._try_mean(here + direction)
        length = torch.ones_like(before)
        for trial in range(1, MAX_TRIALS + 1):
            (rows,) = fell(self.value, before).nonzero(as_tuple=True)
            if not len(rows):
                break
            length[rows] *= SHRINK if trial < MAX_TRIALS else 0
            self._put(rows, here[rows] + length[rows] * direction[rows], self.variance[rows])
        self.last = length * direction, gradient
        return (self.value - before).squeeze(1)

    def posterior(self) -> Posterior:
        """Return the means, and the variances of the closed form where they are better than those climbed with."""
        bend = self.traced.bend_along(self._for_hidden(), self.curvature.sensitivities)
        precision = 1 + self.block.lengths * self.curvature.diagonal - bend
        self._try_variance(1 / precision.clamp(min=LEAST_PRECISION))
        return Posterior(self.mean, self.variance.log())

    def take(self, rows: Bool[Tensor, " B"]) -> HiddenClimb:
        """Return some of the documents, where they are."""
        return replace(
            self,
            block=self.block.take(rows),
            mean=self.mean[rows],
            variance=self.variance[rows],
            traced=self.traced.take(rows),
            probs=self.probs[rows],
            total=self.total[rows],
            value=self.value[rows],
            memory=self.memory.take(rows),
            last=None if self.last is None else (self.last[0][rows], self.last[1][rows]),
        )

    def _precondition(self, gradient: Float[Tensor, "B K"]) -> Float[Tensor, "B K"]:
        return self.curvature.precondition(gradient, self.block.lengths)

    def _for_hidden(self) -> Float[Tensor, "B H"]:
        """Return Wᵀ(x − N p), the gradient in the last hidden layer."""
        average = (self.probs @ self.block.weight) / self.total
        return self.block.evidence - self.block.lengths * average

    def _try_mean(self, mean: Float[Tensor, "B K"]) -> None:
        self.mean = mean
        self.traced, self.value, self.total = self._evaluate(self.block, mean, self.variance, self.probs)

    def _put(self, rows: Tensor, mean: Float[Tensor, "some K"], variance: Float[Tensor, "some K"]) -> None:
        """Move some documents to another place."""
        probs = self.probs[rows]
        traced, self.value[rows], self.total[rows] = self._evaluate(self.block.take(rows), mean, variance, probs)
        self.mean[rows], self.variance[rows], self.probs[rows] = mean, variance, probs
        self.traced.put(rows, traced)

    def _try_variance(self, variance: Float[Tensor, "B K"]) -> None:
        """Change to other variances where these are better."""
        probs = torch.empty_like(self.probs)
        traced, value, total = self._evaluate(self.block, self.mean, variance, probs)
        (rows,) = (value > self.value).squeeze(1).nonzero(as_tuple=True)
        self.variance = self.variance.index_copy(0, rows, variance[rows])
        self.value[rows], self.total[rows], self.probs[rows] = value[rows], total[rows], probs[rows]
        self.traced.put(rows, traced.take(rows))

    def _evaluate(
        self,
        block: BlockLikelihood,
        mean: Float[Tensor, "B K"],
        variance: Float[Tensor, "B K"],
        probs: Float[Tensor, "B V"],
    ) -> tuple[HiddenTrace, Float[Tensor, "B 1"], Float[Tensor, "B 1"]]:
        """Return hidden layers, F, and the sum of `probs`, which is filled with what is in proportion to p."""
        spreads = [variance @ sensitivity for sensitivity in self.curvature.sensitivities]
        traced = trace_hidden(self.decoder, mean, spreads)
        torch.addmm(block.bias, traced.hidden, block.weight.T, out=probs)
        log_total, total = exponentiate(probs)
        kl = (mean.square() + variance - variance.log() - 1).sum(dim=1, keepdim=True) / 2
        rise = (variance * self.curvature.diagonal).sum(dim=1, keepdim=True) / 2
        return traced, block.linear_part(traced.hidden) - block.lengths * (log_total + rise) - kl, total
