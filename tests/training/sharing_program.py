"""Trains on a directory of Parquet files of which every process holds a share; arguments: directory, output folder."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from gossamer.data.arrays import LabelledArrays
from gossamer.data.batching import ShareBatches
from gossamer.data.counts import Counts
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.readers.interaction_shards import collect_ids, merge_ids, read_interactions_shard
from gossamer.data.share import Share
from gossamer.data.text import build_sentences
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.counts import CDAE, CountRecommender, CountVAE, MultVAE
from gossamer.models.discrete import SparseCountRegressor, SparseDiscreteVAE, SparseLabelClassifier
from gossamer.models.embeddings import AnchorRecommender, AnchorTextClassifier
from gossamer.models.embeddings.ratings import rating_model
from gossamer.models.spikeslab import SentenceProbe, SentenceVAE
from gossamer.training import GradientStep, make_fabric
from gossamer.training.devices import gather_from_all

rating_model.PAIRS_AT_ONCE = 7  # several lookups per validation
EVERYTHING = 1000  # a batch size: one update per epoch, on all rows
SMALL = {"epochs": 2, "batch_size": 4, "learning_rate": 0.02}
RANKERS = {
    "count-recommender": CountRecommender(latent_dim=3, encoder_dims=[8], **SMALL),
    "mult-vae": MultVAE(latent_dim=3, hidden_dims=[8], **SMALL),
    "cdae": CDAE(hidden_dim=8, user_vector="none", **SMALL),
}
DOCUMENTS = {
    "count-vae": CountVAE(latent_dim=2, encoder_dims=[8], **SMALL),
    "sparse-discrete-vae": SparseDiscreteVAE(
        observation="counts", num_features=6, encoder_dims=[8], decoder_dims=[8], max_active=2, gate_dims=[], **SMALL
    ),
}
RATED = {"embedding_dim": 3, "user_anchors": 4, "item_anchors": 3, "epochs": 3, "batch_size": EVERYTHING}
ANCHORS = {
    "anchor-recommender": AnchorRecommender(solver="proximal", **RATED),
    "divided anchors": AnchorRecommender(solver="proximal", table_options={"sharded": True}, **RATED),
}
SMALL_VAE = {"latent_dim": 4, "embedding_dim": 6, "hidden_dim": 8}
TEXTS = {
    "sentence-vae": SentenceVAE(patience=2, **SMALL_VAE, **SMALL),
    "sentence-probe": SentenceProbe(vae=SMALL_VAE | SMALL, hidden_dims=[4], num_samples=1, patience=2, **SMALL),
    "simple classifier": SentenceProbe(vae=SMALL_VAE, end_to_end=True, hidden_dims=[4], **SMALL),
    "text classifier": AnchorTextClassifier(
        embedding_dim=6,
        num_anchors=4,
        ratio=2.0,
        num_filters=4,
        dropout=0.0,
        epochs=3,
        patience=3,
        batch_size=EVERYTHING,
    ),
}
LABELS = {"hidden_dims": [4], "num_folds": 2, "num_repeats": 1, "epochs": 3, "batch_size": 4}
COUNTED = {
    "count regressor": SparseCountRegressor(hidden_dims=[8], epochs=3, batch_size=EVERYTHING),
    "labels": SparseLabelClassifier(max_active=[1, 2], **LABELS),
    "scored labels": SparseLabelClassifier(stop_by="objective", variant="generative", temperature=1.0, **LABELS),
    "image regressor": SparseCountRegressor(encoder="conv", channels=[2], epochs=2, batch_size=4),
}


def squared_error(module: nn.Module, batch: tuple[Tensor, Tensor], _: torch.Generator) -> Tensor:
    inputs, targets = batch
    return (module(inputs).squeeze(-1) - targets).square().mean()


def first_update(rows: HeldOut, directory: Path) -> dict[str, np.ndarray]:
    """Return the gradient of the first batch, and the rows in it that are this process's."""
    fabric = make_fabric()
    inputs = torch.from_numpy(rows.history.matrix().toarray())
    targets = inputs @ torch.arange(inputs.shape[1], dtype=torch.float32)
    module = nn.Linear(inputs.shape[1], 1)
    nn.init.constant_(module.weight, 0.1)
    nn.init.zeros_(module.bias)
    batches = ShareBatches(
        lambda chosen: ((inputs[chosen], targets[chosen]), inputs[chosen]),
        gather_from_all(len(inputs), fabric),
        5,
    )
    step = GradientStep(module, squared_error, torch.optim.SGD(module.parameters(), lr=1.0))
    step.setup(fabric)
    place = {"rank": fabric.global_rank, "world_size": fabric.world_size}
    (batch, taken), weight = next(batches.epoch(0, **place))
    step(batch, weight)
    return {
        "weight": 0.1 - module.weight.detach().numpy(),
        "bias": -module.bias.detach().numpy(),
        "rows": taken.numpy(),
    }


def all_on_first(directory: Path, **ids: Vocabulary) -> HeldOut:
    """Return all ratings on process 0 and none on the others, which must answer all the same."""
    rated = read_interactions_shard(directory, rank=0, world_size=1, **ids)
    mine = rated.keep(np.full(rated.nnz, make_fabric().is_global_zero))
    return HeldOut(rated, mine)


def train_rows(share: Interactions) -> dict[str, dict[str, np.ndarray]]:
    """Train on each user's items as a text, and as a row of numbers."""
    texts = [" ".join(f"w{item}" for item in row.nonzero()[0]) for row in share.matrix().toarray()]
    labels = ["long" if len(text) > 16 else "short" for text in texts]
    sentences = build_sentences(texts, labels=labels, gather=lambda mine: gather_from_all(mine, make_fabric()))
    rows = share.matrix().toarray().astype(np.float32)
    counts = np.stack([rows[:, :6].sum(axis=1), rows[:, 6:].sum(axis=1)], axis=1).astype(np.int64)
    results = {}
    for name, model in TEXTS.items():
        results[name] = model.fit(Share(sentences), Share(sentences[:3])).learned_arrays()
    for name, model in COUNTED.items():
        shaped = np.pad(rows, ((0, 0), (0, 4))).reshape(-1, 4, 4) if name == "image regressor" else rows
        data = LabelledArrays(shaped, counts, target_names=("first", "last"))
        if name.endswith("labels"):
            data = LabelledArrays(rows, (counts > 2).astype(np.int64), target_names=("first", "last"))
        results[name] = model.fit(Share(data), validation=Share(data[:3])).learned_arrays()
    return results


def train_all(directory: Path, folder: Path) -> None:
    fabric = make_fabric()
    mine = {"rank": fabric.global_rank, "world_size": fabric.world_size}
    ids = {role: merge_ids(gather_from_all(collect_ids(directory, role, **mine), fabric)) for role in ("user", "item")}
    share = read_interactions_shard(directory, item_ids=ids["item"], **mine)
    is_known = np.ones(share.nnz, dtype=bool)
    is_known[share.indptr[1:] - 1] = False  # the last item of every user is to be predicted
    held_out = HeldOut(share.keep(is_known), share.keep(~is_known))
    results = {"first": first_update(held_out, directory)}
    results["first"]["nnz"] = np.array([share.nnz, len(share)])
    for name, ranker in RANKERS.items():
        ranker.fit(Share(held_out.history), Share(held_out))
        results[name] = {**ranker.learned_arrays(), "valid": np.array([ranker.history_["epochs"][-1]["ndcg@100"]])}
    counts = Counts(share.matrix(), ids["item"])
    for name, model in DOCUMENTS.items():
        model.fit(Share(counts), validation=Share(counts[:3]))
        results[name] = model.learned_arrays()
    rated = read_interactions_shard(directory, user_ids=ids["user"], item_ids=ids["item"], **mine)
    uneven = all_on_first(directory, user_ids=ids["user"], item_ids=ids["item"])
    for name, model in ANCHORS.items():
        model.fit(Share(rated), Share(uneven if name == "divided anchors" else HeldOut(rated, rated)))
        results[name] = {
            **model.learned_arrays(),
            "mse": np.array([epoch["mse"] for epoch in model.history_["epochs"]]),
        }
    results |= train_rows(share)
    for name, arrays in results.items():
        np.savez(folder / f"{name}.{fabric.global_rank}.npz", **{key.replace("/", "."): arrays[key] for key in arrays})


if __name__ == "__main__":
    train_all(Path(sys.argv[1]), Path(sys.argv[2]))
