"""Trains on series and texts of which every process holds a share; arguments: folder with both, output folder."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from gossamer.data.readers.row_shards import read_sentences_shard, read_sequences_shard
from gossamer.data.sentences import Sentences
from gossamer.data.sequences import Sequences
from gossamer.data.share import Share
from gossamer.models.embeddings import AnchorLanguageModel
from gossamer.models.markov import HMM, HSMM, NeuralEM
from gossamer.training.devices import gather_from_all, make_fabric

EVERYTHING = 1000  # a batch size: one update per epoch, on all series
NUM_SERIES, NUM_STEPS = 12, 6
NUM_TEXTS = 8
SMALL_NETWORK = {"num_states": 2, "hidden_dim": 4, "latent_dim": 2, "num_layers": 1, "num_starts": 1, "epochs": 2}
SERIES = {
    "neural-em": NeuralEM(dropout=0.0, hidden_share=0.0, batch_size=EVERYTHING, **SMALL_NETWORK),
    "neural-em in batches": NeuralEM(batch_size=4, **SMALL_NETWORK),
    "hsmm": HSMM(num_states=2, epochs=4, start_epochs=2, num_starts=2),
    "hmm": HMM(num_states=2, emission="categorical", epochs=4, start_epochs=2, num_starts=2, patience=2),
}
SMALL_TABLE = {"anchor_init": "frequency", "embedding_dim": 6, "num_anchors": 3, "ratio": 1.5}
SMALL_LSTM = {"hidden_dim": 8, "num_layers": 1, "epochs": 2, "patience": 2}
RUNNING_TEXTS = {
    "language model": AnchorLanguageModel(
        dropout=0.0, num_samples=None, num_steps=8, batch_size=2, **SMALL_TABLE, **SMALL_LSTM
    ),
    "language model in uneven lanes": AnchorLanguageModel(
        num_samples=5, num_steps=4, batch_size=5, **SMALL_TABLE, **SMALL_LSTM
    ),
}


def write_streams(folder: Path) -> None:
    """Write series of two phases, and texts of equal length that all end in the same word."""
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    owners = np.repeat(np.arange(NUM_SERIES), NUM_STEPS)
    states = np.tile(np.arange(NUM_STEPS) // 3 % 2, NUM_SERIES)
    features = rng.normal(size=NUM_SERIES)
    series = {
        "series": [f"series {7 * owner}" for owner in owners],  # whose hashes divide them unevenly
        "value": 9.0 * states + features[owners] + rng.normal(size=len(owners)),
        "kind": [f"kind {3 * state + rng.integers(3)}" for state in states],
        "state": states,
        "feature_shift": features[owners],
    }
    words = [f"w{number}" for number in range(9)]
    texts = [" ".join([*rng.choice(words, 5), "stop"]) for _ in range(NUM_TEXTS)]
    for name, columns, group in (("series", series, 18), ("texts", {"text": texts}, NUM_TEXTS // 2)):
        (folder / name).mkdir(exist_ok=True)
        parquet.write_table(pyarrow.table(columns), folder / name / "0.parquet", row_group_size=group)


def train_streams(folder: Path, into: Path) -> None:
    """Store what each model learns from this process's share of the series and of the texts."""
    fabric = make_fabric()
    mine = {
        "rank": fabric.global_rank,
        "world_size": fabric.world_size,
        "gather": lambda own: gather_from_all(own, fabric),
    }
    valued: Sequences = read_sequences_shard(folder / "series", values="value", **mine)
    named: Sequences = read_sequences_shard(folder / "series", columns={"category": "kind"}, **mine)
    texts: Sentences = read_sentences_shard(folder / "texts", **mine)
    results = {"sizes": {"held": np.array([len(valued), len(named), len(texts.tokens)])}}
    for name, model in SERIES.items():
        data = named if name == "hmm" else valued
        model.fit(Share(data), Share(data[:2]) if name != "hsmm" else None)
        results[name] = {**model.learned_arrays(), "loss": losses_of(model)}
    for name, model in RUNNING_TEXTS.items():
        held = texts[:-1] if name.endswith("uneven lanes") and fabric.global_rank == 0 else texts
        model.fit(Share(held), Share(texts[:2]))
        results[name] = {**model.learned_arrays(), "loss": losses_of(model)}
    for name, arrays in results.items():
        np.savez(into / f"{name}.{fabric.global_rank}.npz", **arrays)


def losses_of(model: NeuralEM | HSMM | HMM | AnchorLanguageModel) -> np.ndarray:
    return np.array([epoch["loss"] for epoch in model.history_["epochs"]])


if __name__ == "__main__":
    train_streams(Path(sys.argv[1]), Path(sys.argv[2]))
