from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from torch import Tensor

from gossamer.models.counts.autoencoder import CDAEObjective, DenoisingAutoencoder, logistic_loss
from gossamer.models.counts.batch import CountBatch, take_batch

NUM_ITEMS, HIDDEN = 7, 3


def histories(seed: int = 0, num_users: int = 5) -> sparse.csr_array:
    taken = np.random.default_rng(seed).random((num_users, NUM_ITEMS)) < 0.4
    taken[0] = False  # nobody knows anything of the first
    return sparse.csr_array(taken.astype(np.float32))


def batch_of(matrix: sparse.csr_array) -> CountBatch:
    return take_batch(matrix, 2 * matrix.data, np.arange(matrix.shape[0]))


def make(activation: str = "sigmoid", corruption: float = 0.0) -> DenoisingAutoencoder:
    torch.manual_seed(0)
    network = DenoisingAutoencoder(NUM_ITEMS, HIDDEN, activation=activation, corruption=corruption)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter)
    return network


def dense_logits(network: DenoisingAutoencoder, x: Tensor, vectors: Tensor) -> Tensor:
    hidden = x @ network.input_layer.weight + vectors + network.input_layer.bias
    hidden = {"sigmoid": torch.sigmoid(hidden), "tanh": torch.tanh(hidden), "identity": hidden}[network_name(network)]
    return hidden @ network.output_layer.weight.T + network.output_layer.bias


def network_name(network: DenoisingAutoencoder) -> str:
    value = float(network.activation(torch.tensor(1.0)))
    return {0.731: "sigmoid", 0.762: "tanh", 1.0: "identity"}[round(value, 3)]


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "identity"])
def test_logits_are_those_of_the_dense_network(activation: str):
    network, matrix = make(activation), histories()
    dense = 2 * torch.from_numpy(matrix.toarray())
    vectors = torch.randn(5, HIDDEN)
    torch.testing.assert_close(network(batch_of(matrix), vectors), dense_logits(network, dense, vectors))
    network.stranger.fill_(0.3)
    expected = dense_logits(network, dense, torch.full((5, HIDDEN), 0.3))
    torch.testing.assert_close(network(batch_of(matrix)), expected)


def test_inputs_are_hidden_in_training_only_and_keep_their_mean():
    network, batch = make("identity", corruption=0.5), batch_of(histories())
    generator = torch.Generator().manual_seed(0)
    network.eval()
    whole = network(batch, generator=generator)
    torch.testing.assert_close(network(batch, generator=generator), whole, rtol=0, atol=0)
    network.train()
    drawn = torch.stack([network(batch, generator=generator) for _ in range(4000)])
    error = drawn.std(dim=0) / 4000**0.5
    assert ((drawn.mean(dim=0) - whole).abs() <= 6 * error + 1e-4).all()
    assert (drawn.std(dim=0)[1:] > 0).any(), "something is hidden"
    assert (drawn.std(dim=0)[0] < 1e-5).all(), "an empty history has nothing to hide"


def brute_force_loss(logits: np.ndarray, taken: np.ndarray, num_negatives: float) -> np.ndarray:
    losses = []
    for scores, mine in zip(logits.astype(np.float64), taken > 0, strict=True):
        others = max(1, int((~mine).sum()))
        weight = min(1.0, num_negatives * mine.sum() / others)
        losses.append(np.log1p(np.exp(-scores[mine])).sum() + weight * np.log1p(np.exp(scores[~mine])).sum())
    return np.array(losses)


@given(st.integers(0, 1000), st.sampled_from([0.5, 1.0, 5.0, 100.0]))
@settings(max_examples=25, deadline=None)
def test_the_loss_is_that_of_every_pair(seed: int, num_negatives: float):
    matrix = histories(seed)
    logits = np.random.default_rng(seed).normal(0, 3, matrix.shape).astype(np.float32)
    found = logistic_loss(torch.from_numpy(logits), batch_of(matrix), num_negatives)
    np.testing.assert_allclose(found, brute_force_loss(logits, matrix.toarray(), num_negatives), rtol=1e-4, atol=1e-5)


def test_the_loss_is_what_drawn_negatives_give_on_average():
    matrix, generator = histories(3), np.random.default_rng(0)
    logits = generator.normal(0, 1, matrix.shape).astype(np.float32)
    taken = matrix.toarray() > 0
    expected = logistic_loss(torch.from_numpy(logits), batch_of(matrix), 0.5).numpy()
    for row in range(1, 5):
        others = np.flatnonzero(~taken[row])
        draws = generator.choice(others, size=(20_000, 1))  # one negative stands for the mean over the others
        per_draw = np.log1p(np.exp(logits[row, draws])).mean(axis=1) * 0.5 * taken[row].sum()
        positives = np.log1p(np.exp(-logits[row, taken[row]])).sum()
        error = 6 * per_draw.std() / 20_000**0.5
        assert abs(positives + per_draw.mean() - expected[row]) <= error + 1e-5


def test_someone_who_took_everything_has_a_finite_loss():
    matrix = sparse.csr_array(np.ones((1, NUM_ITEMS), np.float32))
    logits = torch.full((1, NUM_ITEMS), 60.0)
    assert torch.isfinite(logistic_loss(logits, batch_of(matrix), 5.0)).all()


def test_gradients_are_right():
    batch = batch_of(histories(1))
    logits = torch.randn(5, NUM_ITEMS, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda scores: logistic_loss(scores, batch, 2.0), [logits])


def make_objective(with_vectors: bool = True) -> CDAEObjective:
    return CDAEObjective(make(), 10, with_vectors=with_vectors, num_negatives=2.0, l2=0.5)


def test_the_objective_is_the_sum_over_users_divided_by_their_number():
    """Batches of equal size average to the objective of all users."""
    objective, matrix = make_objective(), histories(2, num_users=10)
    assert objective.vectors is not None
    torch.nn.init.normal_(objective.vectors.weight)
    batches = [take_batch(matrix, matrix.data, rows) for rows in np.split(np.arange(10), 2)]
    found = sum(objective(batch) for batch in batches) / 2
    vectors, network = objective.vectors.weight, objective.network
    logits = dense_logits(network, torch.from_numpy(matrix.toarray()), vectors)
    total = torch.from_numpy(brute_force_loss(logits.detach().numpy(), matrix.toarray(), 2.0)).sum()
    squares = sum(w.square().sum() for w in (vectors, network.input_layer.weight, network.output_layer.weight))
    torch.testing.assert_close(found.double(), (total + 0.25 * squares.double()) / 10, rtol=1e-4, atol=1e-4)


def test_only_the_batchs_users_have_gradients():
    objective = make_objective()
    assert objective.vectors is not None
    objective(take_batch(histories(2, num_users=10), np.ones(histories(2, 10).nnz), np.array([4, 2]))).backward()
    gradient = objective.vectors.weight.grad
    assert gradient is not None
    assert gradient.is_sparse
    assert sorted(gradient.coalesce().indices()[0].tolist()) == [2, 4]


def test_a_stranger_is_the_mean_of_all_users():
    objective = make_objective()
    assert objective.vectors is not None
    torch.nn.init.normal_(objective.vectors.weight)
    objective.meet_stranger()
    torch.testing.assert_close(objective.network.stranger, objective.vectors.weight.mean(dim=0))
    without = make_objective(with_vectors=False)
    without.meet_stranger()
    assert not without.network.stranger.any()
    assert not [name for name, _ in without.named_parameters() if "vectors" in name]


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"^hidden_dim must be an integer >= 1, got 0$"):
        DenoisingAutoencoder(3, 0)
    with pytest.raises(ValueError, match=r"^corruption must be a finite number >= 0 and < 1, got 1$"):
        DenoisingAutoencoder(3, 2, corruption=1)
    with pytest.raises(ValueError, match=r"^activation must be one of 'sigmoid', 'tanh', 'identity', got 'relu'$"):
        DenoisingAutoencoder(3, 2, activation="relu")
    with pytest.raises(ValueError, match=r"^num_negatives must be a finite number > 0, got 0$"):
        CDAEObjective(make(), 3, with_vectors=True, num_negatives=0, l2=0)
    with pytest.raises(ValueError, match=r"^l2 must be a finite number >= 0, got -1$"):
        CDAEObjective(make(), 3, with_vectors=True, num_negatives=1, l2=-1)
