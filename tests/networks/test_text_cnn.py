from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from gossamer.networks.text_cnn import TextCNN


def convolved(network: TextCNN, text: list[int]) -> Tensor:
    """The features of one text by torch's own convolutions: windows begin at a word and may end in zeros."""
    width = max(network.filter_sizes)
    vectors = torch.cat([network.embedding.weight[text], torch.zeros(width, network.embedding.embedding_dim)])
    features, first = [], 0
    for size in network.filter_sizes:
        kernels = network.taps.weight[first : first + size * network.num_filters]
        kernels = kernels.view(size, network.num_filters, -1).permute(1, 2, 0)
        responses = functional.conv1d(vectors.t().unsqueeze(0), kernels)[0, :, : max(len(text), 1)]
        features.append(responses.amax(dim=1))
        first += size * network.num_filters
    return functional.relu(torch.cat(features) + network.filter_bias)


def padded(texts: list[list[int]], length: int) -> Tensor:
    return torch.tensor([text + [-1] * (length - len(text)) for text in texts])


@given(st.lists(st.lists(st.integers(0, 8), max_size=7), min_size=1, max_size=4), st.integers(7, 10))
def test_features_are_those_of_convolutions(texts: list[list[int]], length: int):
    network = TextCNN(nn.Embedding(9, 4), 3, filter_sizes=(1, 3, 4), num_filters=5)
    nn.init.normal_(network.filter_bias)
    expected = torch.stack([convolved(network, text) for text in texts])
    torch.testing.assert_close(network.features(padded(texts, length)), expected)


def test_gradients_are_those_of_convolutions():
    texts = [[0, 1, 2, 3, 1], [4, 4], []]
    network = TextCNN(nn.Embedding(6, 4), 3, filter_sizes=(2, 3), num_filters=5, dropout=0.0)
    parameters = [network.embedding.weight, network.taps.weight, network.filter_bias]
    direction = torch.randn(3, 10)
    ours = torch.autograd.grad((network.features(padded(texts, 6)) * direction).sum(), parameters)
    brute = torch.stack([convolved(network, text) for text in texts])
    theirs = torch.autograd.grad((brute * direction).sum(), parameters)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)


def test_answer_does_not_depend_on_companions():
    network = TextCNN(nn.Embedding(6, 4), 2).eval()
    alone = network(torch.tensor([[3, 1]]))
    together = network(padded([[3, 1], [0, 1, 2, 3, 4, 5, 5]], 9))
    torch.testing.assert_close(together[:1], alone)


def test_dropout_only_in_training():
    network = TextCNN(nn.Embedding(6, 4), 2)
    tokens = torch.tensor([[0, 1, 2, 3]])
    assert not torch.equal(network(tokens), network(tokens))
    network.eval()
    assert torch.equal(network(tokens), network(tokens))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"filter_sizes": ()}, r"filter_sizes must have at least one width, got \(\)"),
        ({"filter_sizes": (0,)}, r"filter_sizes must be an integer >= 1, got 0"),
        ({"num_filters": 0}, r"num_filters must be an integer >= 1, got 0"),
        ({"dropout": 1}, r"dropout must be a finite number >= 0 and < 1, got 1"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        TextCNN(nn.Embedding(6, 4), 2, **arguments)
