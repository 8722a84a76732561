from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from gossamer.data import Interactions, Vocabulary
from gossamer.data.readers import read_interactions
from gossamer.data.readers.interaction_shards import collect_ids, merge_ids, read_interactions_shard

WORLD = 3


@pytest.fixture(scope="module")
def events() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "user_id": [f"u{number}" for number in rng.integers(0, 60, 1500)],
            "item_id": rng.integers(0, 40, 1500),
            "rating": rng.integers(1, 6, 1500).astype(np.float32),
        }
    ).unique(["user_id", "item_id"], maintain_order=True)


@pytest.fixture(scope="module")
def directory(events, tmp_path_factory):
    folder = tmp_path_factory.mktemp("events")
    for number, begin in enumerate(range(0, events.height, 400)):
        events[begin : begin + 400].write_parquet(folder / f"part-{number}.parquet", row_group_size=50)
    return folder


def triples(data: Interactions) -> list[tuple[str | int, str | int, float]]:
    rows, columns = data.pairs()
    assert data.rating is not None
    users, items = data.users.ids[rows].to_list(), data.items.ids[columns].to_list()
    return list(zip(users, items, data.rating.tolist(), strict=True))


@pytest.mark.parametrize("whole_users", [True, False])
def test_shares_are_all_and_none_is_nearly_all(whole_users, events, directory):
    items = merge_ids([collect_ids(directory, "item", rank=rank, world_size=WORLD) for rank in range(WORLD)])
    options = {"whole_users": whole_users, "item_ids": items, "world_size": WORLD}
    shares = [read_interactions_shard(directory, rank=rank, **options) for rank in range(WORLD)]
    whole = read_interactions(events)
    assert sorted(triple for share in shares for triple in triples(share)) == sorted(triples(whole))
    for share in shares:
        assert share.items == items
        assert abs(share.nnz / whole.nnz - 1 / WORLD) < 0.15
        assert share.nbytes < 0.55 * whole.nbytes
    times_seen = pl.concat([share.users.ids for share in shares]).value_counts()["count"]
    assert (times_seen.max() == 1) == whole_users


def test_shares_depend_on_the_seed_and_on_nothing_else(directory):
    def share(seed: int) -> str:
        options = {"whole_users": False, "random_state": seed}
        return read_interactions_shard(directory, rank=1, world_size=2, **options).fingerprint()

    assert share(0) == share(0) != share(1)


def test_ids_of_all_processes_are_those_of_the_whole_whatever_their_number(events, directory):
    expected = Vocabulary(events["user_id"].unique().sort())
    for world_size in (1, 2, 5):
        found = [collect_ids(directory, "user", rank=rank, world_size=world_size) for rank in range(world_size)]
        assert merge_ids(found) == expected


def test_an_item_that_is_not_known_is_named_with_its_row(directory):
    with pytest.raises(ValueError, match=r"part-\d.parquet, row \d+ .*item_id must be one of the 2 known item ids"):
        read_interactions_shard(directory, rank=0, world_size=2, item_ids=Vocabulary([0, 1]))


def test_mistakes(directory):
    with pytest.raises(ValueError, match="role must be one of 'user', 'item', got 'time'"):
        collect_ids(directory, "time", rank=0, world_size=1)
    with pytest.raises(ValueError, match="whole_users must be True or False, got 'yes'"):
        read_interactions_shard(directory, rank=0, world_size=1, whole_users="yes")
    with pytest.raises(ValueError, match="vocabularies must be all of strings or all of integers, got both"):
        merge_ids([Vocabulary(["a"]), Vocabulary([1])])
