from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from gossamer.data import Counts, Interactions, LabelledArrays, Sentences, Sequences, Vocabulary
from gossamer.report import Figure, KeyNumbers, Report, Table, data_section, render

WORDS = Vocabulary(["ham", "<eggs>", "spam"])


CONTAINERS = [
    Counts(csr_array([[2, 0, 1], [0, 0, 1]]), WORDS),
    Counts(csr_array((0, 3)), WORDS),
    Sentences(np.array([0, 2, 2]), np.array([0, 1, 3]), WORDS),
    Sentences(np.array([], dtype=int), np.array([0]), Vocabulary([])),
    Sequences(np.array([0, 1, 1]), np.array([0, 3])),
    Sequences(np.array([], dtype=int), np.array([0])),
    Sequences(np.zeros((5, 2)), np.array([0, 2, 5])),
    LabelledArrays(np.zeros((3, 4, 4)), np.array([0, 1, 1]), target_names=["a", "b"]),
    Interactions.from_pairs([], []),
]


@pytest.mark.parametrize("data", CONTAINERS, ids=repr)
def test_every_container_has_a_section(data, read_page):
    section = data_section(data)
    assert isinstance(section.blocks[0], KeyNumbers)
    read_page(render(Report("t", "", [section])))


def test_numbers_tail_and_most_frequent_items(interactions):
    tiles, figure, table = data_section(interactions).blocks
    assert isinstance(tiles, KeyNumbers)
    assert tiles.numbers["users"] == 40
    assert tiles.numbers["first day"] == "1970-01-01"
    assert isinstance(figure, Figure)
    assert len(figure.drawings) == 4
    assert isinstance(table, Table)
    counts = [row["users"] for row in table.rows]
    assert counts == sorted(interactions.item_counts, reverse=True)[:10]
    assert table.rows[0]["item"] == interactions.items[int(np.argmax(interactions.item_counts))]
    assert table.rows[0]["share"] == counts[0] / 40


def test_terms_are_counted_with_their_weights():
    table = data_section(Counts(csr_array([[2, 0, 1], [0, 0, 5]]), WORDS)).blocks[-1]
    assert isinstance(table, Table)
    assert table.rows == [{"term": "spam", "tokens": 6, "share": 0.75}, {"term": "ham", "tokens": 2, "share": 0.25}]


def test_times_that_are_no_seconds_are_shown_as_they_are():
    data = Interactions.from_pairs(["a"], ["b"], time=[2**62])
    assert data_section(data).blocks[0].numbers["last day"] == 2**62
