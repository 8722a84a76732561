"""Two processes that read a directory have the rows of one, over the same words, terms, classes and categories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from divided import in_two

from gossamer.data.readers.row_shards import (
    read_arrays_shard,
    read_counts_shard,
    read_sentences_shard,
    read_sequences_shard,
)
from gossamer.data.row_digests import fingerprint_of_sums, sum_row_digests

pytest.importorskip("pyarrow")

TEXTS = [f"{'red' if row % 3 else 'blue'} tea {'jam' * (row % 2)} w{row}" for row in range(24)]
SERIES = [(f"s{row % 5}", row, "stop" if row == 23 else "go") for row in range(24)]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(**columns: Any) -> Path:
        frame = pl.DataFrame(columns)
        for part in range(2):
            frame[12 * part : 12 * part + 12].write_parquet(tmp_path / f"{part}.parquet", row_group_size=6)
        return tmp_path

    return written


def two_and_one(read: Callable[..., Any], directory: Path, **options: Any) -> tuple[list[Any], Any]:
    """Return both shares and what one process reads, after finding that they hold the same rows."""
    shares = in_two(lambda rank, gather: read(directory, rank=rank, world_size=2, gather=gather, **options))
    whole = read(directory, **options)
    assert min(map(len, shares)) > 0
    assert sum(map(len, shares)) == len(whole)
    assert fingerprint_of_sums(map(sum_row_digests, shares)) == fingerprint_of_sums([sum_row_digests(whole)])
    return shares, whole


def test_sentences_have_the_words_and_classes_of_all(write) -> None:
    directory = write(text=TEXTS, label=["rare" if row == 0 else "usual" for row in range(24)])
    shares, whole = two_and_one(read_sentences_shard, directory, min_count=2)
    for share in shares:
        assert share.vocabulary == whole.vocabulary
        assert share.label_names == whole.label_names == ("rare", "usual")
    assert list(whole.vocabulary)[:3] == ["<unk>", "tea", "red"]


def test_counts_of_texts_have_the_terms_of_all(write) -> None:
    shares, whole = two_and_one(read_counts_shard, write(text=TEXTS), max_terms=4, min_documents=3)
    assert all(share.terms == whole.terms for share in shares)
    assert list(whole.terms) == ["tea", "w", "red", "jam"]


def test_counts_of_documents_and_terms_are_not_torn(write) -> None:
    directory = write(document=[f"d{row % 6}" for row in range(24)], term=[f"t{row % 5}" for row in range(24)])
    shares, whole = two_and_one(read_counts_shard, directory)
    assert all(share.terms == whole.terms for share in shares)
    assert not set(shares[0].documents) & set(shares[1].documents)
    with pytest.raises(ValueError, match=r"max_terms must be left out for .* which has terms for texts, got"):
        read_counts_shard(directory, max_terms=3)


def test_arrays_have_the_classes_of_all(write) -> None:
    directory = write(x=np.arange(24.0), kind=["b"] * 23 + ["a"])
    shares, whole = two_and_one(read_arrays_shard, directory, target="kind")
    assert {share.target_names for share in shares} == {whole.target_names} == {("a", "b")}
    together = np.concatenate([np.column_stack([share.inputs[:, 0], share.targets]) for share in shares])
    np.testing.assert_array_equal(together[together[:, 0].argsort()][:, 1], whole.targets)


def test_series_are_not_torn_and_have_the_categories_of_all(write) -> None:
    names, times, events = zip(*SERIES, strict=True)
    shares, whole = two_and_one(read_sequences_shard, write(series=names, time=times, event=events))
    assert all(share.vocabulary == whole.vocabulary for share in shares)
    assert not set(shares[0].names) & set(shares[1].names)
    assert list(whole.vocabulary) == ["go", "stop"]
