"""From a directory of Parquet files to the `Interactions` of one process, without anyone holding all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from gossamer.core.checks import check_bool, check_choice
from gossamer.core.randomness import RandomState
from gossamer.data.interactions import Interactions
from gossamer.data.readers.columns import find_roles, id_column
from gossamer.data.readers.interactions import interactions_of
from gossamer.data.tables.chunk import Table
from gossamer.data.tables.parquet_shard import OwnRows, ParquetShard
from gossamer.data.text_files import FilePath
from gossamer.data.vocabulary import Vocabulary

Columns = Mapping[str, str | int | None] | None


def read_interactions_shard(
    directory: FilePath,
    *,
    rank: int,
    world_size: int,
    whole_users: bool = True,
    columns: Columns = None,
    duplicates: str = "last",
    user_ids: Vocabulary | None = None,
    item_ids: Vocabulary | None = None,
    random_state: RandomState = 0,
) -> Interactions:
    """Read the share of process `rank` of `world_size`: about 1/world_size of the interactions.

    With `whole_users` a user's interactions are all in the share of one process, chosen by a hash of the id: models
    that learn from whole histories need this. Every process then passes over all row groups, one at a time, and keeps
    its own users' rows. Without it a process reads its own row groups alone (`ParquetShard`), which is enough where
    each (user, item) pair is an example; a user may then be in several shares, and a pair that stands in two row
    groups of different processes is not recognised as a repeat.

    All shares together are the whole directory. Containers have the users of their share unless `user_ids` are given;
    give the `item_ids` of all (`collect_ids`, `merge_ids`), so that an item has the same number everywhere. Other
    arguments are those of `read_interactions`.
    """
    check_bool("whole_users", whole_users)
    dealt = {} if whole_users else {"rank": rank, "world_size": world_size}
    table: Table = ParquetShard(directory, random_state=random_state, **dealt)
    if whole_users:
        user = find_roles(table, columns)["user"]
        table = OwnRows(table, user, rank=rank, world_size=world_size)
    return interactions_of(table, columns=columns, duplicates=duplicates, user_ids=user_ids, item_ids=item_ids)


def collect_ids(
    directory: FilePath,
    role: str,
    *,
    rank: int,
    world_size: int,
    columns: Columns = None,
    random_state: RandomState = 0,
) -> Vocabulary:
    """Return the different ids of "user" or "item" in the row groups of one process, in one pass over one column."""
    check_choice("role", role, ["user", "item"])
    shard = ParquetShard(directory, rank=rank, world_size=world_size, random_state=random_state)
    return ids_in(shard, find_roles(shard, columns)[role])


def ids_in(table: Table, column: str) -> Vocabulary:
    """Return the different ids in a column, sorted."""
    return merge_ids([Vocabulary(id_column(chunk, column).unique()) for chunk in table.chunks([column])])


def merge_ids(vocabularies: Sequence[Vocabulary]) -> Vocabulary:
    """Return the ids of all, sorted, so that their order does not depend on who found them.

    >>> list(merge_ids([Vocabulary(["tea", "jam"]), Vocabulary(["ale", "tea"])]))
    ['ale', 'jam', 'tea']
    """
    if len({vocabulary.ids.dtype for vocabulary in vocabularies}) > 1:
        raise ValueError("vocabularies must be all of strings or all of integers, got both")
    return Vocabulary(pl.concat([vocabulary.ids for vocabulary in vocabularies]).unique().sort())
