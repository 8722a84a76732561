"""Features: what columns are, what is unknown, and that codes survive an artifact."""

from __future__ import annotations

import datetime
import json
import logging

import numpy as np
import polars as pl
import pytest

from gossamer.models.community.features import FeatureReader

TABLE = pl.DataFrame(
    {
        "gender": ["f", "m", "f", "m"],
        "age": [10, 20, 30, None],
        "genres": [["a", "b"], [], ["b"], None],
        "name": ["ann", "bob", "cid", "dan"],
    }
)


def on(codes, row: int) -> list[int]:
    return sorted(codes.values[codes.offsets[row] : codes.offsets[row + 1]].tolist())


def test_columns_are_what_they_look_like_and_names_are_left_out() -> None:
    reader = FeatureReader.learn("user_features", TABLE, None)
    assert [(column.name, column.kind, column.width) for column in reader.columns] == [
        ("gender", "categorical", 2),
        ("age", "numeric", 3),
        ("genres", "multi", 2),
    ]
    codes = reader.read(TABLE, 4)
    assert [on(codes, row) for row in range(4)] == [[0, 2, 5, 6], [1, 3], [0, 4, 6], [1]]
    np.testing.assert_allclose(codes.numbers[:, 0], [-(1.5**0.5), 0, 1.5**0.5, 0], rtol=1e-6)


def test_many_numbers_become_ten_bins_of_equal_size() -> None:
    reader = FeatureReader.learn("item_features", pl.DataFrame({"year": np.arange(1000)}), {"year": "numeric"})
    codes = reader.read(pl.DataFrame({"year": np.arange(1000)}), 1000)
    assert reader.num_values == 10
    assert np.bincount(codes.values).tolist() == [100] * 10


def test_unknown_values_and_missing_columns_say_nothing_and_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    reader = FeatureReader.learn("user_features", TABLE, {"gender": "categorical", "genres": "multi"})
    with caplog.at_level(logging.WARNING):
        codes = reader.read(pl.DataFrame({"gender": ["x", "f"], "genres": [["a", "new"], ["b"]]}), 2)
        assert [on(codes, row) for row in range(2)] == [[2], [0, 3]]
        assert "1 values of column 'gender' are unknown, such as 'x'" in caplog.text
        assert "1 values of column 'genres' are unknown, such as 'new'" in caplog.text
        codes = reader.read(pl.DataFrame({"gender": ["m"]}), 1)
        assert on(codes, 0) == [1]
        assert "features must have genres as in training, got none" in caplog.text
    assert len(reader.read(None, 3)) == 3


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(ValueError, match=r"user_features must name columns of the table .*, got 'sex'"):
        FeatureReader.learn("user_features", TABLE, {"sex": "categorical"})
    with pytest.raises(ValueError, match=r"user_features\['age'\] must be one of .*, got 'number'"):
        FeatureReader.learn("user_features", TABLE, {"age": "number"})
    with pytest.raises(ValueError, match="column 'gender' must hold numbers to be numeric, got String"):
        FeatureReader.learn("user_features", TABLE, {"gender": "numeric"})
    with pytest.raises(ValueError, match="column 'gender' must hold lists to be multi, got String"):
        FeatureReader.learn("user_features", TABLE, {"gender": "multi"})
    with pytest.raises(ValueError, match="user_features must be left out for data without such a table"):
        FeatureReader.learn("user_features", None, {"gender": "categorical"})
    reader = FeatureReader.learn("user_features", TABLE, {"age": "numeric"})
    with pytest.raises(ValueError, match="column 'age' must hold numbers, as in training, got String"):
        reader.read(pl.DataFrame({"age": ["old"]}), 1)


@pytest.mark.parametrize("kinds", [None, {"born": "categorical"}])
def test_a_column_that_no_artifact_can_keep_is_refused_before_training(kinds: dict[str, str] | None) -> None:
    born = [datetime.date(1990, 1, 1), datetime.date(2000, 1, 1)] * 4
    with pytest.raises(ValueError, match=r"column 'born' must hold texts, booleans or numbers, got Date; turn it into"):
        FeatureReader.learn("user_features", pl.DataFrame({"born": born}), kinds)
    with pytest.raises(ValueError, match=r"column 'days' must hold texts, booleans or numbers, got Date"):
        FeatureReader.learn("user_features", pl.DataFrame({"days": [born[:2], born[:1]]}), None)
    years = pl.DataFrame({"born": born}).with_columns(pl.col("born").dt.year(), is_old=pl.col("born") == born[0])
    reader = FeatureReader.learn("user_features", years, None)
    assert FeatureReader.from_json(json.loads(json.dumps(reader.as_json()))).columns == reader.columns


def test_a_reader_survives_an_artifact() -> None:
    reader = FeatureReader.learn("user_features", TABLE, None)
    again = FeatureReader.from_json(reader.as_json())
    assert again.columns == reader.columns
    with pytest.raises(ValueError, match="features must be a list of columns, got 3"):
        FeatureReader.from_json(3)
