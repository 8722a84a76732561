from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.data.vocabulary import Vocabulary
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.rivals.low_rank import LowRankEmbedding
from gossamer.models.embeddings.table import EmbeddingTable
from gossamer.models.embeddings.tables import TABLES
from gossamer.models.embeddings.text.text_tables import (
    ANCHOR_INITS,
    WordTable,
    explain_table,
    size_report,
    word_counts,
)
from gossamer.testing.contracts import two_topics

TEXTS = two_topics().train


def built(**settings: object) -> EmbeddingTable:
    given = {"method": "ant", "embedding_dim": 8, "num_anchors": 5, "num_slots": 3, **settings}
    table_settings = WordTable(**given)
    table_settings.check()
    return table_settings.build(TEXTS)


@pytest.mark.parametrize("init", ANCHOR_INITS)
def test_every_start_gives_vectors_of_the_usual_size(init: str):
    table = built(anchor_init=init)
    assert isinstance(table, AnchorEmbedding)
    assert (table.num_anchors, table.num_slots) == (5, 3)
    assert 0.03 < table.weight.square().mean().sqrt().item() < 0.3
    if init != "frequency-codes":  # whose anchors are words, of weight 1
        entries = table.values[table.values > 0]
        assert entries.square().mean().sqrt().item() == pytest.approx(0.1, rel=1e-4)
    again = built(anchor_init=init)
    assert torch.equal(again.weight, table.weight)


def test_coded_start_puts_like_words_together():
    table = built(anchor_init="codes", num_anchors=6)
    vectors = torch.nn.functional.normalize(table.weight, dim=1)
    topics = [[index for index, word in enumerate(TEXTS.vocabulary) if str(word)[0] == topic] for topic in "ab"]
    likeness = vectors @ vectors.T
    within = np.mean([likeness[np.ix_(topic, topic)].mean().item() for topic in topics])
    assert within > likeness[np.ix_(*topics)].mean().item() + 0.1


def test_frequent_words_are_anchors_and_others_are_coded_over_them():
    table = built(anchor_init="frequency-codes", num_anchors=6)
    assert isinstance(table, AnchorEmbedding)
    transform = table.transform().toarray()
    counts = np.bincount(TEXTS.tokens, minlength=len(TEXTS.vocabulary))
    own = np.flatnonzero((transform == 1).any(axis=1) & ((transform > 0).sum(axis=1) == 1))
    assert len(own) == 6
    assert counts[own].min() >= np.delete(counts, own).max()
    assert sorted(transform[own].argmax(axis=1)) == list(range(6))
    # Among equals the first become anchors, which are of topic a: its words use them, those of topic b do not.
    topic = np.array([str(word)[0] if str(word)[-1].isdigit() else "" for word in TEXTS.vocabulary])
    of_a = transform[own[topic[own] == "a"]].argmax(axis=1)
    assert len(of_a) == 4
    assert (transform[np.setdiff1d(np.flatnonzero(topic == "a"), own)][:, of_a] > 0).any(axis=1).all()
    assert not transform[np.ix_(topic == "b", of_a)].any()


def test_related_entries_are_exempt():
    table = built(anchor_init="frequency", relations="cooccurrence")
    assert isinstance(table, AnchorEmbedding)
    assert table.exempt is not None
    assert table.exempt.any()
    assert built(anchor_init="frequency").exempt is None


@pytest.mark.parametrize("method", sorted(set(TABLES) - {"ant", "dense", "ant-mixture", "codes", "int8"}))
def test_every_method_is_built_and_stored_at_its_ratio(method: str):
    settings = WordTable(method, 8, ratio=1.8)
    settings.check()
    trained = settings.build(TEXTS)
    stored = settings.convert(trained, TEXTS)
    assert stored.method == method
    assert stored.num_values() <= len(TEXTS.vocabulary) * 8 / 1.8
    assert stored.weight.shape == (len(TEXTS.vocabulary), 8)


def test_numbers_beside_the_table_are_paid_for_by_it():
    settings = WordTable("lowrank", 8, ratio=2.0, numbers_beside=1)
    table = settings.build(TEXTS)
    assert isinstance(table, LowRankEmbedding)
    num_words = len(TEXTS.vocabulary)
    assert table.num_values() + num_words <= num_words * 8 / 2
    assert WordTable("dense", 8, ratio=1.0, numbers_beside=1).table_ratio == 1


def test_pruning_is_made_where_the_shape_is_larger_than_the_ratio():
    large = WordTable("ant", 8, num_anchors=4, ratio=2.0)
    pruning = large.pruning(large.build(TEXTS), TEXTS, 10)
    assert pruning is not None
    assert pruning.num_entries == int(len(TEXTS.vocabulary) * 8 / 2) - 32
    small = WordTable("ant", 8, num_anchors=4, num_slots=1, ratio=2.0)
    assert small.pruning(small.build(TEXTS), TEXTS, 10) is None
    assert WordTable("lowrank", 8, ratio=2.0).pruning(built(), TEXTS, 10) is None
    many = WordTable("ant", 8, num_anchors=14, ratio=2.0)
    table = many.build(TEXTS)
    with pytest.raises(ValueError, match=r"ratio must leave room for more than 14 anchors, got 2"):
        many.pruning(table, TEXTS, 10)


def test_words_are_counted_per_text():
    counts = word_counts(TEXTS)
    for row in (0, 7):
        expected = np.bincount(TEXTS[[row]].tokens, minlength=len(TEXTS.vocabulary))
        np.testing.assert_array_equal(counts[[row]].toarray()[0], expected)


def test_size_and_explanation():
    table = built()
    report = size_report(table)
    assert report["dense_values"] == 8 * len(TEXTS.vocabulary)
    assert report["ratio"] == report["dense_values"] / table.num_values()
    tables = explain_table(table, TEXTS.vocabulary, 2)
    assert set(tables) == {"longest vectors", "words an anchor induces", "largest pairs"}
    lengths = [row["length"] for row in tables["longest vectors"]]
    assert lengths == sorted(lengths, reverse=True)
    assert set(explain_table(LowRankEmbedding(3, 4, rank=1), Vocabulary(["x", "y", "z"]), 2)) == {"longest vectors"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "magic"}, r"method must be one of .*, got 'magic'"),
        ({"ratio": 0.5}, r"ratio must be a finite number >= 1, got 0.5"),
        ({"ratio": 9.0, "numbers_beside": 1}, r"ratio must be below embedding_dim, 8, got 9.0"),
        ({"method": "lowrank"}, r"num_anchors must be None for method 'lowrank', got 5"),
        ({"anchor_init": "best"}, r"anchor_init must be one of .*, got 'best'"),
        ({"features": "bert"}, r"features must be one of 'cooccurrence', 'glove', got 'bert'"),
        ({"relations": "some"}, r"relations must be one of .*, got 'some'"),
        ({"options": 3}, r"options must be a mapping of arguments of the table, got 3"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        built(**settings)


@pytest.mark.data
def test_glove_features_are_found_by_word():
    features = WordTable("ant", 8, num_anchors=2, features="glove")._features(TEXTS)
    known = [index for index, word in enumerate(TEXTS.vocabulary) if word == "and"]
    assert features[known].any()
    assert features.shape == (len(TEXTS.vocabulary), 50)
