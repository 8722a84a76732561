"""A directory of Parquet files as data: whole, or a share for each of the processes that torchrun started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gossamer.core.checks import check_choice
from gossamer.core.processes import process_count, process_rank
from gossamer.data.filters import keep_ratings
from gossamer.data.interactions import HeldOut, Interactions, Split
from gossamer.data.parts import Parts
from gossamer.data.readers.interaction_shards import collect_ids, merge_ids, read_interactions_shard
from gossamer.data.readers.row_shards import (
    read_arrays_shard,
    read_counts_shard,
    read_sentences_shard,
    read_sequences_shard,
)
from gossamer.data.row_digests import fingerprint_of_sums, sum_row_digests
from gossamer.data.share import Gather, Share, alone
from gossamer.data.splits import split_contents, split_pair_ids, split_user_ids
from gossamer.runner.specs import DataSpec, SplitSpec, check_keys

T = TypeVar("T")

# Those that processes can make of their own rows.
SHARED_SPLITS = ("user-ids", "pair-ids", "contents", "none")
FORMS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {  # how each is read, and by which options
    "sentences": (read_sentences_shard, ("max_words", "min_count")),
    "counts": (read_counts_shard, ("vocabulary", "max_terms", "min_documents", "pattern")),
    "sequences": (read_sequences_shard, ("values", "features")),
    "arrays": (read_arrays_shard, ("labels", "target")),
}


@dataclass(frozen=True)
class SharedSplit:
    """A `Split`, or `Parts`, of divided data: every process has made it of its own rows."""

    train: Share[Any]
    valid: Share[Any] | None
    test: Share[Any]
    description: dict[str, Any]


@dataclass(frozen=True)
class _Place:
    """Which of the processes reads, and how they agree on what must be the same everywhere."""

    rank: int = 0
    world_size: int = 1
    gather: Gather = alone


def is_directory(name: str) -> bool:
    """Say whether a name of data means a directory."""
    return Path(name).is_dir()


def read_directory(spec: DataSpec) -> Any:
    """Return everything in a directory; users, items, words and classes have the order that they have in shares."""
    return _read(spec, _Place(), with_all_users=True)


def read_share(spec: DataSpec, *, with_all_users: bool = False) -> Share[Any]:
    """Return the rows of this process; all processes call it together.

    Of interactions a process has some users with all that is theirs, and names no others, unless it is
    `with_all_users`: a table of vectors must have the same rows everywhere.
    """
    if spec.min_per_user is not None or spec.min_per_item is not None:
        raise ValueError(f"min_per_user and min_per_item must be left out for divided data, got {spec.as_json()}")
    rows = _read(spec, _Place(process_rank(), process_count(), _gather), with_all_users=with_all_users)
    return Share(rows if spec.min_rating is None else keep_ratings(rows, at_least=spec.min_rating))


def fingerprint_shares(data: Share[Any]) -> str:
    """Return the fingerprint of what all processes hold together; all of them call it."""
    return fingerprint_of_sums(_gather(sum_row_digests(data.rows)))


def split_share(data: Share[Any], spec: SplitSpec, seed: int) -> SharedSplit:
    """Divide what this process holds, as one process would divide it."""
    rows = data.rows
    if spec.kind != "none" and (spec.kind == "contents") == isinstance(rows, Interactions):
        kind = type(rows).__name__
        raise ValueError(
            f"split must be 'contents' for rows and one by ids for interactions, got {spec.kind!r} of {kind}"
        )
    if spec.kind == "none":
        nothing = HeldOut(rows[:0], rows[:0]) if isinstance(rows, Interactions) else rows[:0]
        return SharedSplit(data, None, Share(nothing), {"kind": "none"})
    split: Split | Parts
    if spec.kind == "contents":
        split = split_contents(rows, **spec.arguments, random_state=seed, gather=_gather)
    else:
        divide = split_pair_ids if spec.kind == "pair-ids" else split_user_ids
        split = divide(rows, **spec.arguments, random_state=seed)
    # Where the hashes have held nothing out for anybody, there is no validation, rather than one of no rows.
    has_valid = split.valid is not None and sum(_gather(num_held_out(split.valid))) > 0
    valid = Share(split.valid) if has_valid else None
    return SharedSplit(Share(split.train), valid, Share(split.test), split.description)


def num_held_out(held_out: Any) -> int:
    """Return how many interactions or documents there are to be judged on."""
    return held_out.target.nnz if isinstance(held_out, HeldOut) else len(held_out)


def _gather(mine: T, /) -> list[T]:
    from gossamer.training.devices import gather_from_all, make_fabric

    return gather_from_all(mine, make_fabric())


def _read(spec: DataSpec, place: _Place, *, with_all_users: bool = False) -> Any:
    options = dict(spec.options)
    form = check_choice("form", options.pop("form", "interactions"), ["interactions", *FORMS])
    where: dict[str, Any] = {"rank": place.rank, "world_size": place.world_size}
    if form != "interactions":
        read, known = FORMS[form]
        check_keys(f"a directory of {form}", options, known, noun="option")
        if form == "arrays" and spec.columns:
            raise ValueError(f"columns must be left out for a directory of arrays, got {spec.columns!r}; use labels")
        named = {"columns": spec.columns} if spec.columns else {}
        return read(spec.name, **where, gather=place.gather, **named, **options)
    if options:
        raise ValueError(f"options must be left out for a directory of interactions, got {options!r}")
    columns = spec.columns or None
    ids: dict[str, Any] = {
        f"{role}_ids": merge_ids(place.gather(collect_ids(spec.name, role, columns=columns, **where)))
        for role in (("user", "item") if with_all_users else ("item",))
    }
    return read_interactions_shard(spec.name, columns=columns, **where, **ids)
