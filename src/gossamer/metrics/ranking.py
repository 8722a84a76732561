"""Ranking metrics: one value per ranked list, with the convention in the signature.

Libraries give one list different values under the same name. The defaults here are those of the paper on
non-linear factor analysis of counts (Krishnan, Liang and Hoffman, 2018): binary gain, discount log2(rank + 1),
ideal and recall over min(k, relevant). For 3 relevant items with hits at ranks 2 and 5 and k = 10, `ndcg` gives
0.478; `ideal="k"` gives 0.224 (RecTools' default) and `discount="log2_from_2"` 0.544 (LensKit's default).

All functions take `ranked` (B, n), item indices, best first, padded with -1, and `relevant` (B, M), whose
nonzero values mark relevant items. A row without relevant items has no defined value and gets NaN.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from gossamer.core.checks import check_choice, check_int
from gossamer.metrics.hits import Hits, check_ranked, find_hits

Denominator = Literal["min(k, relevant)", "relevant"]
Gain = Literal["binary", "linear"]
Discount = Literal["log2", "log2_from_2"]
Ideal = Literal["truncated", "k"]


def recall(
    ranked: Int[np.ndarray, "B n"],
    relevant: csr_array,
    *,
    k: int,
    denominator: Denominator = "min(k, relevant)",
) -> Float[np.ndarray, " B"]:
    """Return hits among the first k over `denominator`; NaN for rows without relevant items.

    "min(k, relevant)" lets the best list reach 1 for every k; "relevant" is information retrieval's recall.

    >>> relevant = csr_array(np.array([[1, 1, 1, 0]]))
    >>> recall(np.array([[0, 3]]), relevant, k=2)
    array([0.5])
    """
    return _recall(find_hits(ranked, relevant), k, denominator)


def ndcg(
    ranked: Int[np.ndarray, "B n"],
    relevant: csr_array,
    *,
    k: int,
    gain: Gain = "binary",
    discount: Discount = "log2",
    ideal: Ideal = "truncated",
) -> Float[np.ndarray, " B"]:
    """Return Σ_{v≤k} gain(v) / discount(v) over the same sum of an ideal list; NaN for rows without relevant items.

    - `gain`: "binary" counts each relevant item as 1, "linear" as its value in `relevant` (store 2^r − 1 there for
      the exponential gain).
    - `discount`: "log2" is log2(v + 1); "log2_from_2" is max(1, log2 v), the original of Järvelin and Kekäläinen.
    - `ideal`: "truncated" ranks the row's own relevant items first, up to k; "k" pretends k of them exist, so
      that a row with fewer cannot reach 1.

    >>> relevant = csr_array(np.array([[0, 1, 0, 0, 1, 1]]))
    >>> ndcg(np.array([[0, 1, 2, 3, 4]]), relevant, k=5).round(3)
    array([0.478])
    """
    return _ndcg(find_hits(ranked, relevant), k, gain, discount, ideal)


def precision(ranked: Int[np.ndarray, "B n"], relevant: csr_array, *, k: int) -> Float[np.ndarray, " B"]:
    """Return hits among the first k over k, also for lists shorter than k; NaN for rows without relevant items."""
    return _precision(find_hits(ranked, relevant), k)


def average_precision(
    ranked: Int[np.ndarray, "B n"],
    relevant: csr_array,
    *,
    k: int,
    denominator: Denominator = "min(k, relevant)",
) -> Float[np.ndarray, " B"]:
    """Return Σ over hits at v ≤ k of precision@v, over `denominator`; NaN for rows without relevant items.

    Its mean is MAP@k. "relevant" is the convention of trec_eval.
    """
    return _average_precision(find_hits(ranked, relevant), k, denominator)


def reciprocal_rank(ranked: Int[np.ndarray, "B n"], relevant: csr_array, *, k: int) -> Float[np.ndarray, " B"]:
    """Return 1 / rank of the first hit, 0 if it is not among the first k; NaN for rows without relevant items.

    Its mean is MRR@k.
    """
    return _reciprocal_rank(find_hits(ranked, relevant), k)


def hit_rate(ranked: Int[np.ndarray, "B n"], relevant: csr_array, *, k: int) -> Float[np.ndarray, " B"]:
    """Return 1 where the first k contain a hit, else 0; NaN for rows without relevant items."""
    return _hit_rate(find_hits(ranked, relevant), k)


def coverage(ranked: Int[np.ndarray, "B n"], num_items: int) -> float:
    """Return the share of all items that occur in at least one list.

    >>> coverage(np.array([[0, 1], [1, -1]]), num_items=4)
    0.5
    """
    check_int("num_items", num_items, at_least=1)
    check_ranked(ranked, num_items=num_items)
    return np.unique(ranked[ranked >= 0]).size / num_items


@dataclass(frozen=True)
class RankingMetric:
    """A ranking metric by its name, such as "ndcg@100", with the default conventions of this module."""

    name: str
    k: int

    @property
    def is_per_user(self) -> bool:
        """Whether each list has a value; coverage is one number for all lists together."""
        return not self.name.startswith("coverage@")

    def __call__(self, ranked: Int[np.ndarray, "B n"], relevant: csr_array) -> Float[np.ndarray, " B"] | float:
        """Return the metric's value for each ranked list, or one number for coverage."""
        if self.is_per_user:
            return self.of_hits(find_hits(ranked, relevant))
        return coverage(_first_columns(ranked, self.k), relevant.shape[1])

    def of_hits(self, hits: Hits) -> Float[np.ndarray, " B"]:
        """Return the value for each list from a lookup that several metrics share."""
        return _PER_USER[self.name.split("@")[0]](hits, self.k)


def parse_metric(name: str) -> RankingMetric:
    """Return the metric called recall@k, ndcg@k, precision@k, map@k, mrr@k, hit_rate@k or coverage@k.

    >>> parse_metric("ndcg@100").k
    100
    """
    match = re.fullmatch(r"(\w+)@([1-9][0-9]{0,8})", name, flags=re.ASCII) if isinstance(name, str) else None
    if match is None or match[1] not in (*_PER_USER, "coverage"):
        known = ", ".join(f"{known}@k" for known in (*_PER_USER, "coverage"))
        raise ValueError(f"metric must be one of {known} with an integer k >= 1, got {name!r}")
    return RankingMetric(name, int(match[2]))


def _recall(hits: Hits, k: int, denominator: Denominator = "min(k, relevant)") -> Float[np.ndarray, " B"]:
    return _divided(_first_hits(hits, k).sum(axis=1), _denominator(hits, k, denominator))


def _ndcg(
    hits: Hits, k: int, gain: Gain = "binary", discount: Discount = "log2", ideal: Ideal = "truncated"
) -> Float[np.ndarray, " B"]:
    check_choice("gain", gain, ["binary", "linear"])
    check_choice("discount", discount, ["log2", "log2_from_2"])
    check_choice("ideal", ideal, ["truncated", "k"])
    is_hit = _first_hits(hits, k)
    rank = np.arange(1, k + 1)
    weights = 1 / (np.log2(rank + 1) if discount == "log2" else np.maximum(1.0, np.log2(rank)))
    if gain == "linear":
        if ideal == "k":
            raise ValueError("ideal must be 'truncated' with gain='linear', got 'k'")
        return _linear_ndcg(hits, weights)
    best = np.concatenate([[0.0], np.cumsum(weights)])
    num_ideal = np.minimum(hits.num_relevant, k) if ideal == "truncated" else np.where(hits.num_relevant > 0, k, 0)
    return _divided(is_hit @ weights, best[num_ideal])


def _linear_ndcg(hits: Hits, weights: Float[np.ndarray, " k"]) -> Float[np.ndarray, " B"]:
    relevant, k = hits.relevant, len(weights)
    if relevant.nnz and relevant.data.min() < 0:
        raise ValueError(f"relevant must be >= 0 with gain='linear', got {relevant.data.min()}")
    # NDCG does not change with the scale of a row, and scaled rows cannot overflow.
    row = np.repeat(np.arange(len(hits.gains)), hits.num_relevant)
    largest = np.zeros(len(hits.gains))
    np.maximum.at(largest, row, relevant.data)
    gains = _divided(hits.gains[:, :k], largest[:, None])
    values = relevant.data / largest[row]
    values = values[np.lexsort((-values, row))]
    rank = np.arange(relevant.nnz) - relevant.indptr[row]
    kept = rank < k
    best = np.bincount(row[kept], weights=values[kept] * weights[rank[kept]], minlength=len(gains))
    return _divided(gains @ weights, best)


def _precision(hits: Hits, k: int) -> Float[np.ndarray, " B"]:
    return _divided(_first_hits(hits, k).sum(axis=1), np.where(hits.num_relevant > 0, k, 0))


def _average_precision(hits: Hits, k: int, denominator: Denominator = "min(k, relevant)") -> Float[np.ndarray, " B"]:
    is_hit = _first_hits(hits, k)
    precision_at_hits = is_hit * is_hit.cumsum(axis=1) / np.arange(1, k + 1)
    return _divided(precision_at_hits.sum(axis=1), _denominator(hits, k, denominator))


def _reciprocal_rank(hits: Hits, k: int) -> Float[np.ndarray, " B"]:
    is_hit = _first_hits(hits, k)
    return _divided(is_hit.any(axis=1) / (1 + is_hit.argmax(axis=1)), hits.num_relevant > 0)


def _hit_rate(hits: Hits, k: int) -> Float[np.ndarray, " B"]:
    return _divided(_first_hits(hits, k).max(axis=1), hits.num_relevant > 0)


_PER_USER: dict[str, Callable[[Hits, int], Float[np.ndarray, " B"]]] = {
    "recall": _recall,
    "ndcg": _ndcg,
    "precision": _precision,
    "map": _average_precision,
    "mrr": _reciprocal_rank,
    "hit_rate": _hit_rate,
}


def _first_columns(ranked: np.ndarray, k: int) -> np.ndarray:
    check_int("k", k, at_least=1)
    if ranked.shape[1] < k:
        raise ValueError(f"ranked must have at least k = {k} columns, padded with -1, got {ranked.shape[1]}")
    return ranked[:, :k]


def _first_hits(hits: Hits, k: int) -> Bool[np.ndarray, "B k"]:
    return _first_columns(hits.gains, k).astype(bool)


def _denominator(hits: Hits, k: int, denominator: Denominator) -> Int[np.ndarray, " B"]:
    check_choice("denominator", denominator, ["min(k, relevant)", "relevant"])
    return np.minimum(hits.num_relevant, k) if denominator == "min(k, relevant)" else hits.num_relevant


def _divided(value: np.ndarray, by: np.ndarray) -> np.ndarray:
    quotient = np.full(value.shape, np.nan)
    np.divide(value, by, out=quotient, where=by > 0)
    return quotient
