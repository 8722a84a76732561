"""What does an epoch of a sentence VAE cost, against a GRU VAE written plainly with nn.GRU and padding?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from measuring import Arrays, Contender, run_benchmark
from torch import nn
from torch.nn import functional

from gossamer.data.sentences import Sentences
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.spikeslab import SentenceVAE

EMBEDDING, HIDDEN, LATENT, BATCH, PSI, RATE = 256, 512, 32, 256, 0.01, 8e-4


def zipf_sentences(num_sentences: int, num_words: int, mean_length: int, seed: int = 0) -> Arrays:
    """Return sentences with Zipf's words and lengths that vary as those of DBpedia do, from 1 to 60."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.gamma(4.0, mean_length / 4.0, num_sentences), 1, 60).astype(np.int64)
    frequency = 1.0 / (np.arange(num_words) + 2.7)
    tokens = rng.choice(num_words, int(lengths.sum()), p=frequency / frequency.sum())
    return {"tokens": tokens, "offsets": np.cumsum([0, *lengths]), "num_words": np.array(num_words)}


def load_sentences(arrays: Arrays) -> Sentences:
    return Sentences(arrays["tokens"], arrays["offsets"], Vocabulary.numbered(int(arrays["num_words"])))


class PlainVAE(nn.Module):
    """The same sizes as ours, as a tutorial would write it: padded batches, all logits at once."""

    def __init__(self, num_words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(num_words + 3, EMBEDDING, padding_idx=num_words + 2)
        self.encoder = nn.GRU(EMBEDDING, HIDDEN, batch_first=True)
        self.head = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.LeakyReLU(), nn.Linear(HIDDEN, 2 * LATENT))
        self.decoder = nn.GRU(EMBEDDING + LATENT, HIDDEN, batch_first=True)
        self.output = nn.Linear(HIDDEN, num_words + 1)
        self.pad = num_words + 2

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the objective of a padded batch."""
        begin = torch.full((len(tokens), 1), self.pad - 1)
        states, _ = self.encoder(self.words(tokens))
        last = states[torch.arange(len(tokens)), lengths - 1]
        mean, log_scale = self.head(last).chunk(2, dim=1)
        z = mean + log_scale.exp() * torch.randn_like(mean)
        heard = self.words(torch.cat([begin, tokens[:, :-1]], dim=1))
        hidden, _ = self.decoder(torch.cat([heard, z.unsqueeze(1).expand(-1, tokens.shape[1], -1)], dim=2))
        # Flat: with a transposed view of B × T × V logits torch takes twice as long.
        logits = self.output(hidden).flatten(0, 1)
        nll = functional.cross_entropy(logits, tokens.flatten(), ignore_index=self.pad, reduction="sum")
        kl = (0.5 * (mean**2 + (2 * log_scale).exp() - 1) - log_scale).sum()
        return (nll + PSI * kl) / len(tokens)


def with_speed(train: Callable[[], dict[str, float]], data: Sentences) -> Callable[[], dict[str, float]]:
    """Return `train` that says how many words a second it learned from, end marks counted, padding not."""
    num_tokens = len(data.tokens) + len(data)

    def timed() -> dict[str, float]:
        began = time.perf_counter()
        outcome = train()
        return outcome | {"tokens_per_second": num_tokens / (time.perf_counter() - began)}

    return timed


def plain(data: Sentences) -> Callable[[], dict[str, float]]:
    """Return an epoch over padded batches in random order."""
    torch.set_num_threads(1)
    num_words = len(data.vocabulary)
    lengths = data.lengths + 1
    padded = np.full((len(data), int(lengths.max())), num_words + 2)
    for row in range(len(data)):
        padded[row, : lengths[row]] = [*data.tokens[data.offsets[row] : data.offsets[row + 1]], num_words]

    def train() -> dict[str, float]:
        torch.manual_seed(0)
        model = PlainVAE(num_words)
        optimiser = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
        for rows in np.array_split(np.random.default_rng(0).permutation(len(data)), -(-len(data) // BATCH)):
            longest = int(lengths[rows].max())
            batch = torch.from_numpy(padded[rows, :longest])
            loss = model(batch, torch.from_numpy(lengths[rows]))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return {"loss": float(loss.detach()) / float(lengths.mean())}

    return with_speed(train, data)


def ours(**arguments: Any) -> Contender:
    """Return a contender that trains our network for one epoch."""

    def prepare(data: Sentences) -> Callable[[], dict[str, float]]:
        torch.set_num_threads(1)
        settings = {"embedding_dim": EMBEDDING, "hidden_dim": HIDDEN, "latent_dim": LATENT, "batch_size": BATCH}
        model = SentenceVAE(epochs=1, psi=PSI, learning_rate=RATE, **settings, **arguments)
        model.fit(data[:8])  # what is imported at the first fit

        def train() -> dict[str, float]:
            history = model.fit(data).history_
            return {"loss": history["epochs"][0]["reconstruction"] / float(data.lengths.mean() + 1)}

        return with_speed(train, data)

    return prepare


if __name__ == "__main__":
    run_benchmark(
        "sentence-epoch",
        "One epoch of a sentence VAE, GRU 512, words 256, 32 dimensions, batches of 256, 20,000 words, one thread",
        {"num_sentences": 1_280, "num_words": 20_000, "mean_length": 30},
        {
            "gossamer, VAE": ours(prior="gaussian"),
            "gossamer, VAE, adaptive softmax": ours(prior="gaussian", softmax="adaptive"),
            "gossamer, HSVAE": ours(prior="spike_slab"),
            "plain PyTorch, padded": plain,
        },
        small={"num_sentences": 64, "num_words": 300},
        make=zipf_sentences,
        load=load_sentences,
        packages=("torch",),
    )
