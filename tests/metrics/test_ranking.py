"""Ranking metrics against brute force, scikit-learn and trec_eval (through ir_measures)."""

from __future__ import annotations

import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, Success, nDCG
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score, ndcg_score

from gossamer.metrics.ranking import (
    average_precision,
    coverage,
    hit_rate,
    ndcg,
    parse_metric,
    precision,
    recall,
    reciprocal_rank,
)

PER_USER = [recall, ndcg, precision, average_precision, reciprocal_rank, hit_rate]


def random_lists(seed: int, num_rows: int = 12, num_items: int = 15, length: int = 10) -> tuple[np.ndarray, csr_array]:
    """Random permutations, some padded with -1, and 0 to 8 relevant items per row with values 1 to 4."""
    rng = np.random.default_rng(seed)
    ranked = np.array([rng.permutation(num_items)[:length] for _ in range(num_rows)])
    ranked[rng.random(num_rows) < 0.3, length // 2 :] = -1
    relevant = np.zeros((num_rows, num_items))
    for row in relevant:
        chosen = rng.permutation(num_items)[: rng.integers(0, 9)]
        row[chosen] = rng.integers(1, 5, size=len(chosen))
    return ranked, csr_array(relevant)


def brute_force(name: str, ranked: list[int], values: dict[int, float], k: int) -> float:
    """The metrics' definitions, one item at a time."""
    if not values:
        return math.nan
    hits = [item in values for item in ranked[:k]]
    match name:
        case "recall":
            return sum(hits) / min(k, len(values))
        case "precision":
            return sum(hits) / k
        case "hit_rate":
            return float(any(hits))
        case "reciprocal_rank":
            return next((1 / rank for rank, hit in enumerate(hits, 1) if hit), 0.0)
        case "average_precision":
            total = sum(sum(hits[:rank]) / rank for rank, hit in enumerate(hits, 1) if hit)
            return total / min(k, len(values))
        case "ndcg":
            dcg = sum(1 / math.log2(rank + 1) for rank, hit in enumerate(hits, 1) if hit)
            return dcg / sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(values)) + 1))
    raise AssertionError(name)


@pytest.mark.parametrize("metric", PER_USER)
@pytest.mark.parametrize("k", [1, 3, 10])
def test_metric_equals_brute_force(metric, k):
    for seed in range(5):
        ranked, relevant = random_lists(seed)
        expected = [
            brute_force(metric.__name__, row.tolist(), {int(i): 1.0 for i in np.flatnonzero(values)}, k)
            for row, values in zip(ranked, relevant.toarray(), strict=True)
        ]
        np.testing.assert_allclose(metric(ranked, relevant, k=k), expected, rtol=1e-12)


def test_one_list_in_three_conventions():
    ranked = np.arange(10)[None]
    relevant = csr_array(np.isin(np.arange(20), [1, 4, 15])[None])  # 3 relevant, hits at ranks 2 and 5
    assert ndcg(ranked, relevant, k=10)[0] == pytest.approx(0.478, abs=5e-4)
    assert ndcg(ranked, relevant, k=10, ideal="k")[0] == pytest.approx(0.224, abs=5e-4)
    assert ndcg(ranked, relevant, k=10, discount="log2_from_2")[0] == pytest.approx(0.544, abs=5e-4)


def test_recall_denominators_differ_when_more_items_are_relevant_than_listed():
    relevant = csr_array(np.ones((1, 8)))
    assert recall(np.array([[0, 1]]), relevant, k=2)[0] == 1
    assert recall(np.array([[0, 1]]), relevant, k=2, denominator="relevant")[0] == 0.25
    assert average_precision(np.array([[0, 1]]), relevant, k=2)[0] == 1
    assert average_precision(np.array([[0, 1]]), relevant, k=2, denominator="relevant")[0] == 0.25


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [1, 4, 10])
def test_metrics_equal_trec_eval(seed, k):
    ranked, relevant = random_lists(seed, num_rows=20)
    judged = relevant.toarray()
    qrels = [ir_measures.Qrel(str(row), str(item), int(judged[row, item])) for row, item in np.argwhere(judged > 0)]
    run = [
        ir_measures.ScoredDoc(str(row), str(item), float(-rank))
        for row, items in enumerate(ranked.tolist())
        for rank, item in enumerate(items)
        if item >= 0
    ]
    ours = {
        R @ k: recall(ranked, relevant, k=k, denominator="relevant"),
        P @ k: precision(ranked, relevant, k=k),
        AP @ k: average_precision(ranked, relevant, k=k, denominator="relevant"),
        RR @ k: reciprocal_rank(ranked, relevant, k=k),
        Success @ k: hit_rate(ranked, relevant, k=k),
        nDCG @ k: ndcg(ranked, relevant, k=k, gain="linear"),
    }
    theirs = {(value.measure, int(value.query_id)): value.value for value in ir_measures.iter_calc(ours, qrels, run)}
    assert len(theirs) == len(ours) * int((judged > 0).any(axis=1).sum())
    for (measure, row), value in theirs.items():
        assert ours[measure][row] == pytest.approx(value, rel=1e-9), (measure, row)


@pytest.mark.parametrize("gain", ["binary", "linear"])
@pytest.mark.parametrize("k", [1, 5, 15])
def test_ndcg_equals_scikit_learn(gain, k):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(10, 15))
    truth = rng.integers(0, 4, size=(10, 15)) * (rng.random((10, 15)) < 0.4)
    truth[:, 0] = 1
    ranked = np.argsort(-scores, axis=1)
    gains = truth if gain == "linear" else truth > 0
    expected = [ndcg_score(gains[[row]], scores[[row]], k=k) for row in range(10)]
    np.testing.assert_allclose(ndcg(ranked, csr_array(truth), k=k, gain=gain), expected)


def test_average_precision_equals_scikit_learn():
    rng = np.random.default_rng(4)
    scores, truth = rng.normal(size=(10, 15)), rng.random((10, 15)) < 0.3
    truth[:, 0] = True
    expected = [average_precision_score(row, score) for row, score in zip(truth, scores, strict=True)]
    np.testing.assert_allclose(average_precision(np.argsort(-scores, axis=1), csr_array(truth), k=15), expected)


@st.composite
def ranked_and_relevant(draw):
    num_items = draw(st.integers(1, 12))
    num_rows = draw(st.integers(1, 5))
    lists = draw(st.lists(st.permutations(range(num_items)), min_size=num_rows, max_size=num_rows))
    ranked = np.array(lists, dtype=draw(st.sampled_from([np.int32, np.int64])))
    cut = draw(st.integers(0, num_items))
    ranked[draw(st.integers(0, num_rows - 1)), cut:] = -1
    value = st.sampled_from([0.0, 0.0, 1.0, 2.5, 1e-300, 1e300])
    dense = draw(
        st.lists(st.lists(value, min_size=num_items, max_size=num_items), min_size=num_rows, max_size=num_rows)
    )
    return ranked, csr_array(np.array(dense)), draw(st.integers(1, num_items))


def all_values(ranked, relevant, k):
    """Every metric in every convention."""
    values = [metric(ranked, relevant, k=k) for metric in PER_USER]
    values += [metric(ranked, relevant, k=k, denominator="relevant") for metric in (recall, average_precision)]
    values += [ndcg(ranked, relevant, k=k, gain="linear"), ndcg(ranked, relevant, k=k, ideal="k")]
    values += [ndcg(ranked, relevant, k=k, gain=gain, discount="log2_from_2") for gain in ("binary", "linear")]
    return np.array(values)


@given(ranked_and_relevant())
def test_values_lie_in_the_unit_interval_and_are_nan_without_relevant_items(example):
    ranked, relevant, k = example
    values = all_values(ranked, relevant, k)
    has_relevant = (relevant.toarray() > 0).any(axis=1)
    assert np.isnan(values[:, ~has_relevant]).all()
    assert (values[:, has_relevant] >= 0).all()
    assert (values[:, has_relevant] <= 1 + 1e-12).all()


@given(ranked_and_relevant())
def test_perfect_ranking_gives_one(example):
    _, relevant, k = example
    has_relevant = (relevant.toarray() > 0).any(axis=1)
    best = np.argsort(-relevant.toarray(), axis=1, kind="stable")
    for metric in (recall, ndcg, average_precision, reciprocal_rank, hit_rate):
        np.testing.assert_allclose(metric(best, relevant, k=k)[has_relevant], 1)
    np.testing.assert_allclose(ndcg(best, relevant, k=k, gain="linear")[has_relevant], 1)


@given(ranked_and_relevant())
def test_what_follows_k_changes_nothing(example):
    ranked, relevant, k = example
    np.testing.assert_array_equal(all_values(ranked, relevant, k), all_values(ranked[:, :k], relevant, k))


@given(ranked_and_relevant(), st.randoms(use_true_random=False))
def test_order_of_users_changes_nothing(example, random):
    ranked, relevant, k = example
    order = random.sample(range(len(ranked)), len(ranked))
    np.testing.assert_allclose(
        all_values(ranked, relevant, k)[:, order], all_values(ranked[order], relevant[order], k), rtol=1e-12
    )


def test_padding_is_never_the_last_item_of_the_row_before():
    relevant = csr_array(np.array([[0, 0, 1], [1, 0, 0]]))
    np.testing.assert_array_equal(hit_rate(np.array([[0, 1], [-1, 1]]), relevant, k=2), [0, 0])


def test_no_rows_and_no_relevant_items():
    assert recall(np.zeros((0, 3), dtype=np.int64), csr_array((0, 5)), k=2).shape == (0,)
    assert np.isnan(all_values(np.array([[0, 1]]), csr_array((1, 5)), 2)).all()


def test_coverage_counts_each_item_once():
    assert coverage(np.array([[0, 3], [3, -1]]), num_items=4) == 0.5


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("recall", recall),
        ("ndcg", ndcg),
        ("precision", precision),
        ("map", average_precision),
        ("mrr", reciprocal_rank),
        ("hit_rate", hit_rate),
    ],
)
def test_parsed_metric_has_the_default_convention(name, function):
    ranked, relevant = random_lists(7)
    metric = parse_metric(f"{name}@4")
    assert (metric.name, metric.k, metric.is_per_user) == (f"{name}@4", 4, True)
    np.testing.assert_array_equal(metric(ranked, relevant), function(ranked, relevant, k=4))


def test_parsed_coverage_looks_at_the_first_k():
    metric = parse_metric("coverage@1")
    assert not metric.is_per_user
    assert metric(np.array([[0, 1], [2, 3]]), csr_array((2, 4))) == 0.5


@pytest.mark.parametrize("name", ["ndcg", "ndcg@", "ndcg@0", "ndcg@-1", "ndcg@1.5", "auc@10", "ndcg@٣", "@3", ""])
def test_unknown_metric_lists_the_names(name):
    with pytest.raises(
        ValueError, match=r"metric must be one of recall@k, ndcg@k, .*coverage@k with an integer k >= 1"
    ):
        parse_metric(name)


RANKED, RELEVANT = np.array([[0, 1, 2]]), csr_array(np.array([[1.0, 0.0, 1.0]]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: recall(RANKED, RELEVANT, k=0), "k must be an integer >= 1, got 0"),
        (lambda: recall(RANKED, RELEVANT, k=4), "ranked must have at least k = 4 columns, padded with -1, got 3"),
        (
            lambda: recall(RANKED[0], RELEVANT, k=1),
            r"ranked must be a signed integer array of shape \(B, n\), got ndarray of",
        ),
        (lambda: recall(RANKED * 1.0, RELEVANT, k=1), "ranked must be a signed integer array"),
        (lambda: recall(RANKED.astype(np.uint64), RELEVANT, k=1), "ranked must be a signed integer array"),
        (lambda: recall([[0]], RELEVANT, k=1), "ranked must be a signed integer array .* got list"),
        (lambda: recall(RANKED + 1, RELEVANT, k=1), "item indices from 0 to 2, or -1 as padding, got 3"),
        (lambda: recall(RANKED - 2, RELEVANT, k=1), "item indices from 0 to 2, or -1 as padding, got -2"),
        (lambda: recall(RANKED * 0, RELEVANT, k=1), "once per row, got item 0 twice in row 0"),
        (lambda: recall(RANKED, RELEVANT.toarray(), k=1), "relevant must be a csr_array of numbers"),
        (lambda: recall(RANKED[[0, 0]], RELEVANT, k=1), r"one row per ranked list \(2\), got 1"),
        (lambda: recall(RANKED, RELEVANT * np.nan, k=1), "relevant must be finite, got nan"),
        (lambda: recall(RANKED, RELEVANT, k=1, denominator="all"), "denominator must be one of"),
        (lambda: ndcg(RANKED, RELEVANT, k=1, gain="cubic"), "gain must be one of 'binary', 'linear', got 'cubic'"),
        (lambda: ndcg(RANKED, RELEVANT, k=1, discount="ln"), "discount must be one of"),
        (lambda: ndcg(RANKED, RELEVANT, k=1, ideal="best"), "ideal must be one of"),
        (lambda: ndcg(RANKED, RELEVANT, k=1, gain="linear", ideal="k"), "ideal must be 'truncated' with gain='linear'"),
        (lambda: ndcg(RANKED, -RELEVANT, k=1, gain="linear"), "relevant must be >= 0 with gain='linear', got -1.0"),
        (lambda: coverage(RANKED, 0), "num_items must be an integer >= 1, got 0"),
        (lambda: coverage(RANKED, 2), "item indices from 0 to 1, or -1 as padding, got 2"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_mistakes_are_answered_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
