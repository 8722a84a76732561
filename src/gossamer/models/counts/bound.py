"""The evidence lower bound of documents of counts (eq. 2), with one softmax for its value and its gradient."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gossamer.models.counts.batch import CountBatch
from gossamer.models.counts.module import Decoder
from gossamer.models.counts.posterior import Posterior

# Of logits at a time: about the last-level cache, and what the allocator keeps instead of giving it back.
VALUES_AT_ONCE = 7_500_000
LEAST_LOG_PROB = -69.0  # 1e-30: smaller probabilities lose their digits in single precision
ROWS_AT_LEAST = 64  # products of thinner matrices are slow, whatever fits a cache


def bound(
    decoder: Decoder,
    posterior: Posterior,
    batch: CountBatch,
    noise: Float[Tensor, "B K"],
    kl_weight: float = 1.0,
) -> Float[Tensor, " B"]:
    """Return log p(x | z) − kl_weight · KL(q ‖ p) of each document at one sample z = μ + noise · σ."""
    hidden = decoder.hidden(posterior.at(noise))
    likelihood = multinomial_log_likelihood(hidden, decoder.weight, decoder.bias, batch)
    return likelihood - kl_weight * posterior.kl()


def multinomial_log_likelihood(
    hidden: Float[Tensor, "B H"], weight: Float[Tensor, "V H"], bias: Float[Tensor, " V"], batch: CountBatch
) -> Float[Tensor, " B"]:
    """Return Σ_v x_v log softmax(hidden·Wᵀ + b)_v of each document, as if its words came in a given order.

    Logits live for one block of rows at a time. Where gradients are wanted, they are taken from the same softmax:
    those of `weight` and `bias` on the assumption that the caller will take the sum or mean over documents. Any other
    use is right, too, but costs a second pass in its backward.
    """
    if weight.shape != (batch.num_terms, hidden.shape[1]):
        raise ValueError(f"weight must have shape {(batch.num_terms, hidden.shape[1])}, got {tuple(weight.shape)}")
    if len(hidden) != len(batch):
        raise ValueError(f"hidden must have a row per document ({len(batch)}), got {len(hidden)}")
    # Under mixed precision `hidden` may come in half of it, which would not do for sums over a vocabulary.
    value: Tensor = _LogLikelihood.apply(  # type: ignore[no-untyped-call]
        hidden.to(weight.dtype), weight, bias, batch, torch.is_grad_enabled()
    )
    return value


class _LogLikelihood(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, hidden: Tensor, weight: Tensor, bias: Tensor, batch: CountBatch, differentiable: bool
    ) -> Tensor:
        # Grad mode is off inside `forward`, and a parameter "needs" its gradient under no_grad as well.
        of_hidden = differentiable and context.needs_input_grad[0]
        of_weight = differentiable and (context.needs_input_grad[1] or context.needs_input_grad[2])
        outcome = _evaluate(hidden, weight, bias, batch, of_hidden=of_hidden, of_weight=of_weight)
        context.save_for_backward(hidden, weight, bias)
        context.batch, context.wanted = batch, (of_hidden, of_weight)
        # Not the value: it will know this context, and a circle would keep both until the garbage collector comes.
        context.gradients = (outcome.hidden, outcome.weight, outcome.bias)
        return outcome.value

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, bias = context.saved_tensors
        (for_hidden, for_weight, for_bias), context.gradients = context.gradients, (None, None, None)
        of_hidden, of_weight = context.wanted
        is_uniform = bool((gradient == gradient[:1]).all())
        if (of_hidden and for_hidden is None) or (of_weight and not (is_uniform and for_weight is not None)):
            # A weighting of documents that could not be foreseen, or a second backward: the first has used them up.
            of_hidden = of_hidden and for_hidden is None
            again = _evaluate(
                hidden, weight, bias, context.batch, row_weights=gradient, of_hidden=of_hidden, of_weight=of_weight
            )
            for_hidden, for_weight, for_bias = again.hidden if of_hidden else for_hidden, again.weight, again.bias
        elif of_weight and len(gradient):
            for_weight.mul_(gradient[0])  # in place: at V × H, a new matrix would cost more than the product
            for_bias.mul_(gradient[0])
        if for_hidden is not None:
            for_hidden.mul_(gradient.unsqueeze(1))
        return for_hidden, for_weight, for_bias, None, None


@dataclass(frozen=True)
class _Outcome:
    """Log-likelihoods, their gradients by `hidden`, and those of their (weighted) sum by `weight` and `bias`."""

    value: Float[Tensor, " B"]
    hidden: Float[Tensor, "B H"] | None
    weight: Float[Tensor, "V H"] | None
    bias: Float[Tensor, " V"] | None


def _evaluate(
    hidden: Float[Tensor, "B H"],
    weight: Float[Tensor, "V H"],
    bias: Float[Tensor, " V"],
    batch: CountBatch,
    *,
    row_weights: Float[Tensor, " B"] | None = None,
    of_hidden: bool = False,
    of_weight: bool = False,
) -> _Outcome:
    """Go through blocks of rows. The logits' gradient is x − N·p = −N·(p − x/N); N is left to the thin matrices."""
    lengths = batch.lengths.to(hidden.dtype)
    counts = batch.counts.to(hidden.dtype)
    shares = counts / lengths.clamp(min=torch.finfo(hidden.dtype).tiny)[batch.row_of_nonzero]
    column_weights = lengths if row_weights is None else lengths * row_weights
    value = torch.empty_like(lengths)
    for_hidden = torch.empty_like(hidden) if of_hidden else None
    for_weight = torch.zeros_like(weight) if of_weight else None
    for_bias = torch.zeros_like(bias) if of_weight else None
    room = hidden.new_empty(rows_at_once(len(batch), batch.num_terms), batch.num_terms)
    for rows, nonzeros in _blocks(batch, len(room)):
        logits = torch.addmm(bias, hidden[rows], weight.T, out=room[: rows.stop - rows.start])
        within = batch.row_of_nonzero[nonzeros] - rows.start
        cells = within * batch.num_terms + batch.terms[nonzeros]
        probs = torch.softmax(logits, dim=1, out=logits)
        log_probs = probs.view(-1).index_select(0, cells).log_()
        vanished = log_probs < LEAST_LOG_PROB
        if bool(vanished.any()):
            log_probs[vanished] = _log_probs(
                hidden[rows], weight, bias, within[vanished], batch.terms[nonzeros][vanished]
            )
        value[rows] = torch.zeros_like(lengths[rows]).index_add_(0, within, counts[nonzeros] * log_probs)
        if not (of_hidden or of_weight):
            continue
        surplus = probs
        surplus.view(-1).index_add_(0, cells, shares[nonzeros], alpha=-1)
        if for_hidden is not None:
            torch.mm(surplus, weight, out=for_hidden[rows]).mul_(-lengths[rows].unsqueeze(1))
        if for_weight is not None and for_bias is not None:
            columns = column_weights[rows]
            for_weight.addmm_(surplus.T, hidden[rows] * columns.unsqueeze(1), alpha=-1)
            for_bias.addmv_(surplus.T, columns, alpha=-1)
    return _Outcome(value, for_hidden, for_weight, for_bias)


def _log_probs(
    hidden: Float[Tensor, "b H"],
    weight: Float[Tensor, "V H"],
    bias: Float[Tensor, " V"],
    rows: Int[Tensor, " n"],
    terms: Int[Tensor, " n"],
) -> Float[Tensor, " n"]:
    """Return the log-probabilities of some terms in some rows from logits made anew; few rows ever need it."""
    distinct, places = torch.unique(rows, return_inverse=True)
    return torch.log_softmax(torch.addmm(bias, hidden[distinct], weight.T), dim=1)[places, terms]


def rows_at_once(num_rows: int, num_terms: int) -> int:
    """Return how many rows of logits are made at a time: nearly equal blocks, of bounded size.

    >>> rows_at_once(500, 2_000), rows_at_once(500, 50_000), rows_at_once(500, 1_000_000)
    (500, 125, 63)
    """
    at_most = max(ROWS_AT_LEAST, VALUES_AT_ONCE // num_terms)
    num_blocks = -(-num_rows // at_most)
    return -(-num_rows // max(1, num_blocks))


def _blocks(batch: CountBatch, size: int) -> Iterator[tuple[slice, slice]]:
    """Yield rows and their nonzeros."""
    begins = list(range(0, len(batch), max(1, size)))
    borders = [*begins, len(batch)]
    places = batch.offsets[borders].tolist()
    for number in range(len(begins)):
        yield slice(borders[number], borders[number + 1]), slice(places[number], places[number + 1])
