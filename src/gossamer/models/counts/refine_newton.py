"""Refinement below a linear decoder: preconditioned conjugate gradients on the mean, variances in closed form.

The bound (2) has an expectation of log Σ_v exp(w_v·z + b_v) that no formula gives. For any u, since E[u·(z − μ)] = 0,

    E log Σ_v exp(w_v·z + b_v)  ≤  log Σ_v exp(w_v·μ + b_v + ½ Σ_k s_k (w_vk − u_k)²)

with s the variances: Jensen's inequality for logits seen from u, Knowles and Minka's (2011) tilted bound. It is
tightest at u = Wᵀp, p being the softmax on the right; then the best variances are s_k = 1 / (1 + N Var_p(w_k)). What is
climbed is therefore a bound below the bound, and a step costs two products of matrices, Wᵀp and W d.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gossamer.models.counts.block_likelihood import BlockLikelihood, exponentiate
from gossamer.models.counts.climbing import MAX_TRIALS, SHRINK, climb_up, dot, fell
from gossamer.models.counts.conjugate import ConjugateDirection
from gossamer.models.counts.module import Decoder
from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.shared_curvature import SharedCurvature, shared_curvature

STEPS_PER_TILT = 3  # a document's own u and s cost as much as a step and a half, and bring less than the first two
MAX_STEP = 2.0  # no direction is followed further than so many times its length


def climb_by_newton(
    decoder: Decoder, block: BlockLikelihood, start: Posterior, num_steps: int, tolerance: float | None
) -> Posterior:
    """Return posteriors after `num_steps` steps of conjugate gradients; only the means of `start` matter.

    The tilt begins with the u and s of an average document of the same length, and becomes the document's own before
    every third step. With a `tolerance`, a row ends when a step from the third on gains no more than so many nats.
    """
    climb = LinearClimb.begin(block, start.mean, shared_curvature(decoder))
    return climb_up(climb, len(block), num_steps, tolerance, fewest_steps=STEPS_PER_TILT)


@dataclass
class LinearClimb:
    """The state of documents that climb: means, tilted logits, and the softmax p of these (not normalised)."""

    block: BlockLikelihood
    curvature: SharedCurvature
    squares: Float[Tensor, "V K"]  # (W − centre)²
    mean: Float[Tensor, "B K"]
    logits: Float[Tensor, "B V"]
    probs: Float[Tensor, "B V"]
    along: Float[Tensor, "B V"]
    total: Float[Tensor, "B 1"]  # what p must be divided by
    value: Float[Tensor, "B 1"]
    last: ConjugateDirection | None = None

    @classmethod
    def begin(cls, block: BlockLikelihood, mean: Float[Tensor, "B K"], curvature: SharedCurvature) -> LinearClimb:
        """Stand at some means, tilted by an average document."""
        squares = (block.weight - curvature.centre).square_()
        logits, probs, along = (block.logits_space() for _ in range(3))
        nothing = torch.zeros_like(block.lengths)
        climb = cls(block, curvature, squares, mean.clone(), logits, probs, along, nothing, nothing)
        climb._set_tilt(curvature.variance(block.lengths), torch.zeros_like(mean))
        return climb

    def step(self, number: int) -> Float[Tensor, " B"]:
        """Move every mean along its direction to the top of the quadratic model, and return what was gained."""
        if number % STEPS_PER_TILT == 0:
            self.tilt()
        lengths, average = self.block.lengths, self._average_weight()
        gradient = self.block.evidence - lengths * average - self.mean
        preconditioned = self.curvature.precondition(gradient, lengths)
        self.last = ConjugateDirection.after(self.last, gradient, preconditioned)
        direction = self.last.direction
        torch.mm(direction, self.block.weight.T, out=self.along)
        # Σ p (W d)² in place: p is not needed any more.
        second = _row_products(self.probs.mul_(self.along), self.along) / self.total
        curvature = lengths * (second - dot(average, direction).square()).clamp(min=0) + dot(direction, direction)
        smallest = torch.finfo(curvature.dtype).tiny
        length = (dot(gradient, direction) / curvature.clamp(min=smallest)).clamp(0, MAX_STEP)
        before = self.value
        self.mean.addcmul_(direction, length)
        self.logits.addcmul_(self.along, length)
        self._evaluate()
        self._back_off(before, direction, length)
        return (self.value - before).squeeze(1)

    def tilt(self) -> None:
        """Tighten the bound at the present means: u and s become each document's own."""
        precision, shift = self._moments()
        self._set_tilt(1 / precision, shift)
        self.last = None  # its gradient was another objective's

    def posterior(self) -> Posterior:
        """Return the means, and the variances that are best where they are."""
        return Posterior(self.mean, -self._moments()[0].log())

    def take(self, rows: Bool[Tensor, " B"]) -> LinearClimb:
        """Return some of the documents, where they are."""
        return replace(
            self,
            block=self.block.take(rows),
            mean=self.mean[rows],
            logits=self.logits[rows],
            probs=self.probs[rows],
            along=self.along[: int(rows.sum())],
            total=self.total[rows],
            value=self.value[rows],
            last=None if self.last is None else self.last.take(rows),
        )

    def _set_tilt(self, variance: Float[Tensor, "B K"], shift: Float[Tensor, "B K"]) -> None:
        """Compute the logits anew, tilted by ½ s (w − u)² up to what is the same for all terms; u = centre + shift."""
        torch.addmm(self.block.bias, self.mean - variance * shift, self.block.weight.T, out=self.logits)
        self.logits.addmm_(variance, self.squares.T, alpha=0.5)
        self._evaluate()

    def _evaluate(self) -> None:
        log_total, self.total = exponentiate(self.probs.copy_(self.logits))
        self.value = _objective(self.block, self.mean, log_total)

    def _back_off(
        self, before: Float[Tensor, "B 1"], direction: Float[Tensor, "B K"], length: Float[Tensor, "B 1"]
    ) -> None:
        """Shorten the steps that went down; what still went down after some trials goes back to where it was."""
        for trial in range(1, MAX_TRIALS + 1):
            (rows,) = fell(self.value, before).nonzero(as_tuple=True)
            if not len(rows):
                return
            shorter = length[rows] * (SHRINK if trial < MAX_TRIALS else 0)
            change = shorter - length[rows]
            length[rows] = shorter
            self.mean[rows] += change * direction[rows]
            self.logits[rows] += change * self.along[rows]
            probs = self.logits[rows]
            log_total, self.total[rows] = exponentiate(probs)
            self.value[rows] = _objective(self.block.take(rows), self.mean[rows], log_total)
            self.probs[rows] = probs

    def _average_weight(self) -> Float[Tensor, "B K"]:
        return (self.probs @ self.block.weight) / self.total  # Wᵀp

    def _moments(self) -> tuple[Float[Tensor, "B K"], Float[Tensor, "B K"]]:
        """Return the precisions 1 + N Var_p(w_k), and how far Wᵀp is from the centre."""
        shift = self._average_weight() - self.curvature.centre
        spread = (self.probs @ self.squares) / self.total - shift.square()
        return 1 + self.block.lengths * spread.clamp_(min=0), shift


def _objective(
    block: BlockLikelihood, mean: Float[Tensor, "B K"], log_total: Float[Tensor, "B 1"]
) -> Float[Tensor, "B 1"]:
    """Return the part of the objective that the mean changes."""
    return block.linear_part(mean) - block.lengths * log_total - dot(mean, mean) / 2


def _row_products(left: Float[Tensor, "B V"], right: Float[Tensor, "B V"]) -> Float[Tensor, "B 1"]:
    """Return the inner product of each row without a third matrix."""
    return torch.bmm(left.unsqueeze(1), right.unsqueeze(2)).squeeze(2)
