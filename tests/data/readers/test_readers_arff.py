from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer.data.readers import read_multilabel

HEADER = """% a remark
@RELATION 'some birds'

@attribute 'wing span' numeric
@ATTRIBUTE weight REAL
@attribute place {2,10,1}
@attribute colour {red, 'light blue', "dark \\"green\\""}
@attribute Wren {0,1}
@attribute "Brown Creeper" {0,1}
"""
DENSE = HEADER + "@data\n1.5,-2e-1,10,'light blue',0,1\n\n% more\n0, 3, 2, red, 1, 0\n"
XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="Brown Creeper"></label><label name="Wren"></label>
</labels>"""


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_dense_rows(tmp_path: Path) -> None:
    data = read_multilabel(write(tmp_path / "a.arff", DENSE), labels=write(tmp_path / "a.xml", XML))
    np.testing.assert_allclose(data.inputs, [[1.5, -0.2, 10, 1], [0, 3, 2, 0]], rtol=1e-6)
    assert data.targets is not None
    assert data.targets.tolist() == [[1, 0], [0, 1]]
    assert data.target_names == ("Brown Creeper", "Wren")
    assert data.input_names == ("wing span", "weight", "place", "colour")


def test_sparse_rows_fill_with_zero_or_the_first_value(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arff", HEADER + "@DATA\n{0 1.5, 3 'light blue',5 1}\n{ }\n")
    data = read_multilabel(path, labels=["Wren", "Brown Creeper"])
    assert data.inputs.tolist() == [[1.5, 0, 2, 1], [0, 0, 2, 0]]
    assert data.targets is not None
    assert data.targets.tolist() == [[0, 1], [0, 0]]


def test_labels_as_the_last_attributes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arff", DENSE.replace(",0,1\n", ",0,1.0\n"))
    data = read_multilabel(path, labels=2)
    assert data.target_names == ("Wren", "Brown Creeper")
    assert data.targets is not None
    assert data.targets.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "line 1 must be @relation, @attribute or @data, got 'hello'"),
        ("@relation a\n", "must have a @data line, got none"),
        ("@data\n1\n", "line 1 must follow @attribute lines, got @data first"),
        ("@attribute a\n@data\n", "line 1 must be '@attribute name type', got '@attribute a'"),
        ("@attribute a string\n", r"line 1 must be numeric or a list of values \{a,b\}, got 'string' for 'a'"),
        ("@attribute a real\n@attribute a real\n@data\n", "must name each attribute once"),
        (HEADER + "@data\n", "must have at least one row below @data, got none"),
        (HEADER + "@data\n1,2,3\n", "line 11 must have 6 values, got 3"),
        (HEADER + "@data\n?,0,1,red,0,1\n", r"line 11: wing span must be a finite number, got '\?'"),
        (HEADER + "@data\nnan,0,1,red,0,1\n", "line 11: wing span must be a finite number, got 'nan'"),
        (HEADER + "@data\n1e99,0,1,red,0,1\n", "line 11: wing span must be a finite number, got '1e99'"),
        (HEADER + "@data\n1,0,7,red,0,1\n", "line 11: place must be one of 2, 10, 1, got '7'"),
        (HEADER + "@data\n1,0,1,1,0,1\n", "line 11: colour must be one of red, light blue, .*, got '1'"),
        (HEADER + "@data\n{9 1}\n", r"line 11 must have entries 'column value' with columns 0 … 5, got '9 1'"),
        (HEADER + "@data\n{-1 1}\n", "line 11 must have entries 'column value'"),
        (HEADER + "@data\n{0 1\n", r"line 11 must close its sparse row with '\}'"),
        (HEADER + "@data\n1,'x,1,red,0,1\n", "line 11 must be values separated by commas"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"a.arff.* ?{message}"):
        read_multilabel(write(tmp_path / "a.arff", text), labels=2)


def test_bad_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arff", DENSE)
    with pytest.raises(ValueError, match=r"labels must be different attributes of .*a.arff, got 'Owl'"):
        read_multilabel(path, labels=["Owl"])
    with pytest.raises(ValueError, match="labels must be different attributes"):
        read_multilabel(path, labels=["Wren", "Wren"])
    with pytest.raises(ValueError, match="labels must be between 1 and 5 of the last attributes, got 6"):
        read_multilabel(path, labels=6)
    with pytest.raises(ValueError, match=r"must have labels 0 or 1, got 10.0 for 'place' in row 0"):
        read_multilabel(path, labels=["place"])
    with pytest.raises(ValueError, match=r"a.xml must be Mulan's label XML, got: "):
        read_multilabel(path, labels=write(tmp_path / "a.xml", "<labels>"))
    with pytest.raises(ValueError, match=r'a.xml must list <label name="…"> elements, got 0'):
        read_multilabel(path, labels=write(tmp_path / "a.xml", "<labels/>"))
