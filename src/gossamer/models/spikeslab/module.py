"""The network: words → GRU → code → GRU that hears the code at every step → words (section 4.1 of the paper)."""

from __future__ import annotations

from typing import Protocol

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from gossamer.core.checks import check_int
from gossamer.models.spikeslab.codes import Codes
from gossamer.models.spikeslab.ragged import SentenceBatch
from gossamer.models.spikeslab.softmax import AdaptiveSoftmax, FullSoftmax, WordSoftmax

SOFTMAXES = ("full", "adaptive")


class SentenceEncoder(Protocol):
    """Anything that gives one vector per sentence of a batch."""

    feature_dim: int

    def __call__(self, batch: SentenceBatch, vectors: Float[Tensor, "P E"]) -> Float[Tensor, "B H"]:
        """Return features, longest sentence first, from a batch and the vectors of its words."""


class WordVectors(nn.Module):
    """Vectors of V words from any table, and two learned ones for the end mark (V) and the begin mark (V + 1).

    `table` maps word numbers to vectors of `embedding_dim`: `nn.Embedding`, or a compressed table the caller made, with
    dense gradients.
    """

    def __init__(self, table: nn.Module, num_words: int, embedding_dim: int) -> None:
        super().__init__()
        check_table(table, num_words, embedding_dim)
        self.table, self.num_words = table, num_words
        self.marks = nn.Parameter(torch.randn(2, embedding_dim))

    def forward(self, tokens: Int[Tensor, " P"]) -> Float[Tensor, "P E"]:
        """Return one vector per token."""
        mark = tokens - self.num_words
        vectors: Tensor = self.table(tokens.clamp_max(self.num_words - 1))
        return torch.where((mark < 0).unsqueeze(1), vectors, self.marks[mark.clamp_min(0)])


def check_table(table: nn.Module, num_words: int, embedding_dim: int) -> None:
    """Look the last word up, and say what is wrong with a table that is too short, too wide, or learns by rows."""
    try:
        with torch.enable_grad():
            vector: Tensor = table(torch.tensor([num_words - 1]))
    except IndexError as error:
        raise ValueError(
            f"table must have a vector for each of {num_words} words, got none for word number {num_words - 1}"
        ) from error
    shape = tuple(vector.shape)
    if shape != (1, embedding_dim):
        raise ValueError(
            f"table must give vectors of embedding_dim = {embedding_dim}, got the shape {shape} for a word"
        )
    learned = {name: weight for name, weight in table.named_parameters() if weight.requires_grad}
    if not vector.requires_grad or not learned:
        return
    gradients = torch.autograd.grad(vector.sum(), list(learned.values()), allow_unused=True)
    for name, gradient in zip(learned, gradients, strict=True):
        if gradient is not None and gradient.is_sparse:  # the one optimiser of the network, Adam, takes none
            raise ValueError(
                f"table must have dense gradients, got row-sparse ones of {name!r}; make it with sparse=False"
            )


class GRUEncoder(nn.Module):
    """The last hidden state of a GRU."""

    def __init__(self, embedding_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.feature_dim = hidden_dim
        self.recurrent = nn.GRU(embedding_dim, hidden_dim)

    def forward(self, batch: SentenceBatch, vectors: Float[Tensor, "P E"]) -> Float[Tensor, "B H"]:
        """Return the state after the end mark of each sentence."""
        _, last = self.recurrent(PackedSequence(vectors, batch.batch_sizes.cpu()))
        state: Tensor = last[0]
        return state


class SentenceNetwork(nn.Module):
    """Encoder, distribution of codes and decoder; `encoder` is any `SentenceEncoder` that is a module."""

    word_counts: Tensor

    def __init__(
        self,
        vectors: WordVectors,
        encoder: nn.Module,
        codes: Codes,
        *,
        hidden_dim: int,
        word_counts: Float[Tensor, " V+1"],
        softmax: str = "full",
    ) -> None:
        super().__init__()
        self.vectors, self.encoder, self.codes = vectors, encoder, codes
        embedding_dim, self.feature_dim = vectors.marks.shape[1], feature_dim_of(encoder)
        self.decoder = nn.GRU(embedding_dim + codes.latent_dim, hidden_dim)
        self.register_buffer("word_counts", word_counts)  # how often words, and the end mark, are said in training
        self.softmax = self._make_softmax(hidden_dim, softmax)

    def _make_softmax(self, hidden_dim: int, kind: str) -> WordSoftmax:
        if kind == "full":
            return FullSoftmax(hidden_dim, len(self.word_counts))
        return AdaptiveSoftmax(hidden_dim, rank_words(self.word_counts))

    def rank_again(self) -> None:
        """Number words by `word_counts`, after these were restored from an artifact."""
        if isinstance(self.softmax, AdaptiveSoftmax):
            self.softmax.rank = rank_words(self.word_counts)

    def features(self, batch: SentenceBatch) -> Float[Tensor, "B H"]:
        """Return what the encoder makes of each sentence."""
        encoded: Tensor = self.encoder(batch, self.vectors(batch.tokens))
        return encoded

    def hidden(self, batch: SentenceBatch, z: Float[Tensor, "B D"]) -> Float[Tensor, "P H"]:
        """Return the decoder's state before each word, given the words before it and the code."""
        heard = torch.cat([self.vectors(batch.previous), z[batch.sentence]], dim=1)
        states, _ = self.decoder(PackedSequence(heard, batch.batch_sizes.cpu()))
        values: Tensor = states.data
        return values

    def reconstruction(
        self, batch: SentenceBatch, z: Float[Tensor, "B D"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, " B"]]:
        """Return the mean of −log p(x|z) over sentences, with a gradient, and that of each sentence, without."""
        return self.softmax.nll(self.hidden(batch, z), batch.tokens, batch.sentence, batch.num_sentences)

    def forward(self, batch: SentenceBatch, generator: torch.Generator | None = None) -> Float[Tensor, " B"]:
        """Return −log p(x|z) of each sentence at one draw of its code."""
        return self.reconstruction(batch, self.codes.draw_codes(self.features(batch), generator))[1]


def feature_dim_of(encoder: nn.Module) -> int:
    """Return the width of an encoder's vectors, or say that it does not tell.

    >>> feature_dim_of(GRUEncoder(3, 5))
    5
    """
    return check_int("encoder.feature_dim", getattr(encoder, "feature_dim", None), at_least=1)


def rank_words(counts: Float[Tensor, " V"]) -> Int[Tensor, " V"]:
    """Return the place of each word when words are sorted by falling count.

    >>> rank_words(torch.tensor([1.0, 5.0, 3.0])).tolist()
    [2, 0, 1]
    """
    order = torch.argsort(-counts, stable=True)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order))
    return rank
