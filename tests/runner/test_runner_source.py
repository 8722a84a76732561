"""From names, files and tables to data and splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer import datasets
from gossamer.data.interactions import Interactions
from gossamer.runner.source import is_file, make_split, open_data
from gossamer.runner.specs import DataSpec, SplitSpec


@pytest.fixture
def data(blocks_file: Path) -> Interactions:
    opened = open_data(DataSpec(str(blocks_file)))
    assert isinstance(opened, Interactions)
    return opened


def test_a_file_is_read_and_filtered(blocks_file: Path) -> None:
    whole = open_data(DataSpec(str(blocks_file)))
    assert whole.shape == (40, 16)
    kept = open_data(DataSpec(str(blocks_file), min_rating=4, min_per_user=2, min_per_item=3))
    assert kept.rating.min() >= 4
    assert kept.user_counts.min() >= 2
    assert kept.item_counts.min() >= 3


def test_columns_of_a_file_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("who,what\nann,tea\nbob,jam\n")
    assert open_data(DataSpec(str(path), columns={"user": "who", "item": "what"})).shape == (2, 2)


def test_filters_that_leave_nothing_are_named(blocks_file: Path) -> None:
    with pytest.raises(ValueError, match=r"must keep some interactions, got none after filtering with .*min_rating"):
        open_data(DataSpec(str(blocks_file), min_rating=9))


def test_options_and_columns_belong_to_sets_and_files(blocks_file: Path) -> None:
    with pytest.raises(ValueError, match="options must be left out for a file"):
        open_data(DataSpec(str(blocks_file), options={"part": "test"}))
    with pytest.raises(ValueError, match="columns must be left out for the data set 'stdlib-usage'"):
        open_data(DataSpec("stdlib-usage", columns={"user": "who"}))


def test_what_is_neither_file_nor_data_set_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="stdlib-usage"):
        open_data(DataSpec("stdlib-usag"))
    with pytest.raises(FileNotFoundError, match=r"missing\.csv"):
        open_data(DataSpec("missing.csv"))
    (tmp_path / "plain").write_text("user,item\n1,2\n")
    assert is_file("plain")


def test_only_interactions_are_filtered_and_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "load", lambda _: {})
    with pytest.raises(ValueError, match="data must be interactions to be filtered, got dict from 'stdlib-docs'"):
        open_data(DataSpec("stdlib-docs", min_per_user=2))
    with pytest.raises(ValueError, match="data must be interactions to be split by 'users', got dict"):
        make_split({}, SplitSpec("users"))


def test_the_seed_of_the_spec_comes_first(data: Interactions) -> None:
    free, fixed = SplitSpec("users"), SplitSpec("users", seed=3)
    assert make_split(data, fixed, 0).train.users == make_split(data, fixed, 1).train.users
    assert make_split(data, free, 3).train.users == make_split(data, fixed, 1).train.users
    assert make_split(data, free, 0).train.users != make_split(data, free, 1).train.users


def test_arguments_reach_the_split(data: Interactions) -> None:
    split = make_split(data, SplitSpec("users", {"num_valid": 5, "num_test": 7}))
    assert split.valid is not None
    assert (len(split.valid), len(split.test), len(split.train)) == (5, 7, 28)
    random = make_split(data, SplitSpec("random", {"fractions": [0.5, 0.5]}))
    assert random.valid is None
    assert random.train.nnz == data.nnz // 2


def test_splits_by_time(data: Interactions) -> None:
    timed = Interactions(data.users, data.items, data.indptr, data.indices, time=np.arange(data.nnz))
    split = make_split(timed, SplitSpec("global-time", {"fractions": [0.6, 0.4]}))
    assert split.train.time is not None
    assert split.test.target.time is not None
    assert split.train.time.max() < split.test.target.time.min()
    assert make_split(timed, SplitSpec("user-time")).train.nnz < data.nnz


def test_none_holds_nothing_out(data: Interactions) -> None:
    split = make_split(data, SplitSpec("none"))
    assert split.train is data
    assert split.valid is None
    assert split.test.target.nnz == 0
