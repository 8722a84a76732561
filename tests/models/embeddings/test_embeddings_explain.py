from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from gossamer.data import Vocabulary
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.explain import item_clusters, largest_pairs, words_induced
from gossamer.testing.planted import planted_anchors

WORDS = Vocabulary(["year", "stock", "month", "summer", "bonds", "debt", "the"])
ANCHOR_IDS = np.array([0, 1])
TRANSFORM = np.array([[9, 0], [0, 9], [0.5, 0], [0.7, 0.1], [0, 0.9], [0.2, 0.8], [0, 0.0]])


def table() -> AnchorEmbedding:
    return AnchorEmbedding.from_codes(np.eye(2, 3), sparse.csr_array(TRANSFORM))


def test_words_induced_are_those_of_table_4() -> None:
    assert words_induced(table(), WORDS, 10, anchor_ids=ANCHOR_IDS) == [
        {"anchor": "stock", "objects": 3, "induces most": "bonds, debt, summer"},
        {"anchor": "year", "objects": 3, "induces most": "summer, month, debt"},
    ]
    shown = words_induced(table(), WORDS, 1, anchor_ids=ANCHOR_IDS)
    assert shown == [{"anchor": "stock", "objects": 3, "induces most": "bonds"}]


def test_anchors_without_objects_are_numbered_and_empty_ones_left_out() -> None:
    codes = sparse.csr_array(np.column_stack([TRANSFORM, np.zeros(7)]))
    rows = words_induced(AnchorEmbedding.from_codes(np.eye(3), codes), WORDS, 10)
    assert [row["anchor"] for row in rows] == ["anchor 1", "anchor 0"]
    assert rows[0]["induces most"] == "stock, bonds, debt, summer"


def test_largest_pairs_leave_out_the_anchors_own_rows() -> None:
    pairs = largest_pairs(table(), WORDS, 3, anchor_ids=ANCHOR_IDS)
    assert [(pair["object"], pair["anchor"]) for pair in pairs] == [
        ("bonds", "stock"),
        ("debt", "stock"),
        ("summer", "year"),
    ]
    assert pairs[0]["weight"] == pytest.approx(0.9)
    assert largest_pairs(table(), WORDS, 1)[0]["object"] == "year"


def test_clusters_name_items_and_what_their_features_share() -> None:
    features = pl.DataFrame(
        {
            "genres": [["Drama"], ["War"], ["Drama", "Comedy"], ["Drama"], ["War"], [], None],
            "year": [1990, 1991, 1990, 1990, 1991, 1991, 1999],
        },
        schema_overrides={"genres": pl.List(pl.String)},
    )
    rows = item_clusters(table(), list(WORDS), 3, features=features)
    assert rows == [
        {"anchor": "anchor 1", "objects": 4, "highest weights": "stock, bonds, debt", "genres": "War (2)"},
        {
            "anchor": "anchor 0",
            "objects": 4,
            "highest weights": "year, summer, month",
            "genres": "Drama (3), Comedy (1)",
        },
    ]
    by_year = item_clusters(table(), WORDS, 3, features=features, column="year")
    assert [row["year"] for row in by_year] == ["1991 (3)", "1990 (3)"]
    assert "genres" not in item_clusters(table(), WORDS)[0]


def test_planted_clusters_are_the_columns_of_the_planted_transform() -> None:
    planted = planted_anchors(random_state=0)
    items = AnchorEmbedding.from_codes(planted.item_anchors, sparse.csr_array(planted.item_transform))
    rows = item_clusters(items, planted.data.items, n=5)
    heaviest = int(planted.item_transform.sum(axis=0).argmax())
    assert rows[0]["anchor"] == f"anchor {heaviest}"
    best = np.argsort(-planted.item_transform[:, heaviest])[:5]
    assert rows[0]["highest weights"] == ", ".join(str(item) for item in best)
    assert len(rows) == 5


def test_rows_are_json_with_equal_keys() -> None:
    tables = [words_induced(table(), WORDS), largest_pairs(table(), WORDS), item_clusters(table(), WORDS)]
    json.dumps(tables, allow_nan=False)
    for rows in tables:
        assert len({tuple(row) for row in rows}) == 1


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="names must be 7, one per id, got 1"):
        words_induced(table(), ["a"])
    with pytest.raises(ValueError, match="anchor_ids must be 2, one per anchor, got 1"):
        largest_pairs(table(), WORDS, anchor_ids=np.array([1]))
    with pytest.raises(ValueError, match="n must be an integer >= 1, got 0"):
        item_clusters(table(), WORDS, 0)
    with pytest.raises(ValueError, match="features must have 7 rows and the column 'genres', got 2 rows of title"):
        item_clusters(table(), WORDS, features=pl.DataFrame({"title": ["a", "b"]}))
