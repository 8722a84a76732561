"""All diagnoses of a small network at once: what is there, what is left out, and that they are those of their own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from gossamer.data import Counts, Vocabulary
from gossamer.models.counts.diagnostics.diagnosis import diagnose
from gossamer.models.counts.diagnostics.jacobian import jacobian_spectrum
from gossamer.models.counts.diagnostics.rare_terms import find_rare_terms, rare_term_gaps
from gossamer.models.counts.diagnostics.utilisation import document_singular_values, mean_words
from gossamer.models.counts.module import Decoder, Encoder
from gossamer.models.counts.network import CountNetwork
from gossamer.models.counts.refinement import Refinement
from gossamer.models.counts.topics import document_names, topic_coherence
from gossamer.testing.planted import planted_topics

SETTINGS = Refinement(steps=1)


@pytest.fixture(scope="module")
def data() -> Counts:
    return planted_topics(num_documents=30, num_terms=12, words_per_document=6).data


@pytest.fixture
def network() -> CountNetwork:
    return CountNetwork(Encoder(12, 3, (5,)), Decoder(12, 3))


def test_everything_the_report_shows_is_there(data: Counts, network: CountNetwork) -> None:
    matrix = data.matrix
    names = document_names(data)
    found = diagnose(network, matrix, matrix.data, SETTINGS, data.terms, training=matrix[:10], names=names)
    assert found["latent_dim"] == 3
    of_document = document_singular_values(network.decoder, mean_words(matrix[:10]))
    np.testing.assert_array_equal(found["document_singular_values"], of_document)
    assert found["used_directions"] == (of_document > 1).sum()
    np.testing.assert_array_equal(
        found["singular_values"]["mean over the prior"], jacobian_spectrum(network.decoder).mean_of_draws
    )
    gaps = rare_term_gaps(network, matrix, matrix.data, SETTINGS, find_rare_terms(matrix[:10]))
    np.testing.assert_allclose(found["rare_terms"]["kl"], gaps.kl)
    np.testing.assert_allclose(found["rare_terms"]["num_rare"], gaps.num_rare)
    assert {name: found[name] for name in ("npmi", "topic_diversity")} == topic_coherence(network.decoder, matrix)
    assert len(found["topics"]) == 3
    named = {name for row in found["topics"] for name in row["documents that raise"] + row["documents that lower"]}
    assert named
    assert named <= set(names)


def test_a_network_without_encoder_has_no_gap(data: Counts, network: CountNetwork) -> None:
    alone = CountNetwork(None, network.decoder)
    found = diagnose(alone, data.matrix, data.matrix.data, SETTINGS, data.terms)
    assert "rare_terms" not in found
    assert found["topics"]


def test_without_words_only_the_decoder_is_looked_at(data: Counts, network: CountNetwork) -> None:
    for rows in (0, 4):
        empty, terms = csr_array((rows, 12)), Vocabulary.numbered(12)
        found = diagnose(network, empty, np.zeros(0), SETTINGS, terms)
        assert set(found) == {"latent_dim", "singular_values"}, "a document of no length uses no direction"
        found = diagnose(network, empty, np.zeros(0), SETTINGS, terms, training=data.matrix)
        assert set(found) == {"latent_dim", "singular_values", "used_directions", "document_singular_values"}


def test_with_less_of_the_kl_documents_count_as_longer(data: Counts, network: CountNetwork) -> None:
    whole, half = (
        diagnose(network, data.matrix, data.matrix.data, SETTINGS, data.terms, beta=beta)["document_singular_values"]
        for beta in (1.0, 0.5)
    )
    np.testing.assert_allclose(half, np.sqrt(2) * whole)


def test_documents_are_sampled_evenly_and_empty_ones_passed_over(data: Counts, network: CountNetwork) -> None:
    matrix = csr_array(vstack([csr_array((5, 12)), data.matrix]))
    found = diagnose(network, matrix, matrix.data, SETTINGS, data.terms, max_documents=4, training=csr_array((0, 12)))
    assert len(found["rare_terms"]["kl"]) == 4
    shown = {name for row in found["topics"] for name in row["documents that raise"] + row["documents that lower"]}
    assert shown <= {"document 6", "document 15", "document 25", "document 35"}


def test_mistakes_are_answered_with_a_sentence(data: Counts, network: CountNetwork) -> None:
    with pytest.raises(ValueError, match="max_documents must be an integer >= 1, got 0"):
        diagnose(network, data.matrix, data.matrix.data, SETTINGS, data.terms, max_documents=0)
    with pytest.raises(ValueError, match="names must be as many as the documents, 30, got 1"):
        diagnose(network, data.matrix, data.matrix.data, SETTINGS, data.terms, names=["one"])
    with pytest.raises(ValueError, match="terms must be the 12 terms of the decoder, got 2"):
        diagnose(network, data.matrix, data.matrix.data, SETTINGS, Vocabulary.numbered(2))
