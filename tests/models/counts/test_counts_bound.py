import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats
from torch.nn import functional

from gossamer.models.counts import bound as bound_module
from gossamer.models.counts.batch import take_batch
from gossamer.models.counts.bound import bound, multinomial_log_likelihood, rows_at_once
from gossamer.models.counts.module import Decoder
from gossamer.models.counts.posterior import Posterior


def problem(seed=0, num_rows=6, num_terms=9, width=4, dtype=torch.float64):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.7, (num_rows, num_terms)).astype(np.float32)
    counts[-1] = 0  # an empty document
    matrix = sparse.csr_array(counts)
    hidden, weight, bias = (
        torch.from_numpy(rng.standard_normal(shape)).to(dtype).requires_grad_()
        for shape in ((num_rows, width), (num_terms, width), (num_terms,))
    )
    return take_batch(matrix, matrix.data, slice(None)), torch.from_numpy(counts).to(dtype), (hidden, weight, bias)


def by_brute_force(dense, hidden, weight, bias):
    return (dense * functional.log_softmax(functional.linear(hidden, weight, bias), dim=1)).sum(dim=1)


@pytest.fixture(params=[1, 2, 100])
def block(request, monkeypatch):
    """Rows of a block; restored after the test, so hypothesis may share it between its examples."""
    monkeypatch.setattr(bound_module, "ROWS_AT_LEAST", request.param)
    monkeypatch.setattr(bound_module, "VALUES_AT_ONCE", 1)


@pytest.mark.parametrize("uniform", [True, False])
def test_value_and_gradients_are_those_of_brute_force(block, uniform):
    for seed in range(5):
        batch, dense, leaves = problem(seed)
        expected = by_brute_force(dense, *leaves)
        found = multinomial_log_likelihood(*leaves, batch)
        assert torch.allclose(found, expected)
        generator = torch.Generator().manual_seed(seed)
        upstream = torch.full_like(found, 0.3) if uniform else torch.randn(len(found), generator=generator).to(found)
        wanted = torch.autograd.grad(expected, leaves, upstream)
        for ours, theirs in zip(torch.autograd.grad(found, leaves, upstream), wanted, strict=True):
            assert torch.allclose(ours, theirs)


def test_gradcheck(block):
    batch, _, leaves = problem()
    assert torch.autograd.gradcheck(lambda *given: multinomial_log_likelihood(*given, batch), leaves)
    assert torch.autograd.gradcheck(lambda *given: multinomial_log_likelihood(*given, batch).sum(), leaves)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_gradients_of_some_arguments_only(wanted):
    batch, dense, leaves = problem()
    for number, leaf in enumerate(leaves):
        leaf.requires_grad_(number in wanted)
    chosen = [leaves[number] for number in wanted]
    expected = torch.autograd.grad(by_brute_force(dense, *leaves).sum(), chosen)
    found = torch.autograd.grad(multinomial_log_likelihood(*leaves, batch).sum(), chosen)
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.allclose(ours, theirs)


def test_backward_twice_gives_the_same():
    batch, _, leaves = problem()
    value = multinomial_log_likelihood(*leaves, batch).mean()
    first = torch.autograd.grad(value, leaves, retain_graph=True)
    kept = [gradient.clone() for gradient in first]
    for ours, theirs, still in zip(torch.autograd.grad(value, leaves), first, kept, strict=True):
        assert torch.allclose(ours, theirs)
        assert torch.equal(theirs, still)


def test_no_gradient_is_made_where_none_is_wanted(monkeypatch):
    batch, dense, leaves = problem()
    wanted = []
    evaluate = bound_module._evaluate

    def listen(*args, **options):
        wanted.append((options["of_hidden"], options["of_weight"]))
        return evaluate(*args, **options)

    monkeypatch.setattr(bound_module, "_evaluate", listen)
    with torch.no_grad():
        value = multinomial_log_likelihood(*leaves, batch)
    assert torch.allclose(value, by_brute_force(dense, *leaves))
    leaves[1].requires_grad_(False)
    leaves[2].requires_grad_(False)
    multinomial_log_likelihood(*leaves, batch).sum().backward()
    assert wanted == [(False, False), (True, False)]


def test_memory_is_given_back_without_the_garbage_collector():
    batch, _, leaves = problem()
    gc.disable()
    try:
        value = multinomial_log_likelihood(*leaves, batch)
        alive = weakref.ref(value.grad_fn)
        del value
        assert alive() is None
    finally:
        gc.enable()


@given(st.integers(0, 1000), st.floats(-1e4, 1e4))
def test_single_precision_is_enough_and_a_shift_of_all_logits_changes_nothing(seed, shift):
    batch, dense, leaves = problem(seed)
    expected = by_brute_force(dense, *leaves)
    hidden, weight, bias = (leaf.detach().to(torch.float32) for leaf in leaves)
    assert torch.allclose(multinomial_log_likelihood(hidden, weight, bias, batch).double(), expected, rtol=1e-5)
    shifted = multinomial_log_likelihood(hidden.double(), weight.double(), bias.double() + shift, batch)
    assert torch.allclose(shifted, expected, rtol=1e-5)


def test_probabilities_that_underflow_have_finite_logarithms():
    batch, dense, (hidden, weight, bias) = problem(dtype=torch.float32)
    far = (weight * 300).detach().requires_grad_()
    value = multinomial_log_likelihood(hidden, far, bias, batch)
    assert torch.allclose(value, by_brute_force(dense, hidden, far, bias), rtol=1e-5)
    value.sum().backward()
    assert all(torch.isfinite(leaf.grad).all() for leaf in (hidden, far, bias))
    assert value.min() < -200


def test_order_of_documents_and_terms_does_not_matter_and_an_empty_document_adds_nothing():
    batch, dense, (hidden, weight, bias) = problem()
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(dense)), rng.permutation(dense.shape[1])
    moved = sparse.csr_array(dense.numpy()[rows][:, columns])
    again = multinomial_log_likelihood(
        hidden[rows], weight[columns], bias[columns], take_batch(moved, moved.data, slice(None))
    )
    value = multinomial_log_likelihood(hidden, weight, bias, batch)
    assert torch.allclose(again, value[rows])
    assert value[-1] == 0
    for leaf in (hidden, weight, bias):
        leaf.grad = None
    value[-1].backward()
    assert not any(leaf.grad.any() for leaf in (hidden, weight, bias))


def test_equal_to_the_multinomial_distribution_but_for_its_coefficient():
    batch, dense, leaves = problem()
    probs = functional.softmax(functional.linear(*leaves), dim=1).detach().numpy()
    counts = dense.numpy()
    value = multinomial_log_likelihood(*leaves, batch).detach().numpy()
    for row in range(len(counts)):
        ordered = stats.multinomial.logpmf(counts[row], counts[row].sum(), probs[row] / probs[row].sum())
        coefficient = stats.multinomial.logpmf(counts[row], counts[row].sum(), np.full(9, 1 / 9))
        coefficient += counts[row].sum() * np.log(9)
        assert value[row] == pytest.approx(ordered - coefficient, rel=1e-6)


def test_counts_may_be_weights():
    batch, dense, leaves = problem()
    halved = replace(batch, counts=batch.counts / 2)
    assert torch.allclose(multinomial_log_likelihood(*leaves, halved), by_brute_force(dense / 2, *leaves))


def test_no_documents_no_values():
    _, _, leaves = problem()
    empty = sparse.csr_array((0, 9), dtype=np.float32)
    value = multinomial_log_likelihood(leaves[0][:0], *leaves[1:], take_batch(empty, empty.data, slice(None)))
    assert value.shape == (0,)
    value.sum().backward()
    assert not leaves[1].grad.any()


@pytest.mark.parametrize("hidden_dims", [(), (5,)])
def test_bound_is_the_likelihood_at_the_sample_less_the_divergence(hidden_dims):
    batch, dense, _ = problem()
    decoder = Decoder(9, 3, hidden_dims, activation="tanh").double()
    generator = torch.Generator().manual_seed(0)
    mean, log_variance, noise = torch.randn(3, 6, 3, generator=generator, dtype=torch.float64)
    mean.requires_grad_()
    posterior = Posterior(mean, log_variance)
    z = mean + noise * torch.exp(log_variance / 2)
    likelihood = (dense * functional.log_softmax(decoder.logits(z), dim=1)).sum(dim=1)
    divergence = torch.distributions.kl_divergence(
        torch.distributions.Normal(mean, torch.exp(log_variance / 2)), torch.distributions.Normal(0.0, 1.0)
    ).sum(dim=1)
    for kl_weight in (0.0, 0.3, 1.0):
        expected = likelihood - kl_weight * divergence
        found = bound(decoder, posterior, batch, noise, kl_weight)
        assert torch.allclose(found, expected)
        leaves = [mean, *decoder.parameters()]
        wanted = torch.autograd.grad(expected.mean(), leaves, retain_graph=True)
        for ours, theirs in zip(torch.autograd.grad(found.mean(), leaves, retain_graph=True), wanted, strict=True):
            assert torch.allclose(ours, theirs)


def test_bound_is_below_the_evidence():
    """One latent variable: log p(x) by quadrature, the bound's expectation by many draws."""
    matrix = sparse.csr_array(np.array([[3.0, 1.0, 0.0]]))
    decoder = Decoder(3, 1, init_range=2.0).double()
    grid = torch.linspace(-8, 8, 4001, dtype=torch.float64).unsqueeze(1)
    with torch.no_grad():
        log_probs = functional.log_softmax(decoder.logits(grid), dim=1)
        joint = 3 * log_probs[:, 0] + log_probs[:, 1] - grid.squeeze(1).square() / 2 - np.log(2 * np.pi) / 2
        evidence = torch.logsumexp(joint, dim=0) + np.log(16 / 4000)
        noise = torch.randn(4000, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        repeated = take_batch(matrix, matrix.data, [0] * 4000)
        for mean, log_variance in ((0.0, 0.0), (0.5, -1.0), (-1.0, 0.5)):
            shape = torch.ones(4000, 1, dtype=torch.float64)
            values = bound(decoder, Posterior(mean * shape, log_variance * shape), repeated, noise)
            assert values.mean() - 4 * values.std() / 4000**0.5 <= evidence


def test_blocks_are_nearly_equal_and_never_too_thin():
    assert rows_at_once(500, 2_000) == 500
    assert rows_at_once(500, 50_000) == 125
    assert rows_at_once(151, 50_000) == 76
    assert rows_at_once(1, 10**9) == 1
    assert rows_at_once(0, 10) == 0


def test_bad_arguments():
    batch, _, (hidden, weight, bias) = problem()
    with pytest.raises(ValueError, match=r"weight must have shape \(9, 4\), got \(8, 4\)"):
        multinomial_log_likelihood(hidden, weight[:8], bias[:8], batch)
    with pytest.raises(ValueError, match=r"hidden must have a row per document \(6\), got 5"):
        multinomial_log_likelihood(hidden[:5], weight, bias, batch)
