from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import integrate, sparse, stats

from gossamer.models.counts.inference import infer_all
from gossamer.models.counts.module import Decoder, Encoder
from gossamer.models.counts.network import CountNetwork
from gossamer.models.counts.perplexity import document_bounds, perplexity_of
from gossamer.models.counts.refinement import Refinement
from gossamer.testing.planted import planted_topics

DATA = planted_topics(num_documents=40, num_terms=20, words_per_document=15).data.matrix


def network() -> CountNetwork:
    torch.manual_seed(0)
    return CountNetwork(Encoder(20, 3, (5,)), Decoder(20, 3)).eval()


def test_bounds_are_those_of_the_formula():
    model = network()
    found = document_bounds(model, DATA, DATA.data, None, seed=3)
    posterior = infer_all(model, DATA, DATA.data, None, torch.Generator())
    draws = np.stack([document_bounds(model, DATA, DATA.data, None, seed=seed) for seed in range(200)])
    assert not np.array_equal(found, draws[0])
    x = torch.from_numpy(DATA.toarray())
    with torch.no_grad():
        noise = torch.randn(200, *posterior.mean.shape)
        logits = model.decoder.logits((posterior.mean + noise * torch.exp(posterior.log_variance / 2)).flatten(0, 1))
        likelihood = (x * torch.log_softmax(logits, dim=1).view(200, 40, 20)).sum(dim=2).mean(dim=0)
    # Two estimates from 200 draws each; one draw is off by less than a nat here.
    np.testing.assert_allclose(draws.mean(axis=0), (likelihood - posterior.kl()).numpy(), atol=0.5)


def test_mean_bounds_stay_below_the_likelihood_and_refined_ones_come_near():
    torch.manual_seed(0)
    model = CountNetwork(None, Decoder(3, 1, init_range=2.0)).eval()
    weight, bias = (value.detach().double().numpy() for value in (model.decoder.weight[:, 0], model.decoder.bias))
    counts = np.array([[3, 1, 0], [0, 2, 6], [1, 0, 0]])

    def probability(z: float, row: np.ndarray) -> float:
        logits = weight * z + bias
        return float(stats.norm.pdf(z) * np.exp(row @ (logits - np.log(np.exp(logits).sum()))))

    exact = np.array([np.log(integrate.quad(probability, -12, 12, args=(row,))[0]) for row in counts])
    many = sparse.csr_array(np.repeat(counts, 2000, axis=0).astype(np.float32))
    bounds = document_bounds(model, many, many.data, Refinement(steps=20)).reshape(3, 2000).mean(axis=1)
    loose = document_bounds(model, many, many.data, None).reshape(3, 2000).mean(axis=1)
    assert (bounds < exact + 0.05).all()
    assert (exact - bounds < 0.3).all()
    assert (loose < bounds + 0.05).all()


def test_the_same_seed_gives_the_same_bounds():
    for settings in (None, Refinement(), Refinement("adam", steps=4)):
        first, second = (document_bounds(network(), DATA, DATA.data, settings) for _ in range(2))
        np.testing.assert_array_equal(first, second)


def test_refinement_lowers_the_perplexity():
    bounds = {settings: document_bounds(network(), DATA, DATA.data, settings) for settings in (None, Refinement())}
    amortised, refined = (perplexity_of(found, DATA) for found in bounds.values())
    assert refined < amortised


def test_empty_documents_are_left_out():
    with_empty = sparse.vstack([DATA, sparse.csr_array((3, 20), dtype=np.float32)], format="csr")
    bounds = np.linspace(-40, -30, 40)
    for per in ("document", "token"):
        longer = perplexity_of(np.append(bounds, np.zeros(3)), with_empty, per)
        assert longer == perplexity_of(bounds, DATA, per)
    found = document_bounds(network(), with_empty, with_empty.data, Refinement())
    np.testing.assert_allclose(found[-3:], 0, atol=1e-6)


def test_what_cannot_be_measured_is_said():
    with pytest.raises(ValueError, match=r"data must have at least one document with a count above 0, got 2 without"):
        perplexity_of(np.zeros(2), sparse.csr_array((2, 3)))
    with pytest.raises(ValueError, match=r"per must be one of 'document', 'token', got 'word'"):
        perplexity_of(np.zeros(40), DATA, "word")
