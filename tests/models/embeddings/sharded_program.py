"""Train tiny models of several families on all processes there are, and keep what each process has learned."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from gossamer.data.batching import Batches
from gossamer.models.community import CommunityRecommender, LightGCN
from gossamer.models.counts import CDAE, CountRecommender, CountVAE, MultVAE
from gossamer.models.discrete import GumbelVAE, SparseCountRegressor, SparseDiscreteVAE, SparseLabelClassifier
from gossamer.models.embeddings import (
    AnchorEmbedding,
    AnchorLanguageModel,
    AnchorRecommender,
    AnchorTextClassifier,
    NonparametricRecommender,
    make_optimiser,
)
from gossamer.models.embeddings.sharded import ShardedAnchorEmbedding
from gossamer.models.lowrank import CompressedClassifier, CompressedLanguageModel
from gossamer.models.markov import NeuralEM
from gossamer.models.spikeslab import SentenceProbe, SentenceVAE
from gossamer.testing.right_answers import (
    burning_candles,
    lit_lamps,
    two_blocks,
    two_patterns,
    two_phases,
    two_themes,
    two_topics,
)
from gossamer.training import GradientStep, fit, make_fabric

RATINGS = {"embedding_dim": 3, "user_anchors": 4, "item_anchors": 3, "epochs": 2, "solver": "proximal"}
WORDS = {"embedding_dim": 6, "epochs": 1, "num_anchors": 4}
SMALL = {"epochs": 2, "learning_rate": 0.02}
SENTENCES = {"latent_dim": 4, "embedding_dim": 6, "hidden_dim": 8, "max_length": 8}
LABELS = {"hidden_dims": [8], "num_folds": 2, "num_repeats": 1, "epochs": 5, "max_active": 2}

# Name, estimator for a batch size, data, and whether the model is that of one process with the doubled batch: where
# noise is drawn, each process draws its own, and only the agreement of processes can be tested.
CASES = [
    ("anchors", lambda b: AnchorRecommender(batch_size=b, **RATINGS), two_blocks, True),
    (
        "divided anchors",
        lambda b: AnchorRecommender(batch_size=b, table_options={"sharded": True}, **RATINGS),
        two_blocks,
        True,
    ),
    (
        "text",
        lambda b: AnchorTextClassifier(batch_size=b, num_filters=4, dropout=0.0, ratio=2.0, **WORDS),
        two_topics,
        True,
    ),
    (
        "language",  # the batch size of a text read in lanes is that of all processes
        lambda _: AnchorLanguageModel(
            hidden_dim=6, num_layers=1, batch_size=4, dropout=0.0, num_samples=None, ratio=None, **WORDS
        ),
        two_topics,
        True,
    ),
    (
        "compressed language",
        lambda _: CompressedLanguageModel(
            embedding_dim=6,
            hidden_dim=6,
            num_layers=1,
            batch_size=4,
            dropout=0.0,
            num_samples=None,
            params=0.7,
            allocator="uniform",
            polish=0,
            calibration_batches=2,
            epochs=1,
            fine_tune_epochs=1,
        ),
        two_topics,
        True,
    ),
    ("counts", lambda b: CountVAE(latent_dim=2, encoder_dims=[8], batch_size=b, **SMALL), two_themes, False),
    (
        "count recommender",
        lambda b: CountRecommender(latent_dim=3, encoder_dims=[8], batch_size=b, **SMALL),
        two_blocks,
        False,
    ),
    ("mult-vae", lambda b: MultVAE(latent_dim=3, hidden_dims=[8], batch_size=b, **SMALL), two_blocks, False),
    ("cdae", lambda b: CDAE(hidden_dim=8, batch_size=b, **SMALL), two_blocks, False),
    (
        "discrete",
        lambda b: SparseDiscreteVAE(
            num_features=6, encoder_dims=[8], decoder_dims=[8], max_active=2, gate_dims=[], batch_size=b, **SMALL
        ),
        two_patterns,
        False,
    ),
    ("labels", lambda b: SparseLabelClassifier(temperature=1.0, batch_size=b, **LABELS), lit_lamps, False),
    (
        "counted targets",
        lambda b: SparseCountRegressor(hidden_dims=[8], channels=[2], batch_size=b, **SMALL),
        burning_candles,
        False,
    ),
    (
        "sentences",
        lambda b: SentenceVAE(batch_size=b, **SENTENCES, **SMALL),
        two_topics,
        False,
    ),
    ("graph", lambda b: LightGCN(embedding_dim=4, batch_size=b, **SMALL), two_blocks, False),
    (
        "communities",
        lambda b: CommunityRecommender(
            embedding_dim=4, num_communities=2, num_candidates=6, warmup_epochs=0, batch_size=b, **SMALL
        ),
        two_blocks,
        False,
    ),
    (
        "compressed",
        lambda b: CompressedClassifier(
            hidden_dims=[16, 8],
            params=0.6,
            iterations=2,
            polish=0,
            calibration_batches=1,
            fine_tune_epochs=1,
            epochs=2,
            batch_size=b,
        ),
        two_patterns,
        False,  # batch norm sees the batch of its own process
    ),
    (
        "gumbel",
        lambda b: GumbelVAE(num_features=6, num_options=2, encoder_dims=[8], decoder_dims=[8], batch_size=b, **SMALL),
        two_patterns,
        False,
    ),
    (
        "probe",
        lambda b: SentenceProbe(vae=SENTENCES | SMALL, hidden_dims=[4], num_samples=1, batch_size=b, **SMALL),
        two_topics,
        False,
    ),
    (
        "nonparametric anchors",
        lambda b: NonparametricRecommender(  # which ends with four anchors
            solver="proximal",
            embedding_dim=3,
            initial_anchors=2,
            max_anchors=5,
            change=1,
            window=2,
            epochs=4,
            batch_size=b,
        ),
        two_blocks,
        True,
    ),
    (
        "phases",
        lambda b: NeuralEM(
            num_states=2,
            num_layers=1,
            hidden_dim=4,
            latent_dim=2,
            max_duration=8,
            num_starts=1,
            start_epochs=1,
            batch_size=b,
            **SMALL,
        ),
        two_phases,
        False,
    ),
]


class SumOfVectors(nn.Module):
    """Predicts a number by a linear map of the sum of three vectors."""

    def __init__(self, table: AnchorEmbedding) -> None:
        super().__init__()
        self.table = table
        self.out = nn.Linear(4, 1)
        nn.init.constant_(self.out.weight, 0.3)
        nn.init.zeros_(self.out.bias)

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        return (self.out(self.table(ids)).squeeze(-1).sum(dim=1) - targets).square().mean()


def train_table(batch_size: int, checkpoint: Path) -> tuple[dict[str, np.ndarray], tuple[int, ...]]:
    """Train a table with thresholds, padding and repeated ids, and return what it holds undivided."""
    fabric = make_fabric("cpu")
    kind = ShardedAnchorEmbedding if fabric.world_size > 1 else AnchorEmbedding
    table = kind(23, 4, 6, num_slots=3, padding_idx=5, random_state=3)
    rng = np.random.default_rng(0)
    ids = torch.from_numpy(rng.integers(0, 23, (31, 3)))
    targets = torch.from_numpy(rng.standard_normal(31)).float()
    module = SumOfVectors(table)
    optimiser = make_optimiser(module, learning_rate=0.05, l1=0.02, regrow_every=None)
    batches = Batches(lambda rows: (ids[torch.from_numpy(rows)], targets[torch.from_numpy(rows)]), 31, batch_size)
    step = GradientStep(module, lambda loss, batch, generator: loss(*batch), optimiser)
    history = fit(step, batches, epochs=3, fabric=fabric, checkpoint=checkpoint)
    history = fit(step, batches, epochs=6, fabric=fabric, checkpoint=checkpoint)  # goes on from what was written
    shape, nnz = tuple(table.values.shape), table.nnz()
    assert optimiser.state[table.values]["mean"].shape == shape
    table.finish()
    whole = table.whole() if isinstance(table, ShardedAnchorEmbedding) else table
    assert whole.nnz() == nnz
    losses = np.array([epoch["loss"] for epoch in history.epochs])
    return {"weight": whole.weight.numpy(), "transform": whole.transform().toarray(), "losses": losses}, shape


def train_all(batch_size: int, folder: Path) -> None:
    rank = make_fabric("cpu").global_rank
    learned, shape = train_table(batch_size, folder / "checkpoint")
    np.savez(folder / f"table.{rank}.npz", shape=np.array(shape), **learned)
    for name, make, data, _ in CASES:
        parts = data()
        estimator = make(batch_size).fit(parts.history if hasattr(parts, "history") else parts.train)
        arrays = {key.replace("/", "."): np.asarray(value) for key, value in estimator.learned_arrays().items()}
        np.savez(folder / f"{name}.{rank}.npz", **arrays)


if __name__ == "__main__":
    train_all(int(sys.argv[2]), Path(sys.argv[1]))
