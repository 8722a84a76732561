"""What do the 10 nearest of a million sparse codes cost, in time and bytes, against 64 floats in faiss?

Planted classes: a code has most of its class's features and some others, at most 20 of 200; the float vector of the
same object is its class's mean with noise, so much that both recall the class about equally (`recall` is the share of
the 10 neighbours that are of the query's class). All answers are exact for what is stored. One thread each.

`faiss Flat L2, BLAS` answers batches by matrix products, which faiss's defaults do not do for few queries. `faiss
binary` compares the same codes, bit-packed, by Hamming distance row by row; so does gossamer (Hamming). `scipy` counts
shared features by a sparse product.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from measuring import Arrays, run_benchmark
from scipy import sparse

TOP, ALONE, BATCH = 10, 64, 256
MILLION = {"num_codes": 1_000_000, "num_features": 200, "max_active": 20, "num_classes": 1000}
COSTS = {
    "alone_seconds": "s/query, alone",
    "batch_seconds": f"s/query, {BATCH} at once",
    "index_bytes": "bytes stored",
}
Searching = Callable[[], dict[str, float]]


def planted_codes(num_codes: int, num_features: int, max_active: int, num_classes: int, seed: int = 0) -> Arrays:
    """Return codes, float vectors and classes; the last `BATCH` rows are the queries."""
    rng = np.random.default_rng(seed)
    num_rows = num_codes + BATCH
    classes = rng.integers(0, num_classes, num_rows)
    own, others = max_active * 3 // 4, max_active - max_active * 3 // 4
    prototypes = np.array([rng.permutation(num_features)[:own] for _ in range(num_classes)])
    is_on = np.zeros((num_rows, num_features), bool)
    kept = rng.random((num_rows, own), dtype=np.float32) < 0.55
    np.put_along_axis(is_on, prototypes[classes], kept, axis=1)
    drawn = rng.integers(0, num_features, (num_rows, others))
    is_on[np.arange(num_rows)[:, None], drawn] = True
    means = rng.standard_normal((num_classes, 64), dtype=np.float32)
    vectors = means[classes] + NOISE * rng.standard_normal((num_rows, 64), dtype=np.float32)
    return {"codes": np.packbits(is_on, axis=1, bitorder="little"), "vectors": vectors, "classes": classes}


NOISE = np.float32(1.15)


def matrix_of(data: Arrays) -> sparse.csr_array:
    return sparse.csr_array(np.unpackbits(data["codes"], axis=1, bitorder="little"))


def searching(data: Arrays, num_bytes: int, alone: list, together: object, search: Callable) -> Searching:
    """Time `search` on single queries, then on all at once; it returns row numbers (B, TOP)."""
    classes = data["classes"]
    search(alone[0]), search(together)

    def timed() -> dict[str, float]:
        began = time.perf_counter()
        for query in alone:
            search(query)
        between = time.perf_counter()
        rows = search(together)
        ended = time.perf_counter()
        return {
            "alone_seconds": (between - began) / len(alone),
            "batch_seconds": (ended - between) / len(rows),
            "index_bytes": num_bytes,
            "recall": float(np.mean(classes[rows] == classes[-BATCH:, None])),
        }

    return timed


def _gossamer(data: Arrays, similarity: str) -> Searching:
    import numba

    from gossamer.models.discrete.codes import SparseCodes

    numba.set_num_threads(1)
    codes = matrix_of(data)
    stored, queries = SparseCodes(similarity=similarity).fit(codes[:-BATCH]), codes[-BATCH:]
    alone = [queries[[row]] for row in range(ALONE)]
    return searching(data, stored.nbytes, alone, queries, lambda query: stored.search(query, TOP).rows)


def gossamer(data: Arrays) -> Searching:
    return _gossamer(data, "jaccard")


def gossamer_hamming(data: Arrays) -> Searching:
    return _gossamer(data, "hamming")


def _faiss(data: Arrays, metric: str, values: str = "vectors", *, by_products: bool = False) -> Searching:
    import faiss

    faiss.omp_set_num_threads(1)
    if by_products:
        faiss.cvar.distance_compute_blas_threshold = 20
    stored, queries = data[values][:-BATCH], data[values][-BATCH:]
    width = queries.shape[1]
    index = getattr(faiss, metric)(8 * width if values == "codes" else width)
    index.add(stored)
    alone = [queries[[row]] for row in range(ALONE)]
    return searching(data, stored.nbytes, alone, queries, lambda query: index.search(query, TOP)[1])


def faiss_l2(data: Arrays) -> Searching:
    return _faiss(data, "IndexFlatL2")


def faiss_products(data: Arrays) -> Searching:
    return _faiss(data, "IndexFlatL2", by_products=True)


def faiss_ip(data: Arrays) -> Searching:
    return _faiss(data, "IndexFlatIP", by_products=True)


def faiss_binary(data: Arrays) -> Searching:
    return _faiss(data, "IndexBinaryFlat", "codes")


def scipy_product(data: Arrays) -> Searching:
    from gossamer.core.topk import top_n

    codes = matrix_of(data).astype(np.float32)
    stored, queries = sparse.csr_array(codes[:-BATCH].T), codes[-BATCH:]  # features × codes: inverted lists

    def search(query: sparse.csr_array) -> np.ndarray:
        blocks = range(0, query.shape[0], 16)  # of dense scores
        return np.concatenate([top_n((query[start : start + 16] @ stored).toarray(), TOP)[0] for start in blocks])

    num_bytes = stored.data.nbytes + stored.indices.nbytes + stored.indptr.nbytes
    return searching(data, num_bytes, [queries[[row]] for row in range(ALONE)], queries, search)


if __name__ == "__main__":
    run_benchmark(
        "code-search",
        "The 10 nearest of 1,000,000 codes (at most 20 of 200 features), exactly, against 64 floats",
        MILLION,
        {
            "gossamer": gossamer,
            "faiss Flat L2": faiss_l2,
            "faiss Flat L2, BLAS": faiss_products,
            "faiss Flat IP, BLAS": faiss_ip,
            "faiss binary": faiss_binary,
            "gossamer (Hamming)": gossamer_hamming,
            "scipy": scipy_product,
        },
        small={"num_codes": 20_000, "num_classes": 100},
        make=planted_codes,
        load=lambda arrays: arrays,
        costs=COSTS,
        packages=("faiss-cpu", "scipy"),
    )
