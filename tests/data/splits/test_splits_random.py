from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from split_samples import (
    FRACTIONS,
    SAMPLES,
    SEEDS,
    Sample,
    attempt,
    build,
    check_interaction_split,
    parts_of,
)

from gossamer.data import Counts, LabelledArrays, Sentences, Sequences, Vocabulary
from gossamer.data.splits import (
    split_random,
    split_rows,
)
from gossamer.data.splits.parts import cut_points


@given(SAMPLES, FRACTIONS, SEEDS)
def test_random_parts_are_the_whole(sample: Sample, fractions: tuple[float, ...], seed: int) -> None:
    data = build(sample)
    split = attempt(split_random, data, fractions, random_state=seed)
    check_interaction_split(data, split)
    assert all(part.history is split.train for part in parts_of(split))
    sizes = [split.train.nnz, *(part.target.nnz for part in parts_of(split))]
    assert np.allclose(sizes, np.array(fractions) * data.nnz, atol=1)
    again = split_random(data, fractions, random_state=seed)
    assert again.train.fingerprint() == split.train.fingerprint()


def containers(count: int) -> list[Any]:
    labels = np.arange(count) % 3
    words = Vocabulary.numbered(max(1, count))
    return [
        Counts(sparse.csr_array(np.eye(max(1, count))[:count]), words, labels=labels),
        Sentences(np.arange(count), np.arange(count + 1), words, labels=labels),
        Sequences(np.arange(count), np.arange(count + 1), vocabulary=words),
        LabelledArrays(np.arange(count)[:, None], labels),
    ]


def identities(container: Any) -> list[int]:
    """Every row of the containers above carries its own number."""
    if isinstance(container, Counts):
        return [int(column) for column in container.matrix.indices]
    field = {"Sentences": "tokens", "Sequences": "observations", "LabelledArrays": "inputs"}[type(container).__name__]
    return [int(value) for value in np.ravel(getattr(container, field))]


@given(st.integers(4, 40), FRACTIONS, SEEDS)
@settings(max_examples=30)
def test_rows_are_split_without_loss(count: int, fractions: tuple[float, ...], seed: int) -> None:
    assume(min(np.diff([0, *cut_points(count, fractions), count])) > 0)
    for container in containers(count):
        parts = split_rows(container, fractions, random_state=seed)
        assert sorted(row for part in parts for row in identities(part)) == list(range(count))
        assert [len(part) for part in parts] == np.diff([0, *cut_points(count, fractions), count]).tolist()
        again = split_rows(container, fractions, random_state=seed)
        assert [identities(part) for part in again] == [identities(part) for part in parts]


def test_classes_keep_their_proportions() -> None:
    data = LabelledArrays(np.arange(100)[:, None], np.repeat([0, 1], [90, 10]))
    train, test = split_rows(data, (0.8, 0.2), stratify=True)
    assert train.targets is not None
    assert test.targets is not None
    assert np.bincount(train.targets).tolist() == [72, 8]
    assert np.bincount(test.targets).tolist() == [18, 2]
    with pytest.raises(ValueError, match="stratify must be False for data without one class per row"):
        split_rows(LabelledArrays(np.zeros((4, 1)), np.zeros((4, 2))), (0.5, 0.5), stratify=True)
    with pytest.raises(ValueError, match="stratify must be False for data without one class per row"):
        split_rows(Sequences(np.zeros(4, dtype=int), np.arange(5)), (0.5, 0.5), stratify=True)
