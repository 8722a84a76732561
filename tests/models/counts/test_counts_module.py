import numpy as np
import pytest
import torch
from scipy import sparse
from torch.nn import functional

from gossamer.models.counts.batch import take_batch
from gossamer.models.counts.module import ACTIVATIONS, Decoder, Encoder


def batch_of(num_rows=5, num_terms=8):
    counts = np.random.default_rng(0).poisson(0.8, (num_rows, num_terms)).astype(np.float32)
    counts[2] = 0
    matrix = sparse.csr_array(counts)
    return take_batch(matrix, matrix.data / 4, slice(None)), torch.from_numpy(counts) / 4


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("hidden_dims", [(), (7,), (7, 6), [7, 6, 5]])
def test_encoder_is_a_plain_network_on_dense_rows(hidden_dims, activation):
    batch, dense = batch_of()
    encoder = Encoder(8, 3, hidden_dims, activation=activation)
    hidden = dense @ encoder.input_layer.weight + encoder.input_layer.bias
    for layer in encoder.layers:
        hidden = functional.linear(ACTIVATIONS[activation](hidden), layer.weight, layer.bias)
    filled = [0, 1, 3, 4]
    posterior = encoder(batch)
    assert posterior.mean.shape == posterior.log_variance.shape == (5, 3)
    assert torch.allclose(torch.cat([posterior.mean, posterior.log_variance], dim=1)[filled], hidden[filled], atol=1e-6)


def test_documents_without_words_have_the_prior_and_teach_nothing():
    empty = sparse.csr_array((2, 8), dtype=np.float32)
    encoder = Encoder(8, 3, (4,))
    posterior = encoder(take_batch(empty, empty.data, slice(None)))
    assert not posterior.mean.any()
    assert not posterior.log_variance.any()
    (posterior.mean.sum() + posterior.log_variance.sum()).backward()
    assert not any(parameter.grad.any() for parameter in encoder.parameters())


def test_dropout_drops_nonzeros_in_training_and_keeps_their_sum_in_the_mean():
    batch, dense = batch_of(num_rows=400)
    encoder = Encoder(8, 3, (), dropout=0.25)
    seen = encoder._visible(batch.inputs, torch.Generator().manual_seed(0))
    dropped = seen == 0
    assert 0.2 < dropped.float().mean() < 0.3
    assert torch.allclose(seen[~dropped], batch.inputs[~dropped] / 0.75)
    encoder.eval()
    assert torch.equal(encoder._visible(batch.inputs, None), batch.inputs)
    hidden = dense @ encoder.input_layer.weight + encoder.input_layer.bias
    assert torch.allclose(encoder(batch).mean[0], hidden[0, :3], atol=1e-6)


def test_dropout_depends_on_its_generator_alone():
    batch, _ = batch_of()
    encoder = Encoder(8, 3, (4,), dropout=0.5)

    def mean(seed):
        return encoder(batch, torch.Generator().manual_seed(seed)).mean

    torch.manual_seed(1)
    first = mean(0)
    torch.manual_seed(2)
    assert torch.equal(mean(0), first)
    assert not torch.equal(mean(1), first)


@pytest.mark.parametrize("hidden_dims", [(), (7,), [7, 6]])
def test_decoder_is_a_plain_network(hidden_dims):
    decoder = Decoder(8, 3, hidden_dims, activation="tanh")
    z = torch.randn(5, 3)
    hidden = z
    for layer in decoder.layers:
        hidden = torch.tanh(functional.linear(hidden, layer.weight, layer.bias))
    assert torch.allclose(decoder.hidden(z), hidden)
    assert torch.allclose(decoder.logits(z), hidden @ decoder.weight.T + decoder.bias, atol=1e-6)
    assert decoder.weight.shape == (8, [3, *hidden_dims][-1])
    assert decoder.latent_dim == 3


def test_all_parameters_begin_uniform_in_the_papers_range():
    for module in (Encoder(300, 20, (30, 30)), Decoder(300, 20, (30,))):
        for parameter in module.parameters():
            assert parameter.abs().max() <= 0.1
        every = torch.cat([parameter.detach().flatten() for parameter in module.parameters()])
        assert every.abs().max() > 0.09
        assert every.std() == pytest.approx(0.1 / 3**0.5, rel=0.05)


def test_other_beginnings():
    assert Decoder(300, 20, init_range=0.5).weight.abs().max() > 0.4
    glorot = Encoder(300, 20, (30,), init_range=None)
    assert not glorot.input_layer.bias.any()
    assert glorot.input_layer.weight.abs().max() <= (6 / 330) ** 0.5


def test_the_sparse_gradient_reaches_the_first_layer():
    batch, _ = batch_of()
    encoder = Encoder(8, 3, (4,), sparse_gradient=True)
    encoder(batch).mean.sum().backward()
    assert encoder.input_layer.weight.grad.is_sparse


@pytest.mark.parametrize("network", [Encoder, Decoder])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_terms": 0}, "num_terms must be an integer >= 1, got 0"),
        ({"latent_dim": 0}, "latent_dim must be an integer >= 1, got 0"),
        ({"hidden_dims": (0,)}, "hidden_dims must be an integer >= 1, got 0"),
        ({"activation": "sine"}, "activation must be one of 'relu', 'tanh', 'softplus', got 'sine'"),
        ({"init_range": 0.0}, "init_range must be a finite number > 0, got 0.0"),
    ],
)
def test_bad_arguments(network, options, message):
    with pytest.raises(ValueError, match=message):
        network(**{"num_terms": 8, "latent_dim": 3, "hidden_dims": (4,), **options})


def test_bad_dropout():
    with pytest.raises(ValueError, match="dropout must be a finite number >= 0 and < 1, got 1"):
        Encoder(8, 3, dropout=1)
