"""The convolutional text classifier of Kim (2014), computed per distinct word instead of per token."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_int, check_real


class TextCNN(nn.Module):
    """Classifies texts by the strongest response of each filter: softmax(W · dropout(ReLU(max_t c_t + b))).

    `num_filters` filters of each of the widths `filter_sizes` slide over the vectors of a text (ANT, table 5). A
    negative id is padding: a zero vector. Windows begin at a word of the text (an empty text has one window, of
    zeros), so the answer does not depend on how far a text is padded.

    Two things make it cheap on a CPU. A filter's response is a sum over its taps of one vector each, so all taps are
    applied to each *distinct* word of the batch in one product (B·T tokens have about B·T/3 distinct words), and
    windows are sums of looked-up responses. And only the winning window has a gradient: the maximum is searched
    without one and the winners alone are computed again.
    """

    def __init__(
        self,
        embedding: nn.Module,
        num_classes: int,
        *,
        filter_sizes: Sequence[int] = (3, 4, 5),
        num_filters: int = 100,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        check_int("num_classes", num_classes, at_least=1)
        check_int("num_filters", num_filters, at_least=1)
        if len(filter_sizes) == 0:
            raise ValueError(f"filter_sizes must have at least one width, got {filter_sizes!r}")
        self.filter_sizes = tuple(check_int("filter_sizes", size, at_least=1) for size in filter_sizes)
        self.num_filters = num_filters
        self.dropout = check_real("dropout", dropout, at_least=0, below=1)
        self.embedding = embedding
        # Every tap of every filter: rows (width, tap, filter). Scaled as nn.Conv1d would be, by the width's fan-in.
        width = int(embedding.embedding_dim)  # type: ignore[arg-type]
        self.taps = nn.Parameter(torch.cat([_new_taps(size, num_filters, width) for size in self.filter_sizes]))
        self.filter_bias = nn.Parameter(torch.zeros(len(self.filter_sizes) * num_filters))
        self.output = nn.Linear(len(self.filter_sizes) * num_filters, num_classes)

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B num_classes"]:
        """Return the logits of each text."""
        features = functional.dropout(self.features(tokens), self.dropout, self.training)
        logits: Tensor = self.output(features)
        return logits

    def features(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B F"]:
        """Return each filter's strongest response, F = widths · num_filters of them."""
        is_word = tokens >= 0
        numbers = torch.arange(1, tokens.shape[1] + 1, device=tokens.device)
        lengths = (numbers * is_word).amax(dim=1).clamp(min=1)
        padded = functional.pad(tokens, (0, max(self.filter_sizes)), value=-1)
        words, places = torch.unique(padded, return_inverse=True)
        vectors = self.embedding(words.clamp(min=0)).masked_fill((words < 0).unsqueeze(1), 0.0)
        responses = functional.linear(vectors, self.taps)
        outside = (numbers - 1 >= lengths.unsqueeze(1))[:, : int(lengths.max())]
        winners, first = [], 0
        for size in self.filter_sizes:
            winners.append(_winning_entries(responses.detach(), (first, size, self.num_filters), places, outside))
            first += size * self.num_filters
        taken = torch.split(responses.take(torch.cat(winners, dim=1)), list(self.filter_sizes), dim=1)
        return functional.relu(torch.cat([taps.sum(dim=1) for taps in taken], dim=1) + self.filter_bias)


def _new_taps(size: int, num_filters: int, width: int) -> Tensor:
    bound = (size * width) ** -0.5
    return nn.init.uniform_(torch.empty(size * num_filters, width), -bound, bound)


def _winning_entries(
    responses: Float[Tensor, "U C"],
    block: tuple[int, int, int],
    places: Int[Tensor, "B T"],
    outside: Bool[Tensor, "B N"],
) -> Int[Tensor, "B taps F"]:
    """Return where in `responses`, flattened, the strongest window of each text and filter has its summands.

    A block is (first column, taps, filters F) of one width. The response of window n of filter f is
    Σ_j responses[places[b, n + j], first + j · F + f]; windows `outside` do not compete.
    """
    first, size, num_filters = block
    num_texts, num_windows = outside.shape
    windows = responses.new_zeros(num_texts * num_windows, num_filters)
    for tap in range(size):
        columns = responses[:, first + tap * num_filters : first + (tap + 1) * num_filters]
        windows += columns.index_select(0, places[:, tap : tap + num_windows].reshape(-1))
    windows.masked_fill_(outside.reshape(-1, 1), -torch.inf)
    begins = windows.view(num_texts, num_windows, num_filters).argmax(dim=1, keepdim=True)
    taps = torch.arange(size, device=places.device).view(1, -1, 1)
    rows = torch.arange(num_texts, device=places.device).view(-1, 1, 1)
    columns = first + torch.arange(size * num_filters, device=places.device).view(size, num_filters)
    return places[rows, begins + taps] * responses.shape[1] + columns
