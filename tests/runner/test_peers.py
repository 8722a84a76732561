"""Peers behind our face: the same data, the same fold-in, the same lists."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.metrics.likelihood import perplexity_per_token
from gossamer.runner import peers
from gossamer.testing.planted import planted_topics

SETTINGS = {
    "implicit-als": {"factors": 4, "iterations": 5},
    "irspack-ease": {"reg": 1.0},
    "irspack-ials": {"n_components": 4, "train_epochs": 5},
    "irspack-slim": {"alpha": 0.001},
}


def two_blocks() -> Interactions:
    """Users of even number like items 0 … 5, the others 6 … 11; each misses one item of their block."""
    users, items = [], []
    for user in range(24):
        block = range(6) if user % 2 == 0 else range(6, 12)
        for item in block:
            if item % 6 != user // 2 % 6:
                users.append(user)
                items.append(item)
    return Interactions.from_pairs(users, items, item_ids=Vocabulary.numbered(12))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_peer_recommends_the_missing_items_of_the_block_to_new_users(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    library = peers.find(name).library
    pytest.importorskip(library)
    data = two_blocks()
    model = peers.find(name)(**SETTINGS[name]).fit(data)
    newcomers = Interactions.from_pairs(["ann"] * 4 + ["bob"] * 4, [0, 1, 2, 3, 6, 7, 8, 9], item_ids=data.items)
    best = model.recommend(newcomers, 2)
    assert best.items.shape == best.scores.shape == (2, 2)
    assert capsys.readouterr().out == "", "standard output is for tables and JSON"
    assert set(best.items[0]) == {4, 5}
    assert set(best.items[1]) == {10, 11}
    seen = model.recommend(newcomers, 12, exclude_seen=False)
    assert np.sort(seen.items, axis=1).tolist() == [list(range(12))] * 2


def test_lists_do_not_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("irspack")
    data = two_blocks()
    model = peers.find("irspack-ease")(reg=1.0).fit(data)
    whole = model.recommend(data, 3)
    monkeypatch.setattr(peers, "batch_rows", lambda _: 5)
    assert np.array_equal(model.recommend(data, 3).items, whole.items)


@pytest.mark.parametrize(
    ("name", "library", "settings"),
    [
        ("sklearn-lda", "sklearn", {"n_components": 4, "max_iter": 10, "batch_size": 50, "learning_method": "batch"}),
        ("tomotopy-lda", "tomotopy", {"k": 4, "iterations": 200}),
    ],
)
def test_topic_peers_find_planted_topics_and_are_judged_by_one_estimator(
    name: str, library: str, settings: dict[str, object]
) -> None:
    pytest.importorskip(library)
    planted = planted_topics(num_documents=150)
    train, test = planted.data[:120], planted.data[120:]
    model = peers.find(name)(**settings).fit(train)
    np.testing.assert_allclose(model.topics_.sum(axis=1), 1, rtol=1e-6)
    found = model.evaluate(test)
    shares = train.matrix.sum(axis=0) + 1
    unigram = test.matrix @ np.log(shares / shares.sum())
    assert found["perplexity_token_refined"] < 0.7 * perplexity_per_token(unigram, test.matrix.sum(axis=1))
    assert found["perplexity_token_refined"] == found["perplexity_token_amortised"]
    assert found["perplexity_document_refined"] == found["perplexity_document_amortised"]
    assert found["npmi"] > 0.1  # terms of a planted topic come together
    assert 0.5 < found["topic_diversity"] <= 1
    again = peers.find(name)(**settings).fit(train)
    np.testing.assert_array_equal(model.topics_, again.topics_)


def test_tomotopy_gives_terms_it_never_saw_their_smoothing() -> None:
    pytest.importorskip("tomotopy")
    data = planted_topics(num_documents=20).data
    without = Counts(data.matrix @ sparse.diags_array((np.arange(60) > 0).astype(np.float32)), data.terms)
    model = peers.find("tomotopy-lda")(k=2, iterations=5).fit(without)
    assert (model.topics_[:, 0] > 0).all()
    assert np.isfinite(list(model.evaluate(data).values())).all()


def test_an_unknown_peer_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"peer must be one of implicit-als, .*, irspack-ease, .*, got 'cornac'"):
        peers.find("cornac")


def test_only_peers_need_other_libraries() -> None:
    assert peers.libraries("ease") == ()
    assert peers.libraries("peer.implicit-als") == ("implicit",)
