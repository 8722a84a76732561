from __future__ import annotations

import numpy as np
import pytest
from answers_alike import assert_alike

from gossamer.core.protocols import ItemSpace
from gossamer.models.community import CommunityRecommender, LightGCN
from gossamer.models.counts import CDAE, CountRecommender, CountVAE, MultVAE
from gossamer.models.embeddings import AnchorRecommender, AnchorTextClassifier
from gossamer.persistence import Artifact
from gossamer.serving import similarity
from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.loading import LoadedModel
from gossamer.serving.names import vocabulary_of
from gossamer.serving.similarity import look_up, similar, similar_all
from gossamer.testing.right_answers import two_blocks, two_themes, two_topics

SMALL = {"epochs": 40, "batch_size": 8, "learning_rate": 0.02}


def served(estimator):
    return LoadedModel("model", None, Artifact(estimator, {}))


@pytest.mark.parametrize("model", ["ease", "als"])
def test_items_of_the_same_block_are_near(service, model):
    answer = service.similar(model, item="b2", n=5)
    assert sorted(row["item"] for row in answer["items"]) == ["b0", "b1", "b3", "b4", "b5"]
    scores = [row["score"] for row in answer["items"]]
    assert scores == sorted(scores, reverse=True)
    assert answer["measure"] == ("weight" if model == "ease" else "cosine")


@pytest.mark.parametrize(
    ("estimator", "data", "item"),
    [
        (
            CountRecommender(latent_dim=3, decoder_dims=[6], encoder_dims=[8], average_decay=0.8, **SMALL),
            two_blocks,
            "a1",
        ),
        (MultVAE(latent_dim=3, hidden_dims=[8], annealing_epochs=5, **SMALL), two_blocks, "a1"),
        (CDAE(hidden_dim=8, **SMALL), two_blocks, "a1"),
        (CommunityRecommender(embedding_dim=8, num_communities=2, item_edges=3, **SMALL), two_blocks, "a1"),
        (LightGCN(embedding_dim=4, epochs=15, batch_size=12, learning_rate=0.05), two_blocks, "a1"),
        (AnchorRecommender(embedding_dim=3, user_anchors=4, item_anchors=3, biases=True, epochs=3), two_blocks, "a1"),
        (CountVAE(latent_dim=2, decoder_dims=[], encoder_dims=[8], **SMALL), two_themes, "a1"),
        (
            AnchorTextClassifier(embedding_dim=8, num_filters=8, num_anchors=4, ratio=2.0, epochs=2, batch_size=12),
            two_topics,
            "a1",
        ),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_every_model_with_vectors_has_one_for_every_name(estimator, data, item):
    planted = data()
    estimator.fit(planted.history if hasattr(planted, "history") else planted.train)
    assert isinstance(estimator, ItemSpace)
    assert len(estimator.item_vectors()) == len(vocabulary_of(estimator))
    answer = similar(served(estimator), item, 3)
    assert len(answer["items"]) == 3
    assert all(-1.0001 <= row["score"] <= 1.0001 and row["item"] != item for row in answer["items"])
    if isinstance(estimator, CountVAE | LightGCN | MultVAE):  # they have learned enough here to tell blocks apart
        assert {str(row["item"])[0] for row in answer["items"]} == {"a"}


@pytest.mark.parametrize("model", ["ease", "als", "topics", "sentences"])
@pytest.mark.parametrize("rows", [1, 3, 1_000])
def test_many_together_have_the_answers_they_have_alone(service, monkeypatch, model, rows):
    monkeypatch.setattr("gossamer.serving.similarity.batch_rows", lambda _: rows)
    found = service.models[model]
    asked = [(name, n) for name in [*found.names.ids, found.names.ids[0]] for n in (1, 4, 1_000)]
    together = similar_all(found, [look_up(found, *one) for one in asked])
    for (item, n), answer in zip(asked, together, strict=True):
        assert_alike(answer, similar(found, item, n))


@pytest.mark.parametrize("n", [1, 3, 1_000])
def test_the_last_digits_of_a_product_do_not_order_items(service, monkeypatch, n):
    """In another batch, or on another processor, a product of matrices is rounded otherwise."""
    honest, found = similarity._cosines, service.models["als"]
    expected = [similar(found, item, n) for item in found.names.ids]
    rng = np.random.default_rng(0)
    for _ in range(5):
        monkeypatch.setattr(
            similarity,
            "_cosines",
            lambda *asked: (honest(*asked) + rng.normal(scale=1e-7, size=(1, len(found.names)))).astype(np.float32),
        )
        assert [similar(found, item, n) for item in found.names.ids] == expected


def test_words_of_sentences_have_neighbours(service):
    assert len(service.similar("sentences", item="a1", n=2)["items"]) == 2


def test_what_is_not_known_is_not_found(service):
    with pytest.raises(NotFound, match="item must be one of the 12 that 'ease' knows, got 'zz'"):
        service.similar("ease", item="zz")


def test_a_model_without_vectors_says_so(service):
    with pytest.raises(CannotAnswer, match="the model must have vectors or weights of items"):
        service.similar("numbers", item=10)


def test_an_item_that_nobody_took_is_near_nothing():
    import numpy as np

    class Flat:
        from gossamer.data import Vocabulary

        items_ = Vocabulary(["ham", "eggs", "tea"])

        def item_vectors(self):
            return np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], dtype=np.float32)

    assert [row["score"] for row in similar(served(Flat()), "ham", 5)["items"]] == [0.0, 0.0]
