"""What the page says about a model's codes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gossamer.report.blocks import Figure, Fold, KeyNumbers, Table
from gossamer.report.codes import codes_section
from gossamer.report.models import ModelResult, models_report
from gossamer.report.page import Report, render

CODES = sparse.csr_array(np.array([[1, 0, 1, 0], [0, 2, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]], dtype=np.float32))
BASIS = {"codes": CODES, "labels": np.array([0, 1, 0, 1]), "label_names": ["tea", "mate"], "limit": 3}
FEATURES = {"features": np.array([0, 2, 1]), "share": np.array([0.5, 0.25, 0.5, 0.0])}
PICTURES = BASIS | FEATURES | {
    "observed": np.full((2, 4, 4), 255, np.uint8),
    "rebuilt": np.full((2, 4, 4), 0.5),
    "prototypes": np.zeros((3, 4, 4)),
}  # fmt: skip
DOCUMENTS = BASIS | FEATURES | {
    "document_terms": [["leaf"], ["cup"]],
    "rebuilt_terms": [["leaf", "pot"], []],
    "prototype_terms": [["brew"], ["steam"], ["<milk>"]],
}  # fmt: skip


def test_pictures_have_tiles_histogram_map_reconstructions_and_prototypes(read_page):
    section = codes_section({"sparse-discrete-vae": PICTURES, "ease": {}})
    assert section is not None
    tiles, figure, rebuilt, meanings = section.blocks
    assert isinstance(tiles, KeyNumbers)
    assert tiles.numbers == {
        "features on, mean": 1.25,
        "features on, most": "2 of 3",
        "features ever on": "3 of 4",
        "different codes": "3 of 4",
    }
    assert isinstance(figure, Figure)
    assert [drawing.title for drawing in figure.drawings] == ["Observations by features on", "Map of codes"]
    assert isinstance(rebuilt, Figure)
    assert isinstance(meanings, Figure)
    page = read_page(render(Report("t", "", [section])))
    assert page.all("image") == []  # the page's policy would not show one
    assert len(page.all("svg")) == 5


def test_documents_have_tables_of_terms(read_page):
    section = codes_section({"m": DOCUMENTS})
    assert section is not None
    tables = [block for block in section.blocks if isinstance(block, Table)]
    assert [table.caption for table in tables] == [
        "Documents, and the terms that their codes make likelier",
        "What features mean",
    ]
    assert tables[1].rows[0] == {"feature": "0", "on in": "50.0 %", "raises": ["brew"]}
    page = read_page(render(Report("t", "", [section])))
    assert any("<milk>" in text for _, text in page.texts)


def test_models_without_codes_are_left_out():
    assert codes_section({"ease": {}}) is None
    assert codes_section({"empty": {"codes": sparse.csr_array((0, 3))}}) is None


def test_several_models_are_folds_and_little_is_enough():
    section = codes_section({"a": {"codes": CODES}, "b": PICTURES})
    assert section is not None
    assert [block.title for block in section.blocks if isinstance(block, Fold)] == ["a", "b"]


def test_zeros_that_are_stored_are_not_features():
    stored = sparse.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    section = codes_section({"m": {"codes": stored}})
    assert section is not None
    assert section.blocks[0].numbers["features on, mean"] == 1.0  # type: ignore[union-attr]


@pytest.mark.parametrize(("rebuilt", "white"), [(0.5, 1.0), (200.0, 255.0)])
def test_bytes_are_shown_on_the_decoders_scale(monkeypatch, rebuilt, white):
    shown = []
    monkeypatch.setattr("gossamer.report.codes.picture_rows", lambda title, rows, names, alt: shown.append(rows))
    codes_section({"m": PICTURES | {"rebuilt": np.full((2, 4, 4), rebuilt)}})
    assert shown[0][0].max() == white


def test_the_report_of_models_has_the_section():
    report = models_report(title="t", data=None, split=None, models={"m": ModelResult(codes=PICTURES)})
    assert [section.title for section in report.sections] == ["Its codes"]
