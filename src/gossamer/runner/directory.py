"""A directory of Parquet files as data: whole, or a share for each of the processes that torchrun started."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gossamer.core.processes import process_count, process_rank
from gossamer.data.filters import keep_ratings
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.readers.interaction_shards import collect_ids, merge_ids, read_interactions_shard
from gossamer.data.row_digests import fingerprint_of_sums, sum_row_digests
from gossamer.data.share import Share
from gossamer.data.splits import split_user_ids
from gossamer.runner.specs import DataSpec, SplitSpec

SHARED_SPLITS = ("user-ids", "none")  # those that processes can make of their own users


@dataclass(frozen=True)
class SharedSplit:
    """A `Split` of divided data: every process has made it of its own users."""

    train: Share[Interactions]
    valid: Share[HeldOut] | None
    test: Share[HeldOut]
    description: dict[str, Any]


def is_directory(name: str) -> bool:
    """Say whether a name of data means a directory."""
    return Path(name).is_dir()


def read_directory(spec: DataSpec) -> Interactions:
    """Return all interactions of a directory; items have the order that they have in shares."""
    return _read(spec, merge_ids([_find_items(spec, 0, 1)]), 0, 1)


def read_share(spec: DataSpec) -> Share[Interactions]:
    """Return the users of this process with all their interactions; all processes call it together."""
    from gossamer.training.devices import gather_from_all, make_fabric

    if spec.min_per_user is not None or spec.min_per_item is not None:
        raise ValueError(f"min_per_user and min_per_item must be left out for divided data, got {spec.as_json()}")
    place = process_rank(), process_count()
    items = merge_ids(gather_from_all(_find_items(spec, *place), make_fabric()))
    rows = _read(spec, items, *place)
    return Share(rows if spec.min_rating is None else keep_ratings(rows, at_least=spec.min_rating))


def fingerprint_shares(data: Share[Interactions]) -> str:
    """Return the fingerprint of what all processes hold together; all of them call it."""
    from gossamer.training.devices import gather_from_all, make_fabric

    return fingerprint_of_sums(gather_from_all(sum_row_digests(data.rows), make_fabric()))


def split_share(data: Share[Interactions], spec: SplitSpec, seed: int) -> SharedSplit:
    """Divide what this process holds, as one process would divide it."""
    if spec.kind == "none":
        empty = data.rows[:0]
        return SharedSplit(data, None, Share(HeldOut(empty, empty)), {"kind": "none"})
    split = split_user_ids(data.rows, **spec.arguments, random_state=seed)
    valid = None if split.valid is None else Share(split.valid)
    return SharedSplit(Share(split.train), valid, Share(split.test), split.description)


def _find_items(spec: DataSpec, rank: int, world_size: int) -> Any:
    form = spec.options.get("form", "interactions")
    if form != "interactions":
        raise ValueError(f"a directory must be for a model of interactions, got {spec.name!r} for one of {form}")
    if spec.options:
        raise ValueError(f"options must be left out for a directory of interactions, got {spec.options!r}")
    return collect_ids(spec.name, "item", rank=rank, world_size=world_size, columns=spec.columns or None)


def _read(spec: DataSpec, items: Any, rank: int, world_size: int) -> Interactions:
    return read_interactions_shard(
        spec.name, rank=rank, world_size=world_size, columns=spec.columns or None, item_ids=items
    )
