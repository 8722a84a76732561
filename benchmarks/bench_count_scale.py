"""Does an epoch of a count VAE grow with the nonzeros and nothing else, up to a million documents of 50,000 terms?

Amortised training as a user runs it, `CountVAE(inference="amortised", epochs=1).fit(matrix)`, without validation:
linear decoder 100–V, encoder V–400–2·100, batches of 500. Time is that of `fit`, checks of the data and tf-idf
included; `peak_bytes` is all that the process holds meanwhile, data, libraries and network included.

Documents are planted: each has two of 100 topics, every topic an order of its own of the vocabulary, and half its words
from an order that all share; ranks within an order follow Zipf's law. About 100 different terms per document. Every
size makes its documents in its own process, before the clock starts, and larger sizes begin with the smaller ones.

    python benchmarks/bench_count_scale.py            # writes results/bench/count-scale.json
    python benchmarks/plot_count_scale.py             # draws it
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from measuring import Arrays, run_benchmark
from scipy import sparse

from gossamer.models.counts import CountVAE
from gossamer.runner.machine import peak_rss_bytes

SIZES = (62_500, 125_000, 250_000, 500_000, 1_000_000)
NUM_TOPICS, WORDS = 100, 108  # so many words have about 100 different ones among them
DOCUMENTS_AT_ONCE = 6_250
COLUMNS = {"seconds": "s/epoch", "nonzeros": "nonzeros", "peak_bytes": "peak memory"}


def planted_documents(num_documents: int, num_terms: int, seed: int = 0) -> sparse.csr_array:
    """Return documents as int32 and float32 rows, a block at a time: temporaries do not grow with their number."""
    rng = np.random.default_rng(seed)
    shared = rng.permutation(num_terms).astype(np.int32)
    topics = np.stack([rng.permutation(num_terms).astype(np.int32) for _ in range(NUM_TOPICS)])
    # As long as it could become; pages that are never written take no memory.
    indices = np.empty(num_documents * WORDS, dtype=np.int32)
    counts = np.empty(num_documents * WORDS, dtype=np.float32)
    indptr = np.zeros(num_documents + 1, dtype=np.int32)
    for begin in range(0, num_documents, DOCUMENTS_AT_ONCE):
        size = min(DOCUMENTS_AT_ONCE, num_documents - begin)
        terms = _draw_terms(np.random.default_rng([seed, begin]), size, shared, topics)
        cells, times = np.unique(terms + num_terms * np.arange(size)[:, None], return_counts=True)
        rows, columns = np.divmod(cells, num_terms)
        part = slice(indptr[begin], indptr[begin] + len(cells))
        indices[part], counts[part] = columns, times
        indptr[begin + 1 : begin + size + 1] = part.start + np.cumsum(np.bincount(rows, minlength=size))
    nnz = int(indptr[-1])
    return sparse.csr_array((counts[:nnz], indices[:nnz], indptr), shape=(num_documents, num_terms))


def _draw_terms(rng: np.random.Generator, size: int, shared: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """Return `WORDS` words of each of `size` documents."""
    num_terms, offset = len(shared), 2.7  # Mandelbrot's
    # Zipf's law 1 / (rank + offset) by the inverse of its distribution, which is a logarithm.
    ranks = offset * np.expm1(rng.random((size, WORDS)) * np.log1p(num_terms / offset))
    ranks = np.minimum(ranks.astype(np.int64), num_terms - 1)
    own = rng.integers(NUM_TOPICS, size=(size, 2))
    share_of_first = rng.random((size, 1))
    topic = np.where(rng.random((size, WORDS)) < share_of_first, own[:, :1], own[:, 1:])
    terms: np.ndarray = np.where(rng.random((size, WORDS)) < 0.5, shared[ranks], topics[topic, ranks])
    return terms.astype(np.int64)


def epoch_of(num_documents: int) -> Callable[[Arrays], Callable[[], dict[str, float]]]:
    """Return the measurement of an epoch over so many documents."""

    def ready(arrays: Arrays) -> Callable[[], dict[str, float]]:
        num_terms = int(arrays["num_terms"])
        matrix = planted_documents(num_documents // int(arrays["divisor"]), num_terms)
        settings = {"latent_dim": 100, "encoder_dims": (400,), "inference": "amortised", "batch_size": 500, "epochs": 1}
        CountVAE(**settings).fit(matrix[:50])  # what is compiled or imported late
        model = CountVAE(**settings)

        def train() -> dict[str, float]:
            (epoch,) = model.fit(matrix).history_["epochs"]
            return {"nonzeros": matrix.nnz, "peak_bytes": peak_rss_bytes(), "loss": epoch["loss"]}

        return train

    return ready


def shape_of_documents(divisor: int, num_terms: int) -> Arrays:
    """Return what every process needs to plant its documents."""
    return {"divisor": np.array(divisor), "num_terms": np.array(num_terms)}


if __name__ == "__main__":
    run_benchmark(
        "count-scale",
        "One epoch of amortised training of a count VAE, 50,000 terms, about 100 per document",
        {"divisor": 1, "num_terms": 50_000},
        {f"{size:,} documents": epoch_of(size) for size in SIZES},
        small={"divisor": 100, "num_terms": 20_000},
        make=shape_of_documents,
        load=lambda arrays: arrays,
        costs=COLUMNS,
        packages=("torch",),
        repeats=1,
    )
