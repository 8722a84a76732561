"""A table of (sequence, time, values …) becomes Sequences, or a sentence says why not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gossamer.data.readers import read_sequences

STEPS = "who,time,x,y\nann,1,0.5,2\nbob,1,1.5,\nann,2,0.25,NaN\nbob,3,2,4\n"


def written(folder: Path, text: str, name: str = "steps.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_of_several_series_may_alternate_and_empty_fields_are_missing(tmp_path):
    data = read_sequences(written(tmp_path, STEPS), columns={"sequence": "who"})
    assert list(data.names) == ["ann", "bob"]
    assert list(data.vocabulary) == ["x", "y"]
    assert data.lengths.tolist() == [2, 2]
    np.testing.assert_array_equal(data.observations, [[0.5, 2], [0.25, np.nan], [1.5, np.nan], [2, 4]])


def test_chosen_values_true_states_and_parquet(tmp_path):
    frame = pl.DataFrame({"series": [7, 7, 8], "t": [0.1, 0.2, 0.1], "a": [1, 2, 3], "b": [4.0, None, 6.0]})
    frame = frame.with_columns(state=pl.Series([0, 1, 1]))
    frame.write_parquet(tmp_path / "steps.parquet")
    data = read_sequences(tmp_path / "steps.parquet", values="b")
    np.testing.assert_array_equal(data.observations, [[4], [np.nan], [6]])
    assert data.states.tolist() == [0, 1, 1]
    assert read_sequences(frame, values=["a", "b"]).observations.shape == (3, 2)


def test_categories_have_names_and_may_be_missing(tmp_path):
    text = "user,day,event\nann,2026-01-01,tea\nann,2026-01-02,\nann,2026-01-03,jam\n"
    data = read_sequences(written(tmp_path, text))
    assert list(data.vocabulary) == ["jam", "tea"]
    assert data.observations.tolist() == [1, -1, 0]
    assert data.describe()["missing"] == 1


def test_features_are_columns_or_another_table(tmp_path):
    text = "id,x,feature_a\n1,0,5\n1,1,5\n2,3,6\n"
    data = read_sequences(written(tmp_path, text))
    assert data.features.tolist() == [[5], [6]]
    other = written(tmp_path, "id,f,g\n2,3,4\n1,1,2\n9,0,0\n", "who.csv")
    data = read_sequences(written(tmp_path, "id,x\n1,0\n1,1\n2,3\n"), features=str(other))
    assert data.features.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("id,time,x\na,2,0\na,1,0\n", {}, r"steps.csv, line 3: times of 'a' must grow, got 1 after 2; sort the rows"),
        ("id,time,x\na,2,0\nb,1,0\na,2,0\n", {}, r"line 4: times of 'a' must grow, got 2 twice; add up or drop"),
        ("id,time,x\na,soon,0\n", {}, r"line 2: time must be a time in seconds or a date"),
        ("id,time,x\na,1,ten\n", {}, r"line 2: x must be a finite number, or empty where it is missing, got 'ten'"),
        ("id,time,x\na,1,inf\n", {}, r"line 2: x must be a finite number"),
        ("id,x,state\na,1,up\n", {}, r"line 2: state must be a state 0, 1, 2 …, got 'up'"),
        ("when,x\n1,2\n", {}, r"must have a column of sequence ids, got the columns 'when', 'x'"),
        ("id,time\na,1\n", {}, r"must have a column of values or of categories"),
        ("id,x\na,1\n", {"values": "z"}, r"values must be columns of .*steps.csv, got 'z'"),
        ("id,x\na,1\n", {"values": "id"}, r"values must be columns without another role, got \['id'\]"),
        ("id,event\na,tea\n", {"values": "event"}, r"values must be left out where a column holds categories"),
        ("id,event\na,\n", {}, r"categories must be named in at least one step, got none"),
        ("id,x,feature\na,1,2\na,1,3\n", {}, r"line 3: feature must be one number for all of 'a', got 3 after 2"),
        ("id,x,feature\na,1,\n", {}, r"line 2: feature must be one number for all of 'a', got nothing"),
        ("id,x\n", {}, r"must have at least one step, got none"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, options, message):
    with pytest.raises(ValueError, match=message):
        read_sequences(written(tmp_path, text), **options)


def test_series_without_features_are_named(tmp_path):
    other = written(tmp_path, "id,f\n1,3\n", "who.csv")
    with pytest.raises(ValueError, match=r"who.csv must describe every series of .*steps.csv, got none of '2'"):
        read_sequences(written(tmp_path, "id,x\n1,0\n2,1\n"), features=str(other))
    other = written(tmp_path, "id,f\n1,\n", "who.csv")
    with pytest.raises(ValueError, match=r"who.csv: f must be a number for '1', got nothing"):
        read_sequences(written(tmp_path, "id,x\n1,0\n"), features=str(other))
