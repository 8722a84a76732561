import copy
import pickle

import numba
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from gossamer.models.counts.batch import take_batch
from gossamer.models.counts.sparse_layer import SparseInputLayer


def batch_of(seed=0, num_rows=5, num_terms=7, density=0.4):
    rng = np.random.default_rng(seed)
    matrix = sparse.csr_array(rng.random((num_rows, num_terms)) * (rng.random((num_rows, num_terms)) < density))
    return take_batch(matrix, matrix.data, slice(None)), torch.from_numpy(matrix.toarray())


def layer_of(num_terms=7, width=3, *, dtype=torch.float32, **options):
    layer = SparseInputLayer(num_terms, width, **options)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return layer.to(dtype)


def gradients(output, layer):
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(2)).to(output.dtype)
    layer.zero_grad()
    (output * weights).sum().backward()
    return layer.weight.grad.to_dense(), layer.bias.grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sparse_gradient", [False, True])
@given(seed=st.integers(0, 1000), density=st.sampled_from([0.0, 0.2, 1.0]))
def test_equal_to_the_dense_layer(dtype, sparse_gradient, seed, density):
    batch, dense = batch_of(seed, density=density)
    layer = layer_of(dtype=dtype, sparse_gradient=sparse_gradient)
    # The batch holds its inputs in single precision.
    plain = dense.to(torch.float32).to(dtype) @ layer.weight + layer.bias
    expected = gradients(plain, layer)
    output = layer(batch, batch.inputs)
    assert output.dtype == dtype
    assert torch.allclose(output, plain, atol=1e-6)
    for ours, theirs in zip(gradients(output, layer), expected, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_the_row_sparse_gradient_has_only_the_rows_that_occur():
    batch, dense = batch_of(num_terms=50, density=0.05)
    layer = layer_of(50, sparse_gradient=True)
    layer(batch, batch.inputs).sum().backward()
    assert layer.weight.grad.is_sparse
    occurring = dense.any(dim=0).nonzero().squeeze(1)
    assert layer.weight.grad._indices()[0].tolist() == occurring.tolist()


@pytest.mark.parametrize("density", [0.0, 0.02, 0.4, 1.0])
@pytest.mark.parametrize("sparse_gradient", [False, True])
def test_the_gradient_does_not_depend_on_the_number_of_threads(sparse_gradient, density, monkeypatch):
    batch, _ = batch_of(num_terms=30, density=density)
    found = []
    for num_threads in (1, 2, 3, 50):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=num_threads: threads)
        layer = layer_of(30, sparse_gradient=sparse_gradient)
        found.append(gradients(layer(batch, batch.inputs), layer)[0])
    assert all(torch.equal(other, found[0]) for other in found[1:])


def test_two_backward_passes_add_up():
    batch, _ = batch_of()
    for sparse_gradient in (False, True):
        layer = layer_of(sparse_gradient=sparse_gradient)
        layer(batch, batch.inputs).sum().backward()
        once = layer.weight.grad.to_dense().clone()
        layer(batch, batch.inputs).sum().backward()
        assert torch.allclose(layer.weight.grad.to_dense(), 2 * once)


def test_order_of_rows_and_of_terms_does_not_matter():
    rng = np.random.default_rng(0)
    matrix = sparse.csr_array(rng.poisson(0.5, (6, 8)).astype(np.float32))
    rows, columns = rng.permutation(6), rng.permutation(8)
    layer, other = layer_of(8), layer_of(8)
    with torch.no_grad():
        other.weight.copy_(layer.weight[columns])
    plain = layer(take_batch(matrix, matrix.data, rows), torch.from_numpy(matrix[rows].data))
    moved = sparse.csr_array(matrix[:, columns])
    moved.sort_indices()
    batch = take_batch(moved, moved.data, rows)
    assert torch.allclose(other(batch, batch.inputs), plain, atol=1e-6)


class Recorder:
    def __init__(self):
        self.seen = []

    def catch_up(self, parameter, rows=None):
        self.seen.append(None if rows is None else rows.tolist())


def test_the_optimiser_is_asked_before_rows_are_read():
    batch, dense = batch_of(num_terms=50, density=0.05)
    layer, recorder = layer_of(50, sparse_gradient=True), Recorder()
    layer.attach(recorder)
    occurring = dense.any(dim=0).nonzero().squeeze(1).tolist()
    layer(batch, batch.inputs)
    with torch.no_grad():
        layer(batch, batch.inputs)
    assert recorder.seen == [occurring, occurring]
    layer.eval()
    assert recorder.seen[2:] == [None]
    layer(batch, batch.inputs)
    assert len(recorder.seen) == 3


def test_a_layer_outlives_its_optimiser_and_copies_do_not_take_it_along():
    batch, _ = batch_of()
    layer, recorder = layer_of(sparse_gradient=True), Recorder()
    layer.attach(recorder)
    copied = copy.deepcopy(layer)
    copied.eval()
    pickle.loads(pickle.dumps(layer)).eval()
    assert recorder.seen == []
    del recorder
    layer(batch, batch.inputs).sum().backward()
    layer.eval()


def test_bad_arguments():
    batch, _ = batch_of()
    with pytest.raises(ValueError, match="batch must have 9 terms as the layer has, got 7"):
        layer_of(9)(batch, batch.inputs)
    with pytest.raises(ValueError, match="num_terms must be an integer >= 1, got 0"):
        SparseInputLayer(0, 3)
    with pytest.raises(ValueError, match="width must be an integer >= 1, got 0"):
        SparseInputLayer(3, 0)
    with pytest.raises(ValueError, match="sparse_gradient must be True or False, got 1"):
        SparseInputLayer(3, 3, sparse_gradient=1)
