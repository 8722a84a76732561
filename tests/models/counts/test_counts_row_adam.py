import copy

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn

from gossamer.models.counts.batch import take_batch
from gossamer.models.counts.row_adam import RowAdam, make_adam
from gossamer.models.counts.sparse_layer import SparseInputLayer

RATE = 0.01


class Network(nn.Module):
    def __init__(self, *, sparse_gradient):
        super().__init__()
        self.first = SparseInputLayer(40, 6, sparse_gradient=sparse_gradient)
        self.second = nn.Linear(6, 2)
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))

    def forward(self, batch):
        return self.second(torch.tanh(self.first(batch, batch.inputs)))


def batches(num_batches, seed=0):
    """Few rows of few terms at a time, drawn unevenly: some terms rest for most of the training."""
    rng = np.random.default_rng(seed)
    for _ in range(num_batches):
        terms = rng.choice(40, (3, 3), p=(weights := 1 / np.arange(1, 41) ** 1.5) / weights.sum())
        matrix = np.zeros((3, 40), dtype=np.float32)
        np.put_along_axis(matrix, terms, 1.0, axis=1)
        made = sparse.csr_array(matrix)
        yield take_batch(made, made.data, slice(None))


def train(network, optimiser, num_batches, seed=0):
    for batch in batches(num_batches, seed):
        optimiser.zero_grad()
        (network(batch) - 1).square().mean().backward()
        optimiser.step()


def trained(num_batches, *, sparse_gradient, betas=(0.9, 0.999)):
    network = Network(sparse_gradient=sparse_gradient)
    optimiser = make_adam(network, RATE, betas)
    train(network, optimiser, num_batches)
    return network.eval(), optimiser


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.0, 0.99)])
@pytest.mark.parametrize("num_batches", [1, 3, 300])
def test_equal_to_the_dense_adam(num_batches, betas):
    ours, optimiser = trained(num_batches, sparse_gradient=True, betas=betas)
    theirs, dense = trained(num_batches, sparse_gradient=False, betas=betas)
    assert isinstance(optimiser, RowAdam)
    assert not isinstance(dense, RowAdam)
    for own, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        # Rounding in a training of 300 updates; a single update moves a parameter by RATE.
        assert torch.allclose(own, other, atol=0.03 * RATE)


def test_rows_without_gradient_are_not_touched_until_they_are_read():
    network = Network(sparse_gradient=True)
    optimiser = make_adam(network, RATE)
    first = next(batches(1))
    network(first).sum().backward()
    optimiser.step()
    resting = sorted(set(range(40)) - set(first.terms.tolist()))
    touched = network.first.weight.detach().clone()
    other = sparse.csr_array(np.eye(40, dtype=np.float32)[resting[:1]])
    optimiser.zero_grad()
    network(take_batch(other, other.data, slice(None))).sum().backward()
    optimiser.step()
    now = network.first.weight.detach()
    assert torch.equal(now[first.terms], touched[first.terms])
    network.eval()
    assert not torch.equal(now[first.terms], touched[first.terms])
    assert torch.equal(now[resting[1:]], touched[resting[1:]])


def test_training_goes_on_from_a_state_exactly():
    whole = Network(sparse_gradient=True)
    optimiser = make_adam(whole, RATE)
    train(whole, optimiser, 20)
    resumed = Network(sparse_gradient=True)
    other = make_adam(resumed, RATE)
    other.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    resumed.load_state_dict(whole.state_dict())
    train(whole, optimiser, 20, seed=1)
    train(resumed, other, 20, seed=1)
    for own, again in zip(whole.eval().parameters(), resumed.eval().parameters(), strict=True):
        assert torch.equal(own, again)


def test_saving_brings_all_rows_up_to_date():
    network = Network(sparse_gradient=True)
    optimiser = make_adam(network, RATE)
    train(network, optimiser, 20)
    optimiser.state_dict()
    saved = network.first.weight.detach().clone()
    network.eval()
    assert torch.equal(network.first.weight, saved)


def test_gradients_that_add_up_are_one_gradient():
    batch = next(batches(1))
    weights = []
    for sparse_gradient in (True, False):
        network = Network(sparse_gradient=sparse_gradient)
        optimiser = make_adam(network, RATE)
        for _ in range(2):
            network(batch).sum().backward()
        optimiser.step()
        weights.append(network.eval().first.weight)
    assert torch.allclose(*weights, atol=1e-6)


def test_a_stranger_has_nothing_to_catch_up():
    network = Network(sparse_gradient=True)
    optimiser = make_adam(network, RATE)
    train(network, optimiser, 3)
    stranger = nn.Parameter(torch.ones(40, 6))
    optimiser.catch_up(stranger)
    assert torch.equal(stranger, torch.ones(40, 6))


def test_decay_shrinks_matrices_and_spares_biases():
    plain, decayed = (Network(sparse_gradient=False) for _ in range(2))
    before = {name: value.detach().clone() for name, value in plain.named_parameters()}
    for network, decay in ((plain, 0.0), (decayed, 5.0)):
        train(network, make_adam(network, RATE, weight_decay=decay), 1)
    for (name, own), other in zip(decayed.named_parameters(), plain.parameters(), strict=True):
        shrunken = RATE * 5.0 * before[name] if own.ndim > 1 else torch.zeros_like(own)
        assert torch.allclose(other - own, shrunken, atol=1e-6), name


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"weight_decay must be 0 where gradients are row-sparse, got 1\.0"):
        make_adam(Network(sparse_gradient=True), RATE, weight_decay=1.0)
    with pytest.raises(ValueError, match="learning_rate must be a finite number > 0, got 0"):
        make_adam(Network(sparse_gradient=True), 0)
    with pytest.raises(ValueError, match="closure must be None"):
        make_adam(Network(sparse_gradient=True), RATE).step(lambda: 0.0)
