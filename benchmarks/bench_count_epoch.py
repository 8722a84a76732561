"""How long does amortised training of a count VAE take, beside a plain dense PyTorch loop of the same network?

Encoder V–400–400–2·100, linear decoder 100–V, batches of 500, Adam. Two corpora of Zipf-like words: one of the size of
20 Newsgroups as NVDM cut it, of which an epoch is timed, and a wide one of 50,000 terms, of which updates are timed.
The dense loop is given the small corpus as dense tensors beforehand; rows of the wide one it must fill as it goes,
because 11,000 of them would take 4.5 GB, counts and tf-idf together. It comes with torch's default Adam and the fused
one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from measuring import Arrays, run_benchmark
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.counts.batch import take_batch
from gossamer.models.counts.inputs import InputFeatures
from gossamer.models.counts.module import Decoder, Encoder
from gossamer.models.counts.network import CountNetwork
from gossamer.models.counts.sparse_layer import ROW_SPARSE_FROM
from gossamer.models.counts.step import CountStep
from gossamer.training.devices import make_fabric

LATENT_DIM, HIDDEN_DIM, BATCH_SIZE, LEARNING_RATE = 100, 400, 500, 8e-4
CORPORA = ("news", "wide")
COLUMNS = {"seconds": "s/epoch, V = 2,000", "wide_seconds": "s/update, V = 50,000", "added_bytes": "peak memory"}
Update = Callable[[np.ndarray], float]


def two_corpora(
    num_documents: int, num_terms: int, tokens: int, wide_updates: int, wide_terms: int, wide_tokens: int
) -> Arrays:
    """Return both corpora; frequent terms lie all over the vocabulary."""
    rng = np.random.default_rng(0)
    sizes = {"news": (num_documents, num_terms, tokens), "wide": (wide_updates * BATCH_SIZE, wide_terms, wide_tokens)}
    return {f"{name}_{part}": array for name, size in sizes.items() for part, array in _corpus(rng, *size).items()}


def _corpus(rng: np.random.Generator, num_documents: int, num_terms: int, tokens: int) -> Arrays:
    """Return documents of log-normal length, `tokens` words each on average, as compressed rows."""
    lengths = np.maximum(1, rng.lognormal(np.log(tokens) - 0.32, 0.8, num_documents)).astype(np.int64)
    popularity = np.cumsum(1.0 / (np.arange(num_terms) + 10.0))
    ranks = np.searchsorted(popularity, rng.random(lengths.sum()) * popularity[-1])
    terms = rng.permutation(num_terms)[np.minimum(ranks, num_terms - 1)]
    rows = np.repeat(np.arange(num_documents), lengths)
    matrix = sparse.csr_array((np.ones(len(rows), np.float32), (rows, terms)), shape=(num_documents, num_terms))
    return {
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "shape": np.array(matrix.shape),
    }


def corpora_from(arrays: Arrays) -> dict[str, sparse.csr_array]:
    """Return the corpora that `two_corpora` made."""
    return {
        name: sparse.csr_array(
            tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr")),
            shape=tuple(arrays[f"{name}_shape"].tolist()),
        )
        for name in CORPORA
    }


def contender(prepare: Callable[[sparse.csr_array], Update]) -> Callable[[dict[str, sparse.csr_array]], Callable]:
    """Return the measurement of one way to train."""

    def ready(corpora: dict[str, sparse.csr_array]) -> Callable[[], dict[str, float]]:
        updates = {name: prepare(corpus) for name, corpus in corpora.items()}
        for name, update in updates.items():  # what is compiled, imported or allocated late
            update(np.arange(min(BATCH_SIZE, corpora[name].shape[0])))
        return lambda: _measure(corpora, updates)

    return ready


def _measure(corpora: dict[str, sparse.csr_array], updates: dict[str, Update]) -> dict[str, float]:
    seconds, losses = {}, {}
    for name, update in updates.items():
        began = time.perf_counter()
        losses[name] = float(np.mean([update(rows) for rows in _batches(corpora[name].shape[0])]))
        seconds[name] = time.perf_counter() - began
    num_wide = -(-corpora["wide"].shape[0] // BATCH_SIZE)
    return {
        "seconds": seconds["news"],
        "wide_seconds": seconds["wide"] / num_wide,
        "loss": losses["news"],  # no cost: a sign that the contenders train alike
        "wide_loss": losses["wide"],
    }


def _batches(num_documents: int) -> Iterator[np.ndarray]:
    order = np.random.default_rng(1).permutation(num_documents)
    yield from np.split(order, range(BATCH_SIZE, num_documents, BATCH_SIZE))


def sparse_updates(corpus: sparse.csr_array) -> Update:
    """Return updates as `CountVAE` makes them."""
    num_terms = corpus.shape[1]
    inputs = InputFeatures("tfidf").fit(corpus).values(corpus)
    encoder = Encoder(num_terms, LATENT_DIM, (HIDDEN_DIM,) * 2, sparse_gradient=num_terms >= ROW_SPARSE_FROM)
    network = CountNetwork(encoder, Decoder(num_terms, LATENT_DIM))
    step = CountStep(network, inference="amortised", learning_rate=LEARNING_RATE)
    step.setup(make_fabric("cpu"))
    return lambda rows: float(step(take_batch(corpus, inputs, rows), 1.0)["loss"])


def dense_updates(*, fused: bool) -> Callable[[sparse.csr_array], Update]:
    """Return the updates of a plain PyTorch loop."""

    def prepare(corpus: sparse.csr_array) -> Update:
        tfidf = InputFeatures("tfidf").fit(corpus).values(corpus)
        features = sparse.csr_array((tfidf, corpus.indices, corpus.indptr), shape=corpus.shape)
        counts_of, inputs_of = _dense_rows(corpus), _dense_rows(features)
        network = DenseVAE(corpus.shape[1])
        optimiser = torch.optim.Adam(network.parameters(), LEARNING_RATE, fused=fused)

        def update(rows: np.ndarray) -> float:
            loss = network.loss(counts_of(rows), inputs_of(rows))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            return float(loss.detach())

        return update

    return prepare


def _dense_rows(matrix: sparse.csr_array) -> Callable[[np.ndarray], Tensor]:
    if matrix.shape[1] < ROW_SPARSE_FROM:
        dense = torch.from_numpy(matrix.toarray())
        return lambda rows: dense[torch.from_numpy(rows)]
    return lambda rows: torch.from_numpy(matrix[rows].toarray())


class DenseVAE(nn.Module):
    """The same network as anyone would write it."""

    def __init__(self, num_terms: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(num_terms, HIDDEN_DIM),
            nn.ReLU(),
            nn.Linear(HIDDEN_DIM, HIDDEN_DIM),
            nn.ReLU(),
            nn.Linear(HIDDEN_DIM, 2 * LATENT_DIM),
        )
        self.decoder = nn.Linear(LATENT_DIM, num_terms)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def loss(self, counts: Tensor, inputs: Tensor) -> Tensor:
        """Return minus the bound, mean over documents."""
        mean, log_variance = self.encoder(inputs).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * torch.exp(log_variance / 2)
        likelihood = (counts * functional.log_softmax(self.decoder(z), dim=1)).sum(dim=1)
        divergence = (mean.square() + log_variance.exp() - log_variance - 1).sum(dim=1) / 2
        return (divergence - likelihood).mean()


if __name__ == "__main__":
    run_benchmark(
        "count-epoch",
        "Amortised training of a count VAE, batches of 500",
        {
            "num_documents": 11_268,
            "num_terms": 2_000,
            "tokens": 100,
            "wide_updates": 10,
            "wide_terms": 50_000,
            "wide_tokens": 150,
        },
        {
            "gossamer": contender(sparse_updates),
            "dense PyTorch": contender(dense_updates(fused=False)),
            "dense PyTorch, fused Adam": contender(dense_updates(fused=True)),
        },
        small={"num_documents": 1_000, "wide_updates": 1, "wide_terms": 20_000},
        make=two_corpora,
        load=corpora_from,
        costs=COLUMNS,
        packages=("torch",),
    )
