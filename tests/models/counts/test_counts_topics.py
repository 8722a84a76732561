"""Topics against a sort of the whole Jacobian, planted topics found again, and names of documents."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from gossamer.data import Counts, Interactions, Vocabulary
from gossamer.models.counts.diagnostics.jacobian import log_prob_jacobian
from gossamer.models.counts.module import Decoder
from gossamer.models.counts.topics import (
    document_names,
    documented_topics,
    find_topics,
    topic_coherence,
    topic_tables,
)
from gossamer.testing.planted import planted_topics


def make_decoder(num_terms=30, latent_dim=4, hidden_dims=()) -> Decoder:
    return Decoder(num_terms, latent_dim, hidden_dims, activation="tanh", init_range=0.8).double()


@pytest.mark.parametrize("hidden_dims", [(), (6, 5)])
def test_topics_are_the_ends_of_the_sorted_and_turned_jacobian(hidden_dims):
    decoder = make_decoder(hidden_dims=hidden_dims)
    probs = decoder.logits(torch.zeros(1, 4, dtype=torch.float64)).softmax(1)[0].detach().numpy()
    topics = find_topics(decoder, 5)
    np.testing.assert_allclose(topics.axes.T @ topics.axes, np.eye(4), atol=1e-12)
    jacobian = log_prob_jacobian(decoder).numpy() @ topics.axes
    strengths = np.sqrt((probs[:, None] * jacobian**2).sum(axis=0))
    assert (np.diff(strengths) <= 0).all()
    np.testing.assert_allclose(topics.strengths, strengths)
    assert ((probs[:, None] ** 1.5 * jacobian**3).sum(axis=0) >= 0).all(), "the longer tail is raised"
    for row in range(4):
        rising = np.argsort(jacobian[:, row])
        np.testing.assert_array_equal(topics.lowered[row], rising[:5])
        np.testing.assert_array_equal(topics.raised[row], rising[::-1][:5])
        np.testing.assert_allclose(topics.raises[row], jacobian[topics.raised[row], row])
        np.testing.assert_allclose(topics.lowers[row], jacobian[topics.lowered[row], row])


def test_the_axes_that_training_left_do_not_matter():
    decoder = make_decoder()
    before = find_topics(decoder, 6)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    with torch.no_grad():
        decoder.weight.copy_(decoder.weight @ torch.from_numpy(turn))
    after = find_topics(decoder, 6)
    np.testing.assert_array_equal(after.raised, before.raised)
    np.testing.assert_allclose(after.raises, before.raises, rtol=1e-4)
    np.testing.assert_allclose(after.axes, turn.T @ before.axes, atol=1e-4)


def test_renumbered_terms_are_the_same_topics():
    decoder = make_decoder()
    before = find_topics(decoder, 4)
    order = np.random.default_rng(0).permutation(30)
    with torch.no_grad():
        decoder.weight.copy_(decoder.weight[torch.from_numpy(order)])
        decoder.bias.copy_(decoder.bias[torch.from_numpy(order)])
    np.testing.assert_array_equal(order[find_topics(decoder, 4).raised], before.raised)


def test_equal_terms_come_in_their_order_and_few_terms_all():
    decoder = make_decoder(num_terms=6, latent_dim=1)
    with torch.no_grad():
        decoder.weight.copy_(torch.tensor([[1.0], [-1], [1], [-1], [1], [-1]]))
        decoder.bias.zero_()
    assert find_topics(decoder, 2).raised.tolist() == [[0, 2]]
    assert find_topics(decoder, 99).raised.tolist() == [[0, 2, 4, 1, 3, 5]]
    table = topic_tables(decoder, Vocabulary(list("abcdef")), 99)["topics"]
    one = pytest.approx(1.0)
    assert table == [{"direction": "1", "strength": one, "raises": ["a", "c", "e"], "lowers": ["b", "d", "f"]}]


def test_planted_topics_are_coherent_when_the_decoder_knows_them():
    planted = planted_topics(num_documents=300, num_terms=50, num_topics=5, words_per_document=25, concentration=0.1)
    decoder = make_decoder(num_terms=50)
    mean = planted.topics.mean(axis=0)
    with torch.no_grad():  # a direction each for four of the topics, the fifth is where there is no other
        decoder.weight.copy_(torch.from_numpy(np.log(planted.topics[:4] / mean).clip(0).T))
        decoder.bias.copy_(torch.from_numpy(np.log(mean)))
        mixed = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]  # no axis is a topic by itself
        decoder.weight.copy_(decoder.weight @ torch.from_numpy(mixed))
    topics = find_topics(decoder, 5)
    blocks = topics.raised // 10  # term t belongs to topic t // 10
    assert (blocks == blocks[:, :1]).all()
    assert sorted(blocks[:, 0].tolist()) == [0, 1, 2, 3]
    raised = topic_coherence(decoder, planted.data.matrix, 5)
    chance = topic_coherence(make_decoder(num_terms=50), planted.data.matrix, 5)
    assert raised["npmi"] > chance["npmi"]
    assert 0 < raised["topic_diversity"] <= 1


def test_a_single_term_has_no_coherence():
    found = topic_coherence(make_decoder(num_terms=1, latent_dim=2), csr_array([[3.0]]))
    assert math.isnan(found["npmi"])


def test_documents_stand_at_the_end_their_code_points_to():
    decoder = make_decoder(num_terms=8, latent_dim=2)
    axes = find_topics(decoder).axes
    reference = csr_array(np.eye(4, 8) + 1)
    along = np.array([[2.0, -1.0], [-3.0, -2.0], [1.0, 0.0], [-1.0, -4.0]])
    codes = (along @ axes.T).round(12)
    rows = documented_topics(decoder, Vocabulary.numbered(8), reference, codes, ["a", "b", "c", "d"], num_documents=2)
    assert [row["direction"] for row in rows] == ["1", "2"]
    assert rows[0]["documents that raise"] == ["a", "c"]
    assert rows[0]["documents that lower"] == ["b", "d"]
    assert "a" not in rows[1]["documents that raise"]
    assert rows[1]["documents that lower"] == ["d", "b"]
    assert all(-1 <= row["npmi raised"] <= 1 for row in rows)
    one = documented_topics(decoder, Vocabulary.numbered(8), reference, codes, list("abcd"), num_directions=1)
    assert one == [documented_topics(decoder, Vocabulary.numbered(8), reference, codes, list("abcd"))[0]]


def test_documents_are_called_by_id_number_and_class():
    terms, matrix = Vocabulary(["ham", "eggs"]), csr_array([[1.0, 0], [0, 2]])
    assert document_names(Counts(matrix, terms)) == ["document 1", "document 2"]
    named = Counts(matrix, terms, Vocabulary(["x", "y"]), labels=np.array([1, 0]), label_names=["old", "new"])
    assert document_names(named) == ["x (new)", "y (old)"]
    assert document_names(matrix) == document_names(np.eye(2)) == ["document 1", "document 2"]
    assert document_names(Interactions.from_pairs(["ann", "bob"], ["tea", "tea"])) == ["ann", "bob"]


def test_mistakes_are_answered_with_a_sentence():
    decoder, terms = make_decoder(num_terms=3), Vocabulary(["a", "b", "c"])
    with pytest.raises(ValueError, match="n must be an integer >= 1, got 0"):
        find_topics(decoder, 0)
    with pytest.raises(ValueError, match="terms must be the 3 terms of the decoder, got 2"):
        topic_tables(decoder, Vocabulary(["a", "b"]))
    with pytest.raises(ValueError, match="as many as the documents of reference, 1, got 2 and 1"):
        documented_topics(decoder, terms, csr_array([[1.0, 0, 0]]), np.zeros((2, 4)), ["a"])
    with pytest.raises(ValueError, match="topics must be columns 0 … 1 of the reference"):
        topic_coherence(decoder, csr_array([[1.0, 0]]))
