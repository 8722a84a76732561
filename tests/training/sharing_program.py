"""Trains on a directory of Parquet files of which every process holds a share; arguments: directory, output folder."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from gossamer.data.batching import ShareBatches
from gossamer.data.counts import Counts
from gossamer.data.interactions import HeldOut
from gossamer.data.readers.interaction_shards import collect_ids, merge_ids, read_interactions_shard
from gossamer.data.share import Share
from gossamer.models.counts import CDAE, CountRecommender, CountVAE, MultVAE
from gossamer.models.discrete import SparseDiscreteVAE
from gossamer.models.embeddings import AnchorRecommender
from gossamer.training import GradientStep, make_fabric
from gossamer.training.devices import gather_from_all

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
ANCHORS = AnchorRecommender(
    embedding_dim=3, user_anchors=4, item_anchors=3, epochs=3, solver="proximal", batch_size=EVERYTHING
)


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
    ANCHORS.fit(Share(rated), Share(HeldOut(rated, rated)))
    results["anchor-recommender"] = {
        **ANCHORS.learned_arrays(),
        "mse": np.array([epoch["mse"] for epoch in ANCHORS.history_["epochs"]]),
    }
    for name, arrays in results.items():
        np.savez(folder / f"{name}.{fabric.global_rank}.npz", **{key.replace("/", "."): arrays[key] for key in arrays})


if __name__ == "__main__":
    train_all(Path(sys.argv[1]), Path(sys.argv[2]))
