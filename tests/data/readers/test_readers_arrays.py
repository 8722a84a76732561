"""Rows of numbers with labels or classes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from gossamer.data.readers import read_arrays

TEXT = "x,y,sad,gay\n0.5, 1 ,1,0\n2,-3e1,0,1\n"


@pytest.fixture
def moods(tmp_path):
    path = tmp_path / "moods.csv"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("labels", ["sad,gay", ["sad", "gay"], 2])
def test_labels_by_name_or_number(moods, labels):
    data = read_arrays(moods, labels=labels)
    np.testing.assert_array_equal(data.inputs, np.array([[0.5, 1], [2, -30]], dtype=np.float32))
    assert data.targets.tolist() == [[1, 0], [0, 1]]
    assert (data.input_names, data.target_names) == (("x", "y"), ("sad", "gay"))


def test_without_labels_everything_is_an_input(moods):
    data = read_arrays(moods)
    assert data.inputs.shape == (2, 4)
    assert data.targets is None
    assert data.target_names is None


def test_classes_are_numbered_in_their_order(tmp_path):
    path = tmp_path / "digits.csv"
    path.write_text("x,digit\n1,10\n2,9\n3,10\n")
    data = read_arrays(path, target="digit")
    assert data.targets.tolist() == [1, 0, 1]
    assert data.target_names == ("9", "10")
    named = read_arrays(pl.DataFrame({"x": [1, 2], "kind": ["spam", "ham"]}), target="kind")
    assert (named.targets.tolist(), named.target_names) == ([1, 0], ("ham", "spam"))


def test_parquet_and_frames_are_read_alike(moods, tmp_path):
    frame = pl.DataFrame({"x": [0.5, 2.0], "y": [1, -30], "sad": [1, 0], "gay": [0, 1]})
    frame.write_parquet(tmp_path / "moods.parquet")
    assert (
        read_arrays(tmp_path / "moods.parquet", labels=2).fingerprint()
        == read_arrays(frame, labels=2).fingerprint()
        == read_arrays(moods, labels=2).fingerprint()
    )


def test_arff_takes_labels_by_name_and_by_number(tmp_path):
    path = tmp_path / "moods.arff"
    path.write_text("@relation m\n@attribute x numeric\n@attribute sad {0,1}\n@attribute gay {0,1}\n@data\n1,1,0\n")
    assert read_arrays(path, labels="gay,sad").targets.tolist() == [[0, 1]]
    assert read_arrays(path, labels=2).targets.tolist() == [[1, 0]]
    with pytest.raises(ValueError, match=r"labels must say which attributes of .*moods.arff are labels.*, got None$"):
        read_arrays(path)
    with pytest.raises(ValueError, match="got None and target='sad'"):
        read_arrays(path, target="sad")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("x,a\n1,\n", {"labels": 1}, r"line 2: a must be a finite number, got nothing"),
        ("x,a\n1,2.5\n", {"labels": 1}, r"line 2: a must be a label, 0 or 1, or a count, got '2.5'"),
        ("x,a\n1,-1\n", {"labels": 1}, r"line 2: a must be a label, 0 or 1, or a count, got '-1'"),
        ("x,a\n1,1\nnan,0\n", {"labels": 1}, r"line 3: x must be a finite number, got 'nan'"),
        ("x,a\nham,1\n", {}, r"line 2: x must be a finite number, got 'ham'"),
        ("x,a\n1,\n", {"target": "a"}, r"line 2: a must be a class, got nothing"),
        ("x,a\n1,1\n", {"target": "b"}, r"target must be of .*, got 'b'; it has \['x', 'a'\]"),
        ("x,a\n1,1\n", {"labels": "a,a"}, r"labels must be at least one column, each once, got 'a,a'"),
        ("x,a\n1,1\n", {"labels": 2}, r"labels must be 1 to 1 of the last columns, got 2"),
        ("x,a\n1,1\n", {"labels": "x,a"}, r"must have a column besides x, a, got none"),
        ("x,a\n1,1\n", {"labels": 1, "target": "a"}, r"labels and target must not both be given, got 1 and 'a'"),
        ("x,a\n", {"labels": 1}, r"must have at least one row, got none"),
    ],
)
def test_bad_tables_are_named(tmp_path, text, options, message):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_arrays(path, **options)
