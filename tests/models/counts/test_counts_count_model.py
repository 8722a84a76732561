from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gossamer.core.topk import batch_rows
from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.counts import count_model
from gossamer.models.counts.count_vae import CountVAE
from gossamer.models.counts.refinement import Refinement
from gossamer.testing.contracts import two_themes

SMALL: dict[str, Any] = {
    "latent_dim": 2,
    "encoder_dims": [8],
    "epochs": 20,
    "batch_size": 11,
    "learning_rate": 0.02,
}


@cache
def fitted() -> CountVAE:
    return CountVAE(**SMALL).fit(two_themes().train)


def test_refined_codes_give_a_better_bound_than_the_encoders():
    model, test = fitted(), two_themes().test
    found = {refine: model.perplexity(test, refine=refine) for refine in (None, True, False)}
    assert found[None] == found[True] < found[False]
    by_adam = model.perplexity(test, refine=Refinement("adam", steps=100, learning_rate=0.05))
    assert found[True] - 0.5 < by_adam < found[False]
    assert not np.array_equal(model.transform(test), model.transform(test, refine=False))


def test_evaluate_score_and_perplexity_agree():
    model, test = fitted(), two_themes().test
    measured = model.evaluate(test)
    assert measured["perplexity_document_refined"] == model.perplexity(test)
    assert measured["perplexity_document_amortised"] == model.perplexity(test, refine=False)
    assert measured["perplexity_token_refined"] == model.perplexity(test, "token")
    assert model.score(test) == pytest.approx(-np.log(model.perplexity(test)))
    assert -1 <= measured["npmi"] <= 1
    assert 0 < measured["topic_diversity"] <= 1


def test_sampled_codes_spread_around_the_means():
    model, test = fitted(), two_themes().test
    posterior = model.posterior(test)
    draws = np.stack([model.transform(test, sample=True, random_state=seed) for seed in range(300)])
    np.testing.assert_allclose(draws.mean(axis=0), model.transform(test), atol=0.25)
    np.testing.assert_allclose(draws.std(axis=0), np.exp(posterior.log_variance.numpy() / 2), atol=0.15)
    np.testing.assert_array_equal(draws[1], model.transform(test, sample=True, random_state=1))


def test_codes_of_empty_documents_are_zero():
    terms = fitted().terms_
    empty = Counts(sparse.csr_array((2, len(terms))), terms)
    for refine in (True, False):
        assert fitted().transform(empty, refine=refine).tolist() == [[0, 0], [0, 0]]
    assert fitted().transform(empty[:0]).shape == (0, 2)
    with pytest.raises(ValueError, match=r"data must have at least one document with a count above 0, got 2 without"):
        fitted().evaluate(empty)


def test_a_document_is_coded_alike_alone_and_in_company_and_whatever_the_order_of_terms():
    model, test = fitted(), two_themes().test
    together = model.transform(test)
    alone = np.concatenate([model.transform(test[row : row + 1]) for row in range(len(test))])
    np.testing.assert_allclose(alone, together, rtol=1e-4, atol=1e-5)
    order = np.arange(len(test.terms))[::-1]
    turned = Counts(test.matrix[:, order], test.terms.take(order))
    np.testing.assert_array_equal(model.transform(turned), together)


def test_recommendations_come_from_the_decoder_and_need_no_large_block(monkeypatch: pytest.MonkeyPatch):
    model, test = fitted(), two_themes().test
    answer = model.recommend(test, 3, exclude_seen=False)
    logits = model.network_.decoder.logits(model.posterior(test).mean).detach()
    log_probs = logits.log_softmax(dim=1).numpy()
    np.testing.assert_allclose(answer.scores, -np.sort(-log_probs, axis=1)[:, :3], rtol=1e-5)
    monkeypatch.setattr(count_model, "batch_rows", lambda num_terms: min(3, batch_rows(num_terms)))
    np.testing.assert_array_equal(model.recommend(test, 3, exclude_seen=False).items, answer.items)


def test_a_history_of_items_is_answered_too():
    answer = fitted().recommend(Interactions.from_pairs(["ann"] * 3, ["a1", "a2", "no such term"]), 2)
    assert all(str(fitted().items_[item])[0] == "a" for item in answer.items[0])


def test_samples_look_like_the_data():
    drawn = fitted().sample(400, random_state=0)
    assert set(np.unique(drawn.matrix.sum(axis=1))) == {13}  # all training documents are so long
    codes = {theme: [str(term)[0] == theme for term in drawn.terms] for theme in "ab"}
    shares = [drawn.matrix.toarray()[:, codes[theme]].sum(axis=1) / 13 for theme in "ab"]
    assert np.abs(shares[0] - shares[1]).mean() > 0.2  # most documents lean to one of the themes


def test_the_strongest_direction_divides_the_themes():
    (first,) = fitted().explain(1)["topics"]
    ends = [{term[0] for term in first[end][:5]} for end in ("raises", "lowers")]
    assert ends in ([{"a"}, {"b"}], [{"b"}, {"a"}])


def test_diagnosis_covers_held_out_documents():
    parts = two_themes()
    found = fitted().diagnose(parts.test, parts.train)
    assert found["latent_dim"] == 2
    assert found["used_directions"] in (0, 1, 2)
    assert len(found["rare_terms"]["kl"]) == len(parts.test)


def test_a_fitted_model_can_be_pickled():
    test = two_themes().test
    copy = pickle.loads(pickle.dumps(fitted()))
    np.testing.assert_array_equal(copy.transform(test), fitted().transform(test))


def test_bad_requests_are_named():
    model, test = fitted(), two_themes().test
    with pytest.raises(ValueError, match=r"per must be one of 'document', 'token', got 'word'"):
        model.perplexity(test, "word")
    with pytest.raises(ValueError, match=r"refine must be True, False, None or a Refinement, got 'adam'"):
        model.transform(test, refine="adam")
    with pytest.raises(ValueError, match=r"sample must be True or False, got 3"):
        model.transform(test, sample=3)
    with pytest.raises(ValueError, match=r"history must be Counts, got str"):
        model.recommend("a1 a2")
    with pytest.raises(ValueError, match=r"data must have terms of the training data, got 1 .*: 'spam'"):
        model.transform(Counts(sparse.csr_array([[1]]), Vocabulary(["spam"])))
    with pytest.raises(ValueError, match=r"X has 2 features, but CountVAE is expecting 17 features as input"):
        model.transform(np.ones((1, 2)))
