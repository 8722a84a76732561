"""How much faster do two processes train a sentence VAE than one, at the same global batch (strong scaling)?

Each contender starts torchrun with as many processes, one thread each. What an update computes is large and what it
sends, the gradients, is small: where processes are meant to save time. Seconds are those of the loop, after an update
that warms up; the start of Python and torch is in `seconds` but not in `train_seconds`.
"""

from __future__ import annotations

import json

import numpy as np
from measuring import Arrays, run_benchmark
from torchrun import started, worker_sizes

WHOLE_BATCH = 256


def sizes(num_sentences: int, sentence_length: int, num_words: int, hidden_dim: int) -> Arrays:
    """Return the sizes alone: every process draws the same data by seed."""
    return {"sizes": np.array([num_sentences, sentence_length, num_words, hidden_dim])}


def work(num_sentences: int, sentence_length: int, num_words: int, hidden_dim: int) -> None:
    """Train an epoch, after a short one, and print, on process 0, how long it took."""
    import torch

    from gossamer.data import Sentences, Vocabulary
    from gossamer.models.spikeslab import SentenceVAE
    from gossamer.training import make_fabric

    torch.set_num_threads(1)
    fabric = make_fabric("cpu")
    tokens = np.random.default_rng(0).integers(0, num_words, num_sentences * sentence_length)
    offsets = np.arange(num_sentences + 1) * sentence_length
    data = Sentences(tokens, offsets, Vocabulary([f"w{number}" for number in range(num_words)]))
    model = SentenceVAE(
        embedding_dim=hidden_dim // 2,
        hidden_dim=hidden_dim,
        max_length=sentence_length,
        batch_size=WHOLE_BATCH // fabric.world_size,
        epochs=1,
    )
    model.fit(data[:WHOLE_BATCH])  # warms up
    model.fit(data)
    if fabric.is_global_zero:
        gradient_bytes = sum(4 * weight.numel() for weight in model.network_.parameters())
        print(json.dumps({"train_seconds": model.history_["seconds"], "gradient_bytes": gradient_bytes}))


if __name__ == "__main__":
    given = worker_sizes()
    if given is not None:
        work(*given)
    else:
        run_benchmark(
            "data-parallel",
            "how much faster do two processes train a sentence VAE than one?",
            {"num_sentences": 1024, "sentence_length": 20, "num_words": 2000, "hidden_dim": 256},
            {"two processes": started(__file__, 2), "one process": started(__file__, 1)},
            small={"num_sentences": 256, "sentence_length": 6, "num_words": 200, "hidden_dim": 32},
            make=sizes,
            load=lambda arrays: arrays,
            costs={"train_seconds": "seconds of training"},
            packages=("torch",),
        )
