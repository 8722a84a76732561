from __future__ import annotations

import pytest
import torch
from torch import nn

from gossamer.networks.lstm import LSTMLanguageModel, embed_with_word_dropout, tied_logits


def test_logits_are_tied_and_state_carries_on():
    network = LSTMLanguageModel(nn.Embedding(7, 4), hidden_dim=4)
    nn.init.normal_(network.output_bias)
    tokens = torch.randint(7, (3, 6))
    logits, _ = network(tokens)
    hidden, _ = network.layers(network.embedding(tokens))
    torch.testing.assert_close(logits, hidden @ network.embedding.weight.t() + network.output_bias)
    first, state = network(tokens[:, :2])
    second, _ = network(tokens[:, 2:], state)
    torch.testing.assert_close(torch.cat([first, second], dim=1), logits)
    started, _ = network(tokens, network.new_state(3))
    torch.testing.assert_close(started, logits)


def test_hidden_states_of_another_width_are_projected():
    network = LSTMLanguageModel(nn.Embedding(7, 4), hidden_dim=6, num_layers=1, output_bias=False)
    logits, state = network(torch.zeros(2, 3, dtype=torch.long))
    assert logits.shape == (2, 3, 7)
    assert state[0].shape == (1, 2, 6)


def test_an_embedding_with_logits_of_its_own_is_asked():
    class Doubled(nn.Embedding):
        def logits(self, hidden: torch.Tensor) -> torch.Tensor:
            return 2 * hidden @ self.weight.t()

    embedding, hidden = Doubled(5, 3), torch.randn(2, 3)
    torch.testing.assert_close(tied_logits(embedding, hidden), 2 * hidden @ embedding.weight.t())
    torch.testing.assert_close(tied_logits(embedding, hidden, torch.ones(5)), 2 * hidden @ embedding.weight.t() + 1)


def test_word_dropout_drops_all_occurrences_and_keeps_the_mean():
    embedding = nn.Embedding.from_pretrained(torch.ones(2000, 1))
    tokens = torch.arange(2000).repeat(2, 1)
    first, second = embed_with_word_dropout(embedding, tokens, 0.25)
    assert torch.equal(first, second)
    assert first.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert first.mean().item() == pytest.approx(1.0, abs=0.05)
    assert torch.equal(embedding.weight, torch.ones(2000, 1))
    assert torch.equal(embed_with_word_dropout(embedding, tokens, 0.0), torch.ones(2, 2000, 1))


def test_dropout_only_in_training():
    network = LSTMLanguageModel(nn.Embedding(7, 4), hidden_dim=4, dropout=0.5, word_dropout=0.5)
    tokens = torch.randint(7, (3, 6))
    assert not torch.equal(network(tokens)[0], network(tokens)[0])
    network.eval()
    assert torch.equal(network(tokens)[0], network(tokens)[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden_dim": 0}, r"hidden_dim must be an integer >= 1, got 0"),
        ({"hidden_dim": 4, "num_layers": 0}, r"num_layers must be an integer >= 1, got 0"),
        ({"hidden_dim": 4, "word_dropout": 1}, r"word_dropout must be a finite number >= 0 and < 1, got 1"),
        ({"hidden_dim": 4, "output_bias": "no"}, r"output_bias must be True or False, got 'no'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        LSTMLanguageModel(nn.Embedding(6, 4), **arguments)


def test_an_output_layer_of_its_own():
    network = LSTMLanguageModel(nn.Embedding(7, 4), hidden_dim=4, tied=False)
    hidden = torch.randn(2, 4)
    nn.init.normal_(network.output_bias)
    torch.testing.assert_close(network.logits(hidden), hidden @ network.output.weight.t() + network.output_bias)
    words = torch.tensor([3, 5])
    assert torch.equal(network.output_vectors(words), network.output.weight[words])
    tied = LSTMLanguageModel(nn.Embedding(7, 4), hidden_dim=4)
    assert torch.equal(tied.output_vectors(words), tied.embedding.weight[words])
    assert tied.output is None
