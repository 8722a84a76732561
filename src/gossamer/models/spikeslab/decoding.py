"""From codes back to sentences: the likeliest word at every step, or words drawn."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.data.sentences import Sentences
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.spikeslab.module import SentenceNetwork
from gossamer.models.spikeslab.softmax import WORDS_AT_ONCE


@torch.no_grad()
def decode(
    network: SentenceNetwork,
    codes: Float[Tensor, "B D"],
    max_length: int,
    generator: torch.Generator | None = None,
    *,
    temperature: float = 1.0,
) -> list[list[int]]:
    """Return the words of each code until the end mark or `max_length`: drawn by `generator`, the likeliest without.

    Codes go through in blocks, so that B × V log-probabilities never exist at once.
    """
    size = max(1, WORDS_AT_ONCE // (network.vectors.num_words + 1))
    rows: list[list[int]] = []
    for begin in range(0, len(codes), size):
        rows += _decode_block(network, codes[begin : begin + size], max_length, generator, temperature)
    return rows


def _decode_block(
    network: SentenceNetwork, codes: Tensor, max_length: int, generator: torch.Generator | None, temperature: float
) -> list[list[int]]:
    end = network.vectors.num_words
    tokens = torch.full((len(codes),), end + 1)
    state = codes.new_zeros(1, len(codes), network.decoder.hidden_size)
    is_over = torch.zeros(len(codes), dtype=torch.bool)
    said = []
    for _ in range(max_length):
        heard = torch.cat([network.vectors(tokens), codes], dim=1).unsqueeze(0)
        output, state = network.decoder(heard, state)
        log_probs = network.softmax.log_probs(output[0])
        tokens = _choose(log_probs, generator, temperature)
        is_over |= tokens == end
        if is_over.all():
            break
        said.append(torch.where(is_over, end, tokens).numpy())
        tokens = tokens.clamp_max(end)
    columns = np.stack(said, axis=1) if said else np.empty((len(codes), 0), dtype=np.int64)
    return [row[row < end].tolist() for row in columns]


def _choose(log_probs: Tensor, generator: torch.Generator | None, temperature: float) -> Tensor:
    if generator is None:
        return log_probs.argmax(dim=1)
    return torch.multinomial((log_probs / temperature).softmax(dim=1), 1, generator=generator).squeeze(1)


def as_sentences(rows: list[list[int]], words: Vocabulary) -> Sentences:
    """Return decoded words as a container."""
    offsets = np.cumsum([0, *map(len, rows)])
    tokens = np.array([token for row in rows for token in row], dtype=np.int32)
    return Sentences(tokens, offsets, words)
