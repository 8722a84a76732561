"""No input of the right type makes a metric fail in any way but a ValueError (10,000 examples)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from gossamer.metrics.evaluation import RankingScores, paired_difference
from gossamer.metrics.labels import macro_scores, micro_scores, per_example_scores
from gossamer.metrics.likelihood import perplexity_per_document, perplexity_per_token
from gossamer.metrics.ranking import average_precision, coverage, ndcg, parse_metric, recall
from gossamer.metrics.rating import mae, mse
from gossamer.metrics.size import count_bytes, count_values
from gossamer.metrics.sparsity import average_hoyer, hoyer, l0

pytestmark = pytest.mark.usefixtures("unchecked_shapes")

SIDE = st.integers(0, 5)
ANY_FLOAT = st.floats(width=32) | st.floats() | st.sampled_from([0.0, 1.0, 2.0])
K = st.integers(-1, 6)
METRIC_NAMES = st.from_regex(r"(recall|ndcg|precision|map|mrr|hit_rate|coverage)@[0-9]{1,2}", fullmatch=True)


def matrices(dtype: type, elements: st.SearchStrategy) -> st.SearchStrategy:
    return arrays(dtype, st.tuples(SIDE, SIDE), elements=elements)


@cache
def floats_of_shape(shape: int | tuple[int, int]) -> st.SearchStrategy:
    return arrays(np.float64, shape, elements=ANY_FLOAT)


@cache
def integers_of_shape(shape: int | tuple[int, int], least: int, most: int) -> st.SearchStrategy:
    return arrays(np.int64, shape, elements=st.integers(least, most))


# Built once, not once per example.
RANKED = matrices(np.int64, st.integers(-2, 6))
NUM_ITEMS = st.integers(0, 7)
NAMES = METRIC_NAMES | st.text(max_size=12)
VECTORS = arrays(np.float64, SIDE, elements=ANY_FLOAT)
BOUNDED = arrays(np.float64, 4, elements=st.floats(0, 1) | st.just(np.nan))
CODES = matrices(np.float64, ANY_FLOAT)
PREDICTED = matrices(np.int64, st.integers(-1, 2) | st.integers(0, 1))


def survives(metric: Callable, *args: object, **options: object) -> None:
    """Call the metric; an error must be one of our own sentences, not numpy's."""
    try:
        metric(*args, **options)
    except ValueError as error:
        if " must " not in str(error):
            raise


def check_ranking(draw: Callable) -> None:
    ranked = draw(RANKED)
    if draw(st.booleans()):  # a list without repetitions gets past the checks
        ranked = np.argsort(ranked, axis=1)
    values = draw(floats_of_shape((len(ranked), draw(NUM_ITEMS))))
    relevant, k = csr_array(values), draw(K)
    for denominator in ("min(k, relevant)", "relevant"):
        survives(recall, ranked, relevant, k=k, denominator=denominator)
        survives(average_precision, ranked, relevant, k=k, denominator=denominator)
    for gain in ("binary", "linear"):
        for discount in ("log2", "log2_from_2"):
            for ideal in ("truncated", "k"):
                survives(ndcg, ranked, relevant, k=k, gain=gain, discount=discount, ideal=ideal)
    survives(coverage, ranked, values.shape[1])
    name = draw(NAMES)
    survives(lambda: parse_metric(name)(ranked, relevant))


def check_vectors(draw: Callable) -> None:
    first = draw(VECTORS)
    second = draw(floats_of_shape(len(first)) if draw(st.booleans()) else VECTORS)
    counts = draw(integers_of_shape(len(first), -1, 2**62))
    for metric in (mse, mae, perplexity_per_document, perplexity_per_token):
        survives(metric, first, second)
        survives(metric, first, counts)
    bounded = [draw(BOUNDED) for _ in range(2)]
    scores = RankingScores({"ndcg@5": bounded[0]}, {})
    scores.mean(), scores.standard_error(), scores.interval()
    paired_difference(*bounded)


def check_matrices(draw: Callable) -> None:
    codes = draw(CODES)
    for measure in (l0, hoyer, average_hoyer, count_values, count_bytes):
        survives(measure, codes)
    predicted = draw(PREDICTED)
    truth = draw(integers_of_shape(predicted.shape, 0, 1))
    for scores in (micro_scores, macro_scores, per_example_scores):
        survives(scores, predicted, truth)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=10_000)
@given(st.data(), st.sampled_from([check_ranking, check_vectors, check_matrices]))
def test_ten_thousand_examples_raise_nothing_but_value_errors(data, check):
    check(data.draw)


@settings(max_examples=30)
@given(st.data())
def test_a_few_examples_of_each(data):
    for check in (check_ranking, check_vectors, check_matrices):
        check(data.draw)
