"""Does an epoch of CommunityRecommender grow with the edges alone, up to a million users and 20 million edges?

A user runs `CommunityRecommender(epochs=1).fit(data)`; 500,000 items, about 20 per user, ten sampled neighbours, 2,000
candidates, batches of 1,024 users, 32 communities given, which start at groups in the graph's spectrum, as they do by
default. Seconds are those of the whole fit, the spectrum, the item–item edges and the embeddings of all items at the
end included, `epoch_seconds` of the epoch alone; `peak_bytes` is all that the process holds. `neighbours_per_second`
and `weighted_per_second` are draws of one core; `loop_per_second` is a loop over nodes in NumPy, as a sampler without
compiled loops has it, and `pyg_per_second` PyTorch Geometric without its compiled packages: its samplers need them, see
pyg_neighbours.py for what is measured instead. Smaller sizes have fewer users of the same kind.

    python benchmarks/bench_community_scale.py --small    # a hundredth, to try it
    python benchmarks/bench_community_scale.py            # writes results/bench/community-scale.json; half an hour
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from measuring import Arrays, run_benchmark

from gossamer.data import Interactions, Vocabulary
from gossamer.models.community import CommunityRecommender
from gossamer.models.community.graph import Edges
from gossamer.models.community.sampling import sample_neighbours
from gossamer.runner.machine import peak_rss_bytes

SIZES = (62_500, 125_000, 250_000, 1_000_000)
PER_USER, NUM_NEIGHBOURS = 20, 10
SAMPLED, IN_A_LOOP = 500_000, 20_000  # rows that neighbours are drawn of
SETTINGS = {
    "num_communities": 32,
    "community_start": "spectrum",
    "epochs": 1,
    "warmup_epochs": 0,
    "batch_size": 1_024,
    "num_candidates": 2_000,
    "num_neighbours": NUM_NEIGHBOURS,
}
COLUMNS = {
    "seconds": "s/fit",
    "epoch_seconds": "s/epoch",
    "edges": "edges",
    "peak_bytes": "peak memory",
    "neighbours_per_second": "neighbours/s",
    "weighted_per_second": "weighted/s",
    "loop_per_second": "in a loop/s",
    "pyg_per_second": "PyG/s",
}


def made_up(num_users: int, num_items: int, seed: int = 0) -> Interactions:
    """Return users with about equally many items, of which the popular ones are more frequent (density ~ 1/√rank)."""
    generator = np.random.default_rng(seed)
    users = np.repeat(np.arange(num_users), PER_USER)
    items = (num_items * generator.random(len(users)) ** 2).astype(np.int64)
    keys = np.unique(users * num_items + items)
    return Interactions(
        Vocabulary.numbered(num_users),
        Vocabulary.numbered(num_items),
        np.searchsorted(keys, np.arange(num_users + 1) * num_items),
        (keys % num_items).astype(np.int32),
    )


def draws_per_second(edges: Edges, cumulative: np.ndarray | None) -> float:
    """Return how many neighbours one core draws."""
    rows = np.random.default_rng(1).integers(len(edges.indptr) - 1, size=SAMPLED)
    sample_neighbours(edges.indptr, edges.indices, rows[:10], NUM_NEIGHBOURS, seed=0, cumulative=cumulative)
    began = time.perf_counter()
    drawn = sample_neighbours(edges.indptr, edges.indices, rows, NUM_NEIGHBOURS, seed=0, cumulative=cumulative)
    return float((drawn >= 0).sum() / (time.perf_counter() - began))


def loop_per_second(edges: Edges) -> float:
    """Return how many a loop over nodes draws."""
    generator = np.random.default_rng(1)
    rows = generator.integers(len(edges.indptr) - 1, size=IN_A_LOOP)
    began, count = time.perf_counter(), 0
    for row in rows:
        count += len(generator.permutation(edges.indices[edges.indptr[row] : edges.indptr[row + 1]])[:NUM_NEIGHBOURS])
    return count / (time.perf_counter() - began)


def pyg_per_second(num_users: int, num_items: int) -> float:
    """Return how many PyTorch Geometric draws, in a process of its own: its memory is not ours."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_drawn_by_pyg, num_users, num_items).result()


def _drawn_by_pyg(num_users: int, num_items: int) -> float:
    from pyg_neighbours import neighbours_per_second

    return neighbours_per_second(made_up(num_users, num_items), NUM_NEIGHBOURS)


def epoch_of(num_users: int) -> Callable[[Arrays], Callable[[], dict[str, float]]]:
    """Return the measurement of an epoch over so many users."""

    def ready(arrays: Arrays) -> Callable[[], dict[str, float]]:
        data = made_up(num_users // int(arrays["divisor"]), int(arrays["num_items"]))
        edges = Edges(data.indptr, data.indices, np.ones(data.nnz, dtype=np.float32))
        rates = {
            "neighbours_per_second": draws_per_second(edges, None),
            "weighted_per_second": draws_per_second(edges, edges.cumulative),
            "loop_per_second": loop_per_second(edges),
            "pyg_per_second": pyg_per_second(num_users // int(arrays["divisor"]), int(arrays["num_items"])),
        }
        CommunityRecommender(**SETTINGS).fit(data[:50])  # what is compiled or imported late
        model = CommunityRecommender(**SETTINGS)

        def train() -> dict[str, float]:
            history = model.fit(data).history_
            return {"epoch_seconds": history["seconds"], "edges": data.nnz, "peak_bytes": peak_rss_bytes(), **rates}

        return train

    return ready


def shape_of_graph(divisor: int, num_items: int) -> Arrays:
    """Return what every process needs to make its graph."""
    return {"divisor": np.array(divisor), "num_items": np.array(num_items)}


if __name__ == "__main__":
    run_benchmark(
        "community-scale",
        "One epoch of CommunityRecommender, 500,000 items, about 20 edges per user",
        {"divisor": 1, "num_items": 500_000},
        {f"{size:,} users": epoch_of(size) for size in SIZES},
        small={"divisor": 100, "num_items": 25_000},
        make=shape_of_graph,
        load=lambda arrays: arrays,
        costs=COLUMNS,
        packages=("torch", "numba", "torch-geometric"),
        repeats=1,
    )
