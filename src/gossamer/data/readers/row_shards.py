"""From a directory of Parquet files to what one process holds of documents, counts, arrays or series.

Every process reads some rows only, and `gather` lets all of them agree on what must be the same everywhere: words,
terms, classes and categories. The containers of all processes together are those of one process that reads everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts
from gossamer.data.readers.arrays import arrays_of
from gossamer.data.readers.columns import find_roles
from gossamer.data.readers.counted_documents import TRIPLE_NAMES, counts_of_texts, counts_of_triples, has_triples
from gossamer.data.readers.documents import sentences_of
from gossamer.data.readers.interaction_shards import ids_in, merge_ids
from gossamer.data.readers.sequences import SEQUENCE_NAMES, sequences_of
from gossamer.data.sentences import Sentences
from gossamer.data.sequences import Sequences
from gossamer.data.share import Gather, alone
from gossamer.data.tables.parquet_shard import OwnRows, ParquetShard
from gossamer.data.text_files import FilePath

Columns = Mapping[str, str | int | None] | None


def read_sentences_shard(
    directory: FilePath,
    *,
    rank: int = 0,
    world_size: int = 1,
    gather: Gather = alone,
    columns: Columns = None,
    max_words: int | None = None,
    min_count: int = 1,
) -> Sentences:
    """Read the documents in the row groups of process `rank`; see `read_documents` for the other arguments."""
    shard = ParquetShard(directory, rank=rank, world_size=world_size)
    return sentences_of(shard, columns=columns, max_words=max_words, min_count=min_count, gather=gather)


def read_counts_shard(
    directory: FilePath,
    *,
    rank: int = 0,
    world_size: int = 1,
    gather: Gather = alone,
    columns: Columns = None,
    vocabulary: FilePath | None = None,
    max_terms: int | None = None,
    min_documents: int | None = None,
    pattern: str | None = None,
) -> Counts:
    """Read the counts of process `rank`; see `read_counted_documents` for the other arguments.

    Texts are those in its row groups. Of a table with a row per document and term it passes over all row groups and
    keeps the rows of its own documents, which a hash of their ids chooses.
    """
    words = {"max_terms": max_terms, "min_documents": min_documents, "pattern": pattern}
    shard = ParquetShard(directory, rank=rank, world_size=world_size)
    if not has_triples(shard, columns or {}):
        return counts_of_texts(shard, columns, vocabulary, words, gather)
    said = {name: value for name, value in {**words, "vocabulary": vocabulary}.items() if value is not None}
    if said:
        raise ValueError(f"{next(iter(said))} must be left out for {directory}, which has terms for texts, got {said}")
    roles = find_roles(shard, columns, TRIPLE_NAMES, required=("document", "term"))
    terms = merge_ids(gather(ids_in(shard, roles["term"])))
    own = OwnRows(ParquetShard(directory), roles["document"], rank=rank, world_size=world_size)
    return counts_of_triples(own, columns, terms)


def read_arrays_shard(
    directory: FilePath,
    *,
    rank: int = 0,
    world_size: int = 1,
    gather: Gather = alone,
    labels: str | Sequence[str] | int | None = None,
    target: str | None = None,
) -> LabelledArrays:
    """Read the rows in the row groups of process `rank`; see `read_arrays` for the other arguments."""
    shard = ParquetShard(directory, rank=rank, world_size=world_size)
    return arrays_of(shard, labels=labels, target=target, gather=gather)


def read_sequences_shard(
    directory: FilePath,
    *,
    rank: int = 0,
    world_size: int = 1,
    gather: Gather = alone,
    columns: Columns = None,
    values: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
) -> Sequences:
    """Read the series of process `rank`, which a hash of their ids chooses; see `read_sequences` for the rest.

    Steps of a series may stand in several row groups, so every process passes over all of them.
    """
    table = ParquetShard(directory)
    series = find_roles(table, columns, SEQUENCE_NAMES, required=("sequence",))["sequence"]
    own = OwnRows(table, series, rank=rank, world_size=world_size)
    return sequences_of(own, columns=columns, values=values, features=features, gather=gather)
