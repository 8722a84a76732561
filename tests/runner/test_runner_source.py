"""From names, files and tables to data and splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer import datasets
from gossamer.data import Counts, Interactions, LabelledArrays, Parts, Sentences
from gossamer.data.text import build_sentences
from gossamer.datasets import catalogue
from gossamer.datasets.dataset import Dataset
from gossamer.datasets.labelled_texts import LabelledTexts, in_form
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


def test_documents_of_a_file_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "mail.csv"
    path.write_text("body\nham and ham\neggs\n")
    data = open_data(DataSpec(str(path), {"form": "counts", "max_terms": 1}, {"text": "body"}))
    assert isinstance(data, Counts)
    assert data.matrix.toarray().tolist() == [[2], [0]]
    (tmp_path / "a.svm").write_text("1 2:3\n")
    assert isinstance(open_data(DataSpec(str(tmp_path / "a.svm"))), Counts), "its ending says that it counts"
    with pytest.raises(ValueError, match=r"a file of counts has no option 'max_term' \(did you mean 'max_terms'\?\)"):
        open_data(DataSpec(str(path), {"form": "counts", "max_term": 1}))


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


def test_the_seed_is_the_fold_and_all_folds_test_every_user_once(data: Interactions) -> None:
    spec = SplitSpec("user-folds", {"num_folds": 4, "num_valid": 5})
    folds = [make_split(data, spec, seed) for seed in range(4)]
    assert [fold.description["fold"] for fold in folds] == [0, 1, 2, 3]
    assert {fold.description["seed"] for fold in folds} == {0}, "the folds are of one partition"
    assert all(len(fold.valid) == 5 for fold in folds)
    assert all(not {*fold.valid.target.users} & {*fold.test.target.users} for fold in folds)
    assert sorted(user for fold in folds for user in fold.test.target.users) == sorted(data.users)
    fixed = make_split(data, SplitSpec("user-folds", {"num_folds": 4, "num_valid": 5}, seed=2), 0)
    assert fixed.test.target.users == folds[2].test.target.users, "as an artifact that remembers its seed is reopened"
    with pytest.raises(ValueError, match="fold must be an integer >= 0 and <= 3, got 4"):
        make_split(data, spec, 4)


def test_arguments_reach_the_split(data: Interactions) -> None:
    split = make_split(data, SplitSpec("users", {"num_valid": 5, "num_test": 7}))
    assert split.valid is not None
    assert (len(split.valid), len(split.test), len(split.train)) == (5, 7, 28)
    random = make_split(data, SplitSpec("random", {"fractions": [0.5, 0.5]}))
    assert random.valid is None
    assert random.train.nnz == data.nnz // 2


def test_documents_of_a_file(documents_file: Path) -> None:
    columns = {"text": "body", "label": "topic"}
    data = open_data(DataSpec(str(documents_file), {"form": "sentences", "min_count": 2}, columns))
    assert isinstance(data, Sentences)
    assert data.words(0) == ["the", "ham", "eggs", ",", "no", "<unk>", "."]
    parts = make_split(data, SplitSpec("rows", {"fractions": [0.5, 0.25, 0.25]}), 3)
    assert isinstance(parts, Parts)
    assert (len(parts.train), len(parts.valid), len(parts.test)) == (40, 20, 20)
    assert parts.description["seed"] == 3
    whole = make_split(data, SplitSpec("none"))
    assert (len(whole.train), whole.valid, len(whole.test)) == (80, None, 0)
    with pytest.raises(ValueError, match="a file of sentences has no option 'max_word'"):
        open_data(DataSpec(str(documents_file), {"form": "sentences", "max_word": 2}))
    with pytest.raises(ValueError, match="form must be one of 'interactions', 'sentences', 'counts', 'sequences'"):
        open_data(DataSpec(str(documents_file), {"form": "tables"}))


def test_rows_of_numbers_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "moods.csv"
    path.write_text("x,sad\n1,0\n2,1\n")
    data = open_data(DataSpec(str(path), {"form": "arrays", "labels": "sad"}))
    assert isinstance(data, LabelledArrays)
    assert data.target_names == ("sad",)
    with pytest.raises(ValueError, match="a file of arrays has no option 'label'"):
        open_data(DataSpec(str(path), {"form": "arrays", "label": "sad"}))
    with pytest.raises(ValueError, match=r"columns must be left out for a file of arrays, got \{'label': 'sad'\}"):
        open_data(DataSpec(str(path), {"form": "arrays"}, {"label": "sad"}))


def published(**parts: list[str]) -> Dataset:
    """Return a data set that was published in parts."""
    texts = {
        name: LabelledTexts(tuple(part), np.arange(len(part)) % 2, ("even", "odd")) for name, part in parts.items()
    }

    def load(*, part: str = "train", form: str = "sentences") -> object:
        return in_form(form, texts[part], texts["train"])

    return Dataset(datasets.available()["ag_news"], load, parts=tuple(parts))


def test_parts_as_they_were_published(monkeypatch: pytest.MonkeyPatch) -> None:
    train = [f"all w{number} of it" for number in range(40)]
    entry = published(train=[*train, "Wi-Fi"], test=["wifi!", "all new"])
    monkeypatch.setitem(catalogue._DATASETS, "mine", entry)
    spec, division = DataSpec("mine"), SplitSpec("given", {"valid_fraction": 0.25})
    given = open_data(spec, division)
    assert given.description == {"dropped_repeats": 1}, "which the sentences do not tell, as 'wifi' is not in training"
    parts = make_split(given, division)
    assert (len(parts.train), len(parts.valid), len(parts.test)) == (30, 10, 2)
    assert parts.description["dropped_repeats"] == 1
    assert parts.test.words(1) == ["all", "<unk>"]
    monkeypatch.setitem(catalogue._DATASETS, "mine", published(train=train, valid=["w1"], test=["new"]))
    assert len(make_split(open_data(spec, SplitSpec("given")), SplitSpec("given")).valid) == 1


def test_what_documents_and_interactions_cannot_share_is_said(data: Interactions) -> None:
    with pytest.raises(ValueError, match="data must have parts of their own to be split by 'given', got 'stdlib-docs'"):
        open_data(DataSpec("stdlib-docs"), SplitSpec("given"))
    with pytest.raises(ValueError, match="options must leave out part, because 'given' loads all of them"):
        open_data(DataSpec("ptb", {"part": "test"}), SplitSpec("given"))
    with pytest.raises(ValueError, match="data must come in parts to be split by 'given', got Interactions"):
        make_split(data, SplitSpec("given"))
    with pytest.raises(ValueError, match="data must be documents to be split by 'rows', got interactions"):
        make_split(data, SplitSpec("rows"))
    with pytest.raises(ValueError, match="data must be interactions to be split by 'users', got Sentences"):
        make_split(build_sentences(["a"]), SplitSpec("users"))


@pytest.mark.data
def test_repeats_of_ag_news_are_dropped() -> None:
    spec, division = DataSpec("ag_news", {"max_words": 100_000}), SplitSpec("given", {"valid_fraction": 0.1})
    parts = make_split(open_data(spec, division), division)
    assert parts.description["dropped_repeats"] == 4
    assert len(parts.test) == 7_600
    assert len(parts.train) + len(parts.valid) == 44_352


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
