from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refinement_problems import HIDDEN, decoder_of, documents, estimated_bound, some_start
from scipy import sparse

from gossamer.models.counts import block_likelihood
from gossamer.models.counts.batch import take_batch
from gossamer.models.counts.posterior import Posterior
from gossamer.models.counts.refinement import Refinement, refine

METHODS = ["newton", "adam"]


def refined(decoder, batch, start, seed=0, **settings):
    return refine(decoder, batch, start, Refinement(**settings), torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("hidden_dims", HIDDEN)
def test_the_bound_rises_and_no_gradient_leaves(hidden_dims, method):
    decoder, batch = decoder_of(hidden_dims), documents(20)
    start = some_start(batch, decoder)
    start = Posterior(start.mean.requires_grad_(), start.log_variance.requires_grad_())
    found = refined(decoder, batch, start, method=method)
    gain = estimated_bound(decoder, batch, found) - estimated_bound(decoder, batch, start.detach())
    assert gain.mean() > 0.5
    assert not found.mean.requires_grad
    assert not found.log_variance.requires_grad
    assert all(parameter.grad is None and parameter.requires_grad for parameter in decoder.parameters())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("hidden_dims", HIDDEN)
def test_documents_without_words_get_the_prior(hidden_dims, method):
    decoder, batch = decoder_of(hidden_dims), documents(5, empty=(0, 3))
    found = refined(decoder, batch, some_start(batch, decoder), method=method, steps=3)
    assert not found.mean[[0, 3]].any()
    assert not found.log_variance[[0, 3]].any()
    assert bool(found.mean[[1, 2, 4]].any(dim=1).all())
    nothing = documents(3, empty=(0, 1, 2))
    assert not refined(decoder, nothing, some_start(nothing, decoder), method=method).mean.any()


@pytest.mark.parametrize("method", METHODS)
def test_no_rows_and_no_steps(method):
    decoder, batch = decoder_of(), documents(4)
    start = some_start(batch, decoder)
    assert torch.equal(refined(decoder, batch, start, method=method, steps=0).mean, start.mean)
    matrix = sparse.csr_array((0, 12), dtype=np.float32)
    nobody = take_batch(matrix, matrix.data, np.arange(0))
    assert len(refined(decoder, nobody, some_start(nobody, decoder), method=method)) == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("hidden_dims", HIDDEN)
def test_same_seed_same_answer_and_start_untouched(hidden_dims, method):
    decoder, batch = decoder_of(hidden_dims), documents()
    start = some_start(batch, decoder)
    copies = start.mean.clone(), start.log_variance.clone()
    first, second = (refined(decoder, batch, start, method=method, steps=4) for _ in range(2))
    assert torch.equal(first.mean, second.mean)
    assert torch.equal(first.log_variance, second.log_variance)
    assert torch.equal(start.mean, copies[0])
    assert torch.equal(start.log_variance, copies[1])


@pytest.mark.parametrize("hidden_dims", HIDDEN)
def test_blocks_do_not_matter_to_newton(hidden_dims, monkeypatch):
    decoder, batch = decoder_of(hidden_dims), documents(11, empty=(4,))
    start = some_start(batch, decoder)
    whole = refined(decoder, batch, start)
    monkeypatch.setattr(block_likelihood, "BLOCK_VALUES", 1)
    for rows in (1, 3):
        monkeypatch.setattr(block_likelihood, "MIN_BLOCK_ROWS", rows)
        found = refined(decoder, batch, start)
        torch.testing.assert_close(found.mean, whole.mean)
        torch.testing.assert_close(found.log_variance, whole.log_variance)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from(HIDDEN), st.permutations(range(5)), st.permutations(range(12)))
def test_order_of_rows_and_columns_does_not_matter_to_newton(seed, hidden_dims, rows, columns):
    batch, decoder = documents(seed=seed), decoder_of(hidden_dims, seed=seed)
    start = some_start(batch, decoder, seed)
    expected = refined(decoder, batch, start, steps=2)
    dense = np.zeros((5, 12), dtype=np.float32)
    dense[batch.row_of_nonzero, batch.terms] = batch.counts
    matrix = sparse.csr_array(dense[rows][:, columns])
    turned = decoder_of(hidden_dims, seed=seed)
    with torch.no_grad():
        turned.weight.copy_(decoder.weight[list(columns)])
        turned.bias.copy_(decoder.bias[list(columns)])
    start = Posterior(start.mean[list(rows)], start.log_variance[list(rows)])
    found = refined(turned, take_batch(matrix, matrix.data, np.arange(5)), start, steps=2)
    torch.testing.assert_close(found.mean, expected.mean[list(rows)], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_counts_may_be_any_weights(method):
    """Half of the counts is the KL counted twice, which is how a weight of the KL is refined with."""
    decoder, batch = decoder_of(), documents(6)
    weighted = replace(batch, counts=batch.counts / 2)
    start = some_start(batch, decoder)
    found, whole = (refined(decoder, each, start, method=method) for each in (weighted, batch))
    assert bool(found.mean.isfinite().all())
    assert found.log_variance.mean() > whole.log_variance.mean()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("hidden_dims", HIDDEN)
def test_inference_mode_is_no_obstacle(hidden_dims, method):
    decoder, batch = decoder_of(hidden_dims), documents()
    with torch.inference_mode():
        start = some_start(batch, decoder)
        found = refined(decoder, batch, start, method=method, steps=2)
    expected = refined(decoder, batch, some_start(batch, decoder), method=method, steps=2)
    assert torch.equal(found.mean, expected.mean)


def test_newton_goes_beyond_what_the_papers_hundred_adam_steps_reach():
    for hidden_dims in HIDDEN:
        decoder, batch = decoder_of(hidden_dims, activation="relu"), documents(40)
        start = some_start(batch, decoder)
        newton, adam = (estimated_bound(decoder, batch, refined(decoder, batch, start, method=m)) for m in METHODS)
        assert newton.mean() > adam.mean()


def test_own_numbers_of_steps():
    linear, hidden = decoder_of(), decoder_of((6, 7))
    assert Refinement("adam").num_steps(linear) == Refinement("adam").num_steps(hidden) == 100
    assert 1 <= Refinement().num_steps(linear) < Refinement().num_steps(hidden) < 10
    assert Refinement(steps=7).num_steps(linear) == Refinement("adam", steps=7).num_steps(hidden) == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "lbfgs"}, "method must be one of 'newton', 'adam', got 'lbfgs'"),
        ({"steps": -1}, "steps must be an integer >= 0, got -1"),
        ({"steps": 2.5}, r"steps must be an integer >= 0, got 2\.5"),
        ({"learning_rate": 0.0}, r"learning_rate must be a finite number > 0, got 0\.0"),
        ({"tolerance": -0.1}, r"tolerance must be a finite number >= 0, got -0\.1"),
        ({"tolerance": float("nan")}, "tolerance must be a finite number >= 0, got nan"),
    ],
)
def test_bad_settings_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Refinement(**arguments)


def test_bad_starts_and_batches_are_named():
    decoder, batch = decoder_of(), documents(4)
    start = some_start(batch, decoder)
    with pytest.raises(ValueError, match=r"start\.mean must have shape \(4, 3\), got \(3, 3\)"):
        refined(decoder, batch, Posterior(start.mean[:3], start.log_variance[:3]))
    with pytest.raises(ValueError, match=r"start\.log_variance must have shape \(4, 3\), got \(4, 2\)"):
        refined(decoder, batch, Posterior(start.mean, start.log_variance[:, :2]))
    broken = start.mean.clone()
    broken[1, 2] = torch.nan
    with pytest.raises(ValueError, match=r"start\.mean must be finite, got 1 values that are not"):
        refined(decoder, batch, Posterior(broken, start.log_variance))
    with pytest.raises(ValueError, match="batch must have the decoder's 12 terms, got 11"):
        refined(decoder, documents(4, 11), start)
