"""Heat maps of classes."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gossamer.report.blocks import Figure, KeyNumbers
from gossamer.report.class_patterns import class_blocks
from gossamer.report.codes import codes_section
from gossamer.report.page import Report, render

FOUND = {
    "patterns": np.array([[1.0, 0.2, 0.0], [np.nan, np.nan, np.nan]]),
    "pattern_spread": 0.25,
    "class_word_kl": np.array([[0.0, 1.5], [2.5, 0.0]]),
    "label_names": ("tea", "mate"),
}


def test_classes_are_rows_of_two_heat_maps():
    tiles, figure = class_blocks(FOUND)
    assert isinstance(tiles, KeyNumbers)
    assert tiles.numbers["divergence of classes' words, mean"] == 2.0
    assert isinstance(figure, Figure)
    assert "2 classes" in figure.drawings[0].alt
    assert "up to 2.5 nats" in figure.drawings[1].alt
    assert class_blocks({}) == []


def test_they_are_part_of_the_codes_of_sentences(read_page):
    codes = {"codes": sparse.csr_array(np.eye(3, dtype=np.float32)), "labels": np.array([0, 1, 0])}
    speakers = {"dimension_sentences": [{"dimension": "2", "value": 1.5, "sentence": "a kettle"}]}
    words = speakers | {"sentences": ["a cup", "a pot"], "rebuilt_sentences": ["a cup", "a <b>"]}
    section = codes_section({"sentence-vae": FOUND | codes | words})
    page = render(Report("t", "", [section]))
    assert "Dimensions that are off, by class" in page
    assert "a &lt;b&gt;" in page
    assert "a kettle" in page
    read_page(page)
