"""The LSTM language model, its output layer tied to its input embedding or of its own."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_bool, check_int, check_real

State = tuple[Tensor, ...]  # (h, c), each (layers, B, hidden_dim)


class LSTMLanguageModel(nn.Module):
    """Predicts the next token: logits_t = E · dropout(h_t) + b, with h from LSTM layers over dropout(E[x_t]).

    `embedding` gives the vectors E; its `logits` is the output layer where it has one, its `weight` otherwise. Hidden
    states of another width than the embedding's are projected to it. `word_dropout` drops words, all their
    occurrences in the batch together (Gal and Ghahramani 2016), by a mask over ids: the table is not touched. Without
    `tied` the output layer is a linear layer, `output`, with a matrix of its own.
    """

    def __init__(
        self,
        embedding: nn.Module,
        *,
        hidden_dim: int,
        num_layers: int = 2,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        output_bias: bool = True,
        tied: bool = True,
    ) -> None:
        super().__init__()
        check_int("hidden_dim", hidden_dim, at_least=1)
        check_int("num_layers", num_layers, at_least=1)
        self.dropout = check_real("dropout", dropout, at_least=0, below=1)
        self.word_dropout = check_real("word_dropout", word_dropout, at_least=0, below=1)
        self.embedding = embedding
        width: int = embedding.embedding_dim  # type: ignore[assignment]
        between = dropout if num_layers > 1 else 0.0
        self.layers = nn.LSTM(width, hidden_dim, num_layers, dropout=between, batch_first=True)
        self.project = nn.Identity() if hidden_dim == width else nn.Linear(hidden_dim, width, bias=False)
        number: int = embedding.num_embeddings  # type: ignore[assignment]
        self.output = None if check_bool("tied", tied) else nn.Linear(width, number, bias=False)
        self.output_bias = make_output_bias(embedding, output_bias)

    def forward(self, tokens: Int[Tensor, "B T"], state: State | None = None) -> tuple[Float[Tensor, "B T V"], State]:
        """Return the logits of every next token, and the state after the last one."""
        hidden, state = self.hidden(tokens, state)
        return self.logits(hidden), state

    def hidden(self, tokens: Int[Tensor, "B T"], state: State | None = None) -> tuple[Float[Tensor, "B T D"], State]:
        """Return what the output layer sees of every position, and the state after the last one."""
        vectors = embed_with_word_dropout(self.embedding, tokens, self.word_dropout if self.training else 0.0)
        vectors = functional.dropout(vectors, self.dropout, self.training)
        hidden, state = self.layers(vectors, state)
        return functional.dropout(self.project(hidden), self.dropout, self.training), state

    def logits(self, hidden: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Return the scores of all V tokens by the output layer."""
        if self.output is None:
            return tied_logits(self.embedding, hidden, self.output_bias)
        scores: Tensor = self.output(hidden)
        return scores if self.output_bias is None else scores + self.output_bias

    def output_vectors(self, words: Int[Tensor, " W"]) -> Float[Tensor, "W D"]:
        """Return what the output layer multiplies hidden states with for these words."""
        vectors: Tensor = self.embedding(words) if self.output is None else self.output.weight[words]
        return vectors

    def new_state(self, batch_size: int) -> State:
        """Return the state before the first token."""
        shape = (self.layers.num_layers, batch_size, self.layers.hidden_size)
        return torch.zeros(shape), torch.zeros(shape)


def make_output_bias(embedding: nn.Module, wanted: bool) -> nn.Parameter | None:
    """Return one zero per token, or None."""
    number: int = embedding.num_embeddings  # type: ignore[assignment]
    return nn.Parameter(torch.zeros(number)) if check_bool("output_bias", wanted) else None


def tied_logits(
    embedding: nn.Module, hidden: Float[Tensor, "... D"], bias: Float[Tensor, " V"] | None = None
) -> Float[Tensor, "... V"]:
    """Return hidden · Eᵀ + b: by the embedding's own `logits` where it has one, as compressed tables do."""
    if hasattr(embedding, "logits"):
        scores: Tensor = embedding.logits(hidden)  # type: ignore[operator]
        return scores if bias is None else scores + bias
    weight: Tensor = embedding.weight  # type: ignore[assignment]
    return functional.linear(hidden, weight, bias)


def embed_with_word_dropout(embedding: nn.Module, tokens: Int[Tensor, "B T"], rate: float) -> Float[Tensor, "B T D"]:
    """Return the tokens' vectors, those of a share `rate` of the words zero and the others scaled by 1/(1 − rate)."""
    vectors: Tensor = embedding(tokens)
    if rate == 0:
        return vectors
    words, places = torch.unique(tokens, return_inverse=True)
    kept = functional.dropout(torch.ones(len(words), device=tokens.device, dtype=vectors.dtype), rate)
    return vectors * kept[places].unsqueeze(-1)
