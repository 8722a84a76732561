"""Refinement of posteriors per document, step 2 of algorithms 2 and 3: from where they start to the optimum ψ*."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.models.counts.batch import CountBatch
from gossamer.models.counts.block_likelihood import BlockLikelihood, row_blocks
from gossamer.models.counts.module import Decoder
from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.refine_adam import climb_by_adam
from gossamer.models.counts.refine_gauss_newton import climb_by_gauss_newton
from gossamer.models.counts.refine_newton import climb_by_newton

METHODS = ("newton", "adam")
ADAM_RATE_IN_TRAINING, ADAM_RATE_AFTERWARDS = 1e-2, 8e-3  # the paper's
# The paper's M for Adam; for Newton's method what goes beyond M = 100, without and with hidden layers.
ADAM_STEPS, NEWTON_STEPS, GAUSS_NEWTON_STEPS = 100, 3, 4


@dataclass(frozen=True)
class Refinement:
    """How posteriors are refined.

    - method: "newton" (conjugate gradients or Gauss–Newton, deterministic) or "adam" (the paper's).
    - steps: M, at most; None is the method's own number.
    - learning_rate: Adam's; the paper has 0.01 in training and 0.008 in evaluation. Newton's method has none.
    - tolerance: a row stops when a step (Adam: ten steps) raises its bound by no more than so many nats; None: never.

    >>> Refinement(steps=-1)
    Traceback (most recent call last):
    ValueError: steps must be an integer >= 0, got -1
    """

    method: str = "newton"
    steps: int | None = None
    learning_rate: float = ADAM_RATE_AFTERWARDS
    tolerance: float | None = None

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        if self.steps is not None:
            check_int("steps", self.steps, at_least=0)
        check_real("learning_rate", self.learning_rate, above=0)
        if self.tolerance is not None:
            check_real("tolerance", self.tolerance, at_least=0)

    def num_steps(self, decoder: Decoder) -> int:
        """Return M for a decoder."""
        if self.steps is not None:
            return self.steps
        if self.method == "adam":
            return ADAM_STEPS
        return GAUSS_NEWTON_STEPS if len(decoder.layers) else NEWTON_STEPS


def refine(
    decoder: Decoder, batch: CountBatch, start: Posterior, settings: Refinement, generator: torch.Generator
) -> Posterior:
    """Return ψ_M of each document, which maximises L(x; θ, ψ) of eq. (2) from ψ_0 = `start`; no gradient flows through.

    Counts may be any weights ≥ 0. A document without words gets the prior. Only Adam uses `generator`, for its noise.
    Rows go through in blocks, so that memory does not grow with rows × V.
    """
    _check(decoder, batch, start)
    num_steps = settings.num_steps(decoder)
    # Not even inference mode keeps Gauss–Newton from asking autograd for the Jacobian of hidden layers.
    with torch.inference_mode(False), torch.no_grad():
        mean, log_variance = start.mean.detach().clone(), start.log_variance.detach().clone()
        for rows in row_blocks(len(batch), batch.num_terms) if num_steps else ():
            block = BlockLikelihood.of_rows(decoder, batch, rows)
            begin = Posterior(mean[rows], log_variance[rows])
            if settings.method == "adam":
                found = climb_by_adam(
                    decoder, block, begin, num_steps, settings.learning_rate, settings.tolerance, generator
                )
            elif len(decoder.layers):
                found = climb_by_gauss_newton(decoder, block, begin, num_steps, settings.tolerance)
            else:
                found = climb_by_newton(decoder, block, begin, num_steps, settings.tolerance)
            mean[rows], log_variance[rows] = found.mean, found.log_variance
        is_empty = batch.lengths == 0
        mean[is_empty], log_variance[is_empty] = 0.0, 0.0
    return Posterior(mean, log_variance)


def _check(decoder: Decoder, batch: CountBatch, start: Posterior) -> None:
    if batch.num_terms != len(decoder.bias):
        raise ValueError(f"batch must have the decoder's {len(decoder.bias)} terms, got {batch.num_terms}")
    wanted = (len(batch), decoder.latent_dim)
    for name, part in (("mean", start.mean), ("log_variance", start.log_variance)):
        if tuple(part.shape) != wanted:
            raise ValueError(f"start.{name} must have shape {wanted}, got {tuple(part.shape)}")
        if not bool(part.isfinite().all()):
            raise ValueError(f"start.{name} must be finite, got {int((~part.isfinite()).sum())} values that are not")
