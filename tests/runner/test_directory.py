"""A directory of Parquet files, whole and as a share; tests/cli/test_several.py fits on shares."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from gossamer.data.filters import keep_ratings
from gossamer.data.row_digests import fingerprint_of_sums, sum_row_digests
from gossamer.data.share import Share
from gossamer.runner.directory import SharedSplit, is_directory, read_directory, read_share, split_share
from gossamer.runner.provenance import Origin, open_for, open_origin, open_together
from gossamer.runner.source import make_split, open_data
from gossamer.runner.specs import DataSpec, SplitSpec
from gossamer.runner.tasks import default_split, takes_shares
from gossamer.testing.right_answers import two_blocks

pytest.importorskip("pyarrow")


@pytest.fixture
def events(tmp_path: Path) -> DataSpec:
    data = two_blocks().history
    users, items = data.pairs()
    frame = pl.DataFrame(
        {
            "user": [data.users[user] for user in users],
            "item": [data.items[item] for item in items],
            "rating": data.rating,
        }
    )
    for part in range(2):
        frame[60 * part : 60 * part + 60].write_parquet(tmp_path / f"{part}.parquet", row_group_size=30)
    return DataSpec(str(tmp_path))


def test_a_directory_is_read_whole_by_one_process(events: DataSpec) -> None:
    assert is_directory(events.name)
    data = open_data(events)
    assert (data.shape, data.nnz) == ((24, 12), 120)
    assert list(data.items) == sorted(data.items)
    origin, split = open_for("mult-vae", events)
    assert origin.split.kind == "user-ids"
    assert origin.fingerprint == data.fingerprint() == read_directory(events).fingerprint()
    assert default_split(["ease"], 0, "events.csv").kind == "users"
    assert split.description["kind"] == "user-ids"


def test_two_processes_divide_the_users_and_the_split(events: DataSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make_split(read_directory(events), SplitSpec("user-ids"), 1)
    shares = []
    items = read_directory(events).items
    monkeypatch.setattr("gossamer.training.devices.make_fabric", lambda: None)
    others: list[int] = []  # what the other process has found of its own rows

    def gather(mine: object, _: object) -> list[object]:
        return [mine, *others] if isinstance(mine, int) else [mine, items]

    monkeypatch.setattr("gossamer.training.devices.gather_from_all", gather)
    for name, value in {"TORCHELASTIC_RUN_ID": "some", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        shares.append(read_share(events))
    assert sum(len(share.rows) for share in shares) == 24
    splits = [split_share(share, SplitSpec("user-ids"), 1) for share in shares]
    for part in ("train", "test"):
        names = [user for split in splits for user in users_of(getattr(split, part).rows)]
        assert sorted(names) == sorted(users_of(getattr(whole, part)))
    kept = split_share(shares[0], SplitSpec("none"), 0)
    assert isinstance(kept, SharedSplit)
    assert kept.train is shares[0]
    assert (kept.valid, len(kept.test.rows)) == (None, 0)
    others.append(sum_row_digests(shares[0].rows))
    origin, split = open_together("mult-vae", events)
    assert origin.fingerprint == fingerprint_of_sums([sum_row_digests(read_directory(events))])
    assert isinstance(split.train, Share)
    assert len(open_together("ease", events)[1].train) > len(split.train.rows), "every process fits it on all"
    with pytest.raises(ValueError, match="min_per_user and min_per_item must be left out for divided data"):
        read_share(DataSpec(events.name, min_per_user=3))


def test_what_was_divided_is_recognised_whole_and_its_change_noticed(
    events: DataSpec, caplog: pytest.LogCaptureFixture
) -> None:
    spec = DataSpec(events.name, min_rating=2.0)
    known = fingerprint_of_sums([sum_row_digests(keep_ratings(read_directory(events), at_least=2.0))])
    config = {"provenance": Origin("mult-vae", spec, SplitSpec("none"), known).as_json()}
    open_origin(config)
    assert caplog.text == ""
    Path(events.name, "1.parquet").unlink()
    open_origin(config)
    assert "has changed since the model was trained" in caplog.text


def users_of(data: object) -> list[object]:
    return list(getattr(data, "history", data).users)


def test_which_models_take_shares() -> None:
    assert [model for model in ("count-recommender", "mult-vae", "cdae", "ease") if takes_shares(model)] == [
        "count-recommender",
        "mult-vae",
        "cdae",
    ]


def test_options_are_for_files_and_directories_for_models_of_interactions(events: DataSpec) -> None:
    with pytest.raises(ValueError, match="options must be left out for a directory of interactions, got"):
        open_data(DataSpec(events.name, {"header": False}))
    with pytest.raises(ValueError, match="must have a column of text, got the columns 'user', 'item', 'rating'"):
        open_for("count-vae", events)
    with pytest.raises(ValueError, match="a directory of sentences has no option 'max_terms'"):
        open_data(DataSpec(events.name, {"form": "sentences", "max_terms": 3}))
    with pytest.raises(ValueError, match="columns must be left out for a directory of arrays, got"):
        open_data(DataSpec(events.name, {"form": "arrays"}, {"user": "user"}))
