"""Sentence models beyond the contracts: every distribution of codes, texts that are too long, foreign encoders."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gossamer.models.spikeslab import SentenceVAE
from gossamer.serving.export.onnx_file import draw_graph
from gossamer.testing.export_parity import assert_parity
from gossamer.testing.right_answers import two_topics

pytest.importorskip("onnxruntime")
SMALL = {"latent_dim": 4, "embedding_dim": 5, "hidden_dim": 6, "epochs": 1, "batch_size": 18}


@pytest.mark.parametrize("prior", ["gaussian", "mat", "vsc", "spike_slab"])
def test_priors(prior):
    data = two_topics()
    assert_parity(SentenceVAE(prior=prior, max_length=3, **SMALL).fit(data.train), data.test)


def test_free_gates():
    data = two_topics()
    assert_parity(SentenceVAE(gates="free", max_length=3, **SMALL).fit(data.train), data.test)


def test_a_foreign_encoder_is_named():
    class Bag(nn.Module):
        feature_dim = 5

        def forward(self, batch, vectors):
            return torch.zeros(batch.num_sentences, 5).index_add(0, batch.sentence, vectors)

    model = SentenceVAE(**SMALL).fit(two_topics().train, encoder=Bag())
    model.is_own_ = True
    with pytest.raises(ValueError, match="the encoder must be the model's own GRU to be exported, got Bag"):
        draw_graph(model)
