from __future__ import annotations

import pytest
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from gossamer.models.spikeslab import softmax
from gossamer.models.spikeslab.softmax import AdaptiveSoftmax, FullSoftmax

SENTENCE = torch.tensor([0, 1, 0, 1, 0, 2, 0])


def test_blocks_give_the_value_and_gradients_of_one_softmax(monkeypatch):
    monkeypatch.setattr(softmax, "WORDS_AT_ONCE", 10)  # two words at a time
    torch.manual_seed(0)
    layer, words = FullSoftmax(4, 5).double(), torch.tensor([0, 4, 2, 2, 1, 3, 0])
    hidden = torch.randn(7, 4, dtype=torch.float64, requires_grad=True)
    loss, of_sentences = layer.nll(hidden, words, SENTENCE, 3)
    expected = functional.cross_entropy(layer.linear(hidden), words, reduction="none")
    assert loss.item() == pytest.approx(expected.sum().item() / 3)
    torch.testing.assert_close(of_sentences, torch.stack([expected[row == SENTENCE].sum() for row in range(3)]))
    leaves = (hidden, layer.linear.weight, layer.linear.bias)
    for found, wanted in zip(
        torch.autograd.grad(loss, leaves), torch.autograd.grad(expected.sum() / 3, leaves), strict=True
    ):
        torch.testing.assert_close(found, wanted)


def test_gradients_of_blocks(monkeypatch):
    monkeypatch.setattr(softmax, "WORDS_AT_ONCE", 10)
    torch.manual_seed(0)
    words = torch.tensor([0, 4, 2, 2, 1, 3, 0])
    leaves = tuple(torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((7, 3), (5, 3), (5,)))
    assert torch.autograd.gradcheck(lambda h, w, b: softmax._BlockwiseLoss.apply(h, w, b, words, 0.5)[0], leaves)


def test_an_adaptive_softmax_is_a_distribution_over_the_same_words():
    torch.manual_seed(0)
    rank = torch.randperm(30)
    layer, hidden, words = AdaptiveSoftmax(4, rank), torch.randn(7, 4), torch.randint(30, (7,))
    log_probs = layer.log_probs(hidden)
    torch.testing.assert_close(log_probs.exp().sum(dim=1), torch.ones(7))
    loss, of_sentences = layer.nll(hidden, words, SENTENCE, 3)
    expected = -log_probs.gather(1, words.unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(loss, expected.sum() / 3)
    torch.testing.assert_close(of_sentences.sum(), expected.sum())


def test_the_smallest_adaptive_softmax():
    layer = AdaptiveSoftmax(4, [1, 2, 0])
    torch.testing.assert_close(layer.log_probs(torch.randn(2, 4)).exp().sum(dim=1), torch.ones(2))


class Operations(TorchDispatchMode):
    """Takes note of what torch computes."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.names.append(str(operation))
        return operation(*args, **(kwargs or {}))


def test_gradients_are_computed_where_they_are_asked_for_only():
    torch.manual_seed(0)
    layer, words = FullSoftmax(4, 5), torch.tensor([0, 4, 2, 2, 1, 3, 0])
    hidden = torch.randn(7, 4, requires_grad=True)
    with Operations() as learning:
        expected = layer.nll(hidden, words, SENTENCE, 3)
    with Operations() as measuring, torch.no_grad():
        found = layer.nll(hidden, words, SENTENCE, 3)
    assert any("aten.addmm_" in name for name in learning.names)  # into the gradient of the weights
    assert not any("aten.addmm_" in name or "aten.mm" in name for name in measuring.names)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
