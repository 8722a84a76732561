"""How fast is a lookup in a tensor-train table of 1 million vectors, beside tensorly-torch's at equal rank?

Both have three cores and the same rank. Ours puts the whole width into the last core, which costs some more numbers;
`FactorizedEmbedding` balances the factors of the width. Ours with the same balanced cores is measured, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from embedding_tables import batches_of_ids
from measuring import Arrays, run_benchmark
from torch import nn

from gossamer.models.embeddings.rivals.tensor_train import TensorTrainEmbedding

RANK = 16
BALANCED = (4, 4, 4)  # 64
COLUMNS = {"seconds": "s/forward, uniform ids", "zipf_seconds": "s/forward, Zipf ids", "values": "values"}


def contender(build: Callable[[int, int], nn.Module]) -> Callable[[Arrays], Callable[[], dict[str, float]]]:
    def prepare(arrays: Arrays) -> Callable[[], dict[str, float]]:
        num_embeddings, width = (int(size) for size in arrays["shape"])
        table = build(num_embeddings, width)

        @torch.no_grad()
        def timed(ids: np.ndarray) -> float:
            seconds = []
            for batch in torch.from_numpy(ids):
                began = time.perf_counter()
                table(batch)
                seconds.append(time.perf_counter() - began)
            return float(np.median(seconds[1:]))

        def measure() -> dict[str, float]:
            seconds = {"seconds": timed(arrays["uniform"]), "zipf_seconds": timed(arrays["zipf"])}
            return {**seconds, "values": sum(parameter.numel() for parameter in table.parameters())}

        return measure

    return prepare


def ours_default(num_embeddings: int, width: int) -> nn.Module:
    return TensorTrainEmbedding(num_embeddings, width, rank=RANK)


def ours_balanced(num_embeddings: int, width: int) -> nn.Module:
    return TensorTrainEmbedding(num_embeddings, width, rank=RANK, width_factors=BALANCED)


def tensorly_torch(num_embeddings: int, width: int) -> nn.Module:
    from tltorch import FactorizedEmbedding

    factors = TensorTrainEmbedding(num_embeddings, width, rank=1).vocabulary_factors
    return FactorizedEmbedding(
        int(np.prod(factors)),  # it wants V to be their product exactly
        width,
        auto_tensorize=False,
        tensorized_num_embeddings=factors,
        tensorized_embedding_dim=BALANCED,
        factorization="blocktt",
        rank=RANK,
    )


if __name__ == "__main__":
    run_benchmark(
        "tensor-train",
        f"Lookup of 8192 ids in tensor trains of rank {RANK}, V = 1,000,000, D = 64",
        {"num_embeddings": 1_000_000, "embedding_dim": 64, "batch_size": 8192, "steps": 11},
        {
            "gossamer": contender(ours_default),
            "gossamer, balanced cores": contender(ours_balanced),
            "tensorly-torch": contender(tensorly_torch),
        },
        small={"num_embeddings": 10_000, "batch_size": 1024, "steps": 4},
        make=batches_of_ids,
        load=dict,
        costs=COLUMNS,
        packages=("tensorly-torch",),
    )
