"""The convolutional text classifier of Kim (2014), computed per distinct word instead of per token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_int, check_real
from gossamer.networks.text_cnn_kernels import spread_gradient, strongest_windows


class TextCNN(nn.Module):
    """Classifies texts by the strongest response of each filter: softmax(W · dropout(ReLU(max_t c_t + b))).

    `num_filters` filters of each of the widths `filter_sizes` slide over the vectors of a text (ANT, table 5). A
    negative id is padding: a zero vector. Windows begin at a word of the text (an empty text has one window, of
    zeros), so the answer does not depend on how far a text is padded.

    Two things make it cheap on a CPU. A filter's response is a sum over its taps of one vector each, so all taps are
    applied to each *distinct* word of the batch in one product (B·T tokens have about B·T/3 distinct words), and
    windows are sums of looked-up responses. And only the winning window has a gradient: the maximum is found
    by compiled loops that skip padding, and the gradient goes to the winners alone.
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
        # Every tap of every filter: rows (width, tap, filter). Scaled as nn.Conv1d would be, by the width's fan-in. A
        # layer, so that it can be split into two; one that draws nothing of its own, so that seeds mean what they did.
        width = int(embedding.embedding_dim)  # type: ignore[arg-type]
        rows = torch.cat([_new_taps(size, num_filters, width) for size in self.filter_sizes])
        self.taps = nn.Linear(width, len(rows), bias=False, device="meta")
        self.taps.weight = nn.Parameter(rows)
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
        responses = self.taps(vectors)
        strongest: Tensor = StrongestWindows.apply(  # type: ignore[no-untyped-call]
            responses, places, lengths, self.filter_sizes, self.num_filters
        )
        return functional.relu(strongest + self.filter_bias)


def _new_taps(size: int, num_filters: int, width: int) -> Tensor:
    bound = (size * width) ** -0.5
    return nn.init.uniform_(torch.empty(size * num_filters, width), -bound, bound)


class StrongestWindows(torch.autograd.Function):
    """The largest window of every text and filter, and the gradient to the summands of that window alone.

    `responses` (U, taps) holds what each tap of each filter says of each distinct word; a block of columns per width
    is ordered by (tap, filter). Compiled loops visit real windows only, on the CPU, wherever the tensors are.
    """

    @staticmethod
    def forward(
        context: Any,
        responses: Float[Tensor, "U C"],
        places: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"],
        filter_sizes: Sequence[int],
        num_filters: int,
    ) -> Float[Tensor, "B F"]:
        """Return the largest windows, width after width."""
        values = np.ascontiguousarray(responses.detach().cpu().numpy())
        rows, ends = places.cpu().numpy(), lengths.cpu().numpy()
        strongest = [np.empty((len(rows), num_filters), dtype=values.dtype) for _ in filter_sizes]
        begins = [np.zeros((len(rows), num_filters), dtype=np.int32) for _ in filter_sizes]
        for first, size, best, begin in zip(
            first_columns(filter_sizes, num_filters), filter_sizes, strongest, begins, strict=True
        ):
            strongest_windows(values, rows, ends, first, size, best, begin)
        context.kept = (rows, begins, filter_sizes, num_filters, responses.shape, responses.device)
        return torch.from_numpy(np.concatenate(strongest, axis=1)).to(responses.device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Float[Tensor, "B F"]) -> tuple[Tensor | None, ...]:
        """Return the gradient of `responses`."""
        rows, begins, filter_sizes, num_filters, shape, device = context.kept
        given = gradient.cpu().numpy()
        spread = np.zeros(shape, dtype=given.dtype)
        for number, (first, size) in enumerate(
            zip(first_columns(filter_sizes, num_filters), filter_sizes, strict=True)
        ):
            block = np.ascontiguousarray(given[:, number * num_filters : (number + 1) * num_filters])
            spread_gradient(block, rows, begins[number], first, size, spread)
        return torch.from_numpy(spread).to(device), None, None, None, None


def first_columns(filter_sizes: Sequence[int], num_filters: int) -> list[int]:
    """Return where each width's block of taps begins.

    >>> first_columns((3, 4, 5), 100)
    [0, 300, 700]
    """
    return [num_filters * sum(filter_sizes[:number]) for number in range(len(filter_sizes))]
