from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from gossamer.models.counts.batch import take_batch
from gossamer.models.counts.inference import blocks, infer, infer_all
from gossamer.models.counts.module import Decoder, Encoder
from gossamer.models.counts.network import CountNetwork
from gossamer.models.counts.refinement import Refinement
from gossamer.testing.planted import planted_topics

COUNTS = planted_topics(num_documents=11, num_terms=20, words_per_document=15).data.matrix
DATA = sparse.vstack([COUNTS, sparse.csr_array((1, 20), dtype=np.float32)], format="csr")


def network(*, with_encoder: bool = True) -> CountNetwork:
    torch.manual_seed(0)
    encoder = Encoder(20, 3, (5,), dropout=0.5) if with_encoder else None
    return CountNetwork(encoder, Decoder(20, 3))


def test_amortised_posteriors_are_the_encoders_without_dropout_or_gradient():
    model = network().train()
    batch = take_batch(DATA, DATA.data, np.arange(12))
    found = infer(model, batch, None, torch.Generator())
    assert model.training
    assert model.encoder is not None
    assert model.encoder.training
    assert not found.mean.requires_grad
    torch.testing.assert_close(found.mean, model.eval().encoder(batch).mean)


def test_without_an_encoder_one_begins_at_the_prior():
    model = network(with_encoder=False)
    batch = take_batch(DATA, DATA.data, np.arange(12))
    assert infer(model, batch, None, torch.Generator()).kl().max() == 0
    refined = infer(model, batch, Refinement(), torch.Generator())
    assert (refined.kl()[:-1] > 0).all()


@pytest.mark.parametrize("refinement", [None, Refinement(), Refinement("adam", steps=3)])
def test_empty_documents_have_the_prior(refinement: Refinement | None):
    found = infer_all(network(), DATA, DATA.data, refinement, torch.Generator())
    assert found.mean.shape == (12, 3)
    assert found.mean[-1].tolist() == [0, 0, 0]
    assert found.log_variance[-1].tolist() == [0, 0, 0]


def test_blocks_are_all_rows_in_order(monkeypatch: pytest.MonkeyPatch):
    assert [batch.rows.tolist() for batch in blocks(DATA[:5], DATA[:5].data, 2)] == [[0, 1], [2, 3], [4]]
    whole = infer_all(network(), DATA, DATA.data, Refinement(), torch.Generator())
    monkeypatch.setattr("gossamer.models.counts.inference.blocks", lambda *given: blocks(*given, 5))
    torch.testing.assert_close(infer_all(network(), DATA, DATA.data, Refinement(), torch.Generator()).mean, whole.mean)


def test_nobody_has_no_posterior():
    assert infer_all(network(), DATA[:0], DATA.data[:0], Refinement(), torch.Generator()).mean.shape == (0, 3)
