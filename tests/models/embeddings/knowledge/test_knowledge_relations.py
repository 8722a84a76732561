from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from gossamer import datasets
from gossamer.data import Vocabulary
from gossamer.data.text import build_sentences
from gossamer.models.embeddings.knowledge.relations import Relations, free_entries
from gossamer.testing.planted import planted_communities

WORDS = Vocabulary(["stock", "bond", "year", "month", "tea"])


def test_edges_in_any_form_are_one_symmetric_graph_without_loops() -> None:
    edges = [("stock", "bond"), ("bond", "stock"), ("year", "month"), ("tea", "tea")]
    graph = Relations.from_edges(edges, WORDS)
    expected = np.zeros((5, 5), dtype=bool)
    expected[[0, 1, 2, 3], [1, 0, 3, 2]] = True
    np.testing.assert_array_equal(graph.pairs.toarray(), expected)
    table = pl.DataFrame(edges, schema=["from", "to"], orient="row")
    np.testing.assert_array_equal(Relations.from_edges(table, WORDS).pairs.toarray(), expected)
    numbered = Relations.from_edges([(0, 1), (2, 3)], Vocabulary.numbered(5))
    np.testing.assert_array_equal(numbered.pairs.toarray(), expected)
    assert len(graph) == 2
    assert repr(graph) == "Relations(5 objects, 2 related pairs)"
    assert graph.describe() == {
        "objects": 5,
        "related_pairs": 2,
        "objects_with_relations": 4,
        "median_relations": 1.0,
        "most_relations": 1,
    }


def test_unknown_ids_are_named_or_dropped_on_request() -> None:
    edges = [("stock", "bond"), ("stock", "coffee")]
    message = "edges must name ids of the vocabulary, got 'coffee' in edge 1; unknown='drop' leaves such edges out"
    with pytest.raises(ValueError, match=message):
        Relations.from_edges(edges, WORDS)
    with pytest.raises(ValueError, match="edges must name ids of the vocabulary, got 7 in edge 0"):
        Relations.from_edges([(7, 1)], Vocabulary.numbered(5))
    assert len(Relations.from_edges(edges, WORDS, unknown="drop")) == 1


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="unknown must be one of 'error', 'drop', got 'keep'"):
        Relations.from_edges([], WORDS, unknown="keep")
    with pytest.raises(ValueError, match="edges must be pairs of ids, got 'ab'"):
        Relations.from_edges(["ab"], WORDS)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="edges must have two columns of ids, got 1"):
        Relations.from_edges(pl.DataFrame({"a": ["stock"]}), WORDS)
    with pytest.raises(ValueError, match=r"pairs must be a square matrix over all objects, got shape \(2, 3\)"):
        Relations(sparse.csr_array((2, 3), dtype=bool))
    with pytest.raises(ValueError, match="vocabulary must consist of words for WordNet, got integers such as 0"):
        Relations.from_wordnet(Vocabulary.numbered(3))
    with pytest.raises(ValueError, match="data must be Sentences or Interactions, got list"):
        Relations.from_cooccurrence([])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="relations must be over the same 5 objects, got 2"):
        _ = Relations.from_edges([], WORDS) | Relations(sparse.csr_array((2, 2), dtype=bool))
    with pytest.raises(ValueError, match="anchor_ids must be from 0 to 4, got 1 to 5"):
        free_entries(Relations.from_edges([], WORDS), np.array([1, 5]))


def test_no_edges_are_a_graph_too() -> None:
    graph = Relations.from_edges([], WORDS)
    assert len(graph) == 0
    assert graph.are_related([], []).tolist() == []
    assert graph.describe()["most_relations"] == 0


@settings(max_examples=30)
@given(
    st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6))), st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)))
)
def test_union_and_membership_are_those_of_sets(first: set[tuple[int, int]], second: set[tuple[int, int]]) -> None:
    objects = Vocabulary.numbered(7)
    both = Relations.from_edges(first, objects) | Relations.from_edges(second, objects)
    related = {pair for edge in first | second for pair in (edge, edge[::-1]) if edge[0] != edge[1]}
    everything = list(itertools.product(range(7), repeat=2))
    answers = both.are_related([u for u, _ in everything], [v for _, v in everything])
    assert {pair for pair, answer in zip(everything, answers, strict=True) if answer} == related


def test_free_entries_are_the_related_objects_of_each_anchor_and_itself() -> None:
    graph = Relations.from_edges([("stock", "bond"), ("tea", "stock"), ("year", "month")], WORDS)
    free = free_entries(graph, np.array([3, 0]))
    assert free.dtype == bool
    np.testing.assert_array_equal(
        free.toarray(), [[False, True], [False, True], [True, False], [True, False], [False, True]]
    )


def test_words_in_one_window_are_related() -> None:
    sentences = build_sentences(["a b c d", "c a"], unknown=None)
    place = {word: index for index, word in enumerate(sentences.vocabulary)}
    graph = Relations.from_cooccurrence(sentences, window=1)
    assert graph.are_related([place["a"], place["a"]], [place["c"], place["d"]]).tolist() == [True, False]
    assert len(Relations.from_cooccurrence(sentences, window=10)) == 6
    assert len(Relations.from_cooccurrence(sentences, window=10, min_count=2)) == 1


def test_items_of_one_community_are_related() -> None:
    planted = planted_communities(outside=0.0, random_state=0)
    graph = Relations.from_cooccurrence(planted.data).pairs.tocoo()
    assert (planted.item_communities[graph.row] == planted.item_communities[graph.col]).all()
    assert graph.nnz > 0


def test_wordnet_relates_words_of_the_vocabulary_only(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame(
        {
            "word": ["stock", "stock", "year"],
            "relation": ["hypernym", "synonym", "hyponym"],
            "other": ["capital", "bond", "month"],
            "pos": ["noun"] * 3,
        }
    )
    asked = []

    def load(name: str, *, relations: tuple[str, ...]) -> pl.DataFrame:
        asked.append((name, relations))
        return table.filter(pl.col("relation").is_in(relations))

    monkeypatch.setattr("gossamer.models.embeddings.knowledge.relations.datasets.load", load)
    assert len(Relations.from_wordnet(WORDS)) == 2
    assert len(Relations.from_wordnet(WORDS, relations=("synonym",))) == 1
    assert asked[0] == ("wordnet", ("hypernym", "hyponym", "synonym", "antonym"))


@pytest.mark.data
def test_real_wordnet_relates_wider_words_synonyms_and_opposites() -> None:
    if datasets.locate("wordnet") is None:
        pytest.skip("no WordNet on this machine; apt-get install wordnet-base")
    words = ["stock", "capital", "car", "automobile", "good", "evil", "banana"]
    graph = Relations.from_wordnet(Vocabulary(words))
    assert graph.are_related([0, 2, 4, 0], [1, 3, 5, 6]).tolist() == [True, True, True, False]
