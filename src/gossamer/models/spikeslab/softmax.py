"""The likelihood of words given hidden states: a full softmax in blocks, or an adaptive one, both exact."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

WORDS_AT_ONCE = 4_000_000  # logits that exist at a time
FREQUENT = 0.1  # of the words are in the head of an adaptive softmax, which covers most of the text


class WordSoftmax(nn.Module, ABC):
    """p(word | hidden state) over all words."""

    @abstractmethod
    def nll(
        self, hidden: Float[Tensor, "P H"], words: Int[Tensor, " P"], sentence: Int[Tensor, " P"], num_sentences: int
    ) -> tuple[Float[Tensor, ""], Float[Tensor, " B"]]:
        """Return the mean over sentences of −log p, with a gradient, and −log p of each sentence, without."""

    @abstractmethod
    def log_probs(self, hidden: Float[Tensor, "P H"]) -> Float[Tensor, "P V"]:
        """Return the log-probabilities of all words."""


class FullSoftmax(WordSoftmax):
    """One row of weights per word."""

    def __init__(self, hidden_dim: int, num_words: int) -> None:
        super().__init__()
        self.linear = nn.Linear(hidden_dim, num_words)

    def nll(
        self, hidden: Float[Tensor, "P H"], words: Int[Tensor, " P"], sentence: Int[Tensor, " P"], num_sentences: int
    ) -> tuple[Float[Tensor, ""], Float[Tensor, " B"]]:
        """Return the mean over sentences and the value of each, a block of words at a time."""
        scale = 1.0 / num_sentences
        weight: Tensor = self.linear.weight
        bias: Tensor = self.linear.bias
        if not torch.is_grad_enabled():  # which a function of our own is not told: it would compute them all the same
            hidden, weight, bias = hidden.detach(), weight.detach(), bias.detach()
        loss, of_words = _BlockwiseLoss.apply(hidden, weight, bias, words, scale)  # type: ignore[no-untyped-call]
        return loss, sum_by_sentence(of_words, sentence, num_sentences)

    def log_probs(self, hidden: Float[Tensor, "P H"]) -> Float[Tensor, "P V"]:
        """Return the log-probabilities of all words."""
        log_probs: Tensor = self.linear(hidden).log_softmax(dim=1)
        return log_probs


class AdaptiveSoftmax(WordSoftmax):
    """Frequent words in a head, rare ones in clusters with fewer weights (Grave et al. 2017): cheaper, and normalised.

    `rank` numbers words by falling frequency. Words of the head are a tenth, of the first cluster three tenths.
    """

    def __init__(self, hidden_dim: int, rank: Sequence[int] | Int[Tensor, " V"]) -> None:
        super().__init__()
        num_words = len(rank)
        cutoffs = sorted({max(1, round(FREQUENT * num_words)), max(1, round(4 * FREQUENT * num_words))} - {num_words})
        self.rank = torch.as_tensor(rank, dtype=torch.long)
        shrink = min(4.0, 0.99 * hidden_dim**0.5)  # of a cluster's width from one to the next; 1 at least is left
        self.tree = nn.AdaptiveLogSoftmaxWithLoss(hidden_dim, num_words, cutoffs, div_value=shrink, head_bias=True)

    def nll(
        self, hidden: Float[Tensor, "P H"], words: Int[Tensor, " P"], sentence: Int[Tensor, " P"], num_sentences: int
    ) -> tuple[Float[Tensor, ""], Float[Tensor, " B"]]:
        """Return the mean over sentences and the value of each."""
        of_words = -self.tree(hidden, self.rank.to(words.device)[words]).output
        return of_words.sum() / num_sentences, sum_by_sentence(of_words.detach(), sentence, num_sentences)

    def log_probs(self, hidden: Float[Tensor, "P H"]) -> Float[Tensor, "P V"]:
        """Return the log-probabilities of all words, in the order of the vocabulary."""
        by_rank: Tensor = self.tree.log_prob(hidden)
        return by_rank[:, self.rank.to(hidden.device)]


def sum_by_sentence(values: Float[Tensor, " P"], sentence: Int[Tensor, " P"], count: int) -> Float[Tensor, " B"]:
    """Return the sum over the words of each sentence."""
    return values.new_zeros(count).index_add_(0, sentence, values)


class _BlockwiseLoss(torch.autograd.Function):
    """scale · Σ −log softmax, and −log softmax of each word, with P × V logits never all in memory.

    The gradient is computed on the way forward, while a block of logits is there: the loss is a sum with one constant
    weight, so nothing has to be known of what comes after but one factor.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, words: Tensor, scale: float
    ) -> tuple[Tensor, Tensor]:
        of_words = hidden.new_empty(len(hidden))
        needs = [ctx.needs_input_grad[number] for number in range(3)]
        to_hidden = torch.empty_like(hidden) if needs[0] else None
        to_weight = torch.zeros_like(weight) if needs[1] else None
        to_bias = torch.zeros_like(bias) if needs[2] else None
        size = max(1, WORDS_AT_ONCE // len(weight))
        for begin in range(0, len(hidden), size):
            block, said = hidden[begin : begin + size], words[begin : begin + size].unsqueeze(1)
            logits = torch.addmm(bias, block, weight.T)
            normaliser = torch.logsumexp(logits, dim=1, keepdim=True)
            of_words[begin : begin + size] = (normaliser - logits.gather(1, said)).squeeze(1)
            if not any(needs):
                continue
            error = logits.sub_(normaliser).exp_()  # softmax, then minus the word that was said
            error.scatter_add_(1, said, error.new_full((1, 1), -1.0).expand_as(said))
            if to_hidden is not None:
                torch.mm(error, weight, out=to_hidden[begin : begin + size])
            if to_weight is not None:
                to_weight.addmm_(error.T, block)
            if to_bias is not None:
                to_bias += error.sum(dim=0)
        ctx.gradients, ctx.scale = (to_hidden, to_weight, to_bias), scale
        ctx.mark_non_differentiable(of_words)
        return scale * of_words.sum(), of_words

    @staticmethod
    def backward(ctx: Any, grad_loss: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        factor = grad_loss * ctx.scale
        return (*(None if value is None else value * factor for value in ctx.gradients), None, None)
