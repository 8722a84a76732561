"""An EM iteration as a layer: the classical one, differentiable."""

from __future__ import annotations

import numpy as np
import torch
from tiny_series import GAUSSIAN, tiny_batch, tiny_parameters, tiny_problem, tiny_series

from gossamer.models.markov.chains import HSMMChain
from gossamer.models.markov.durations import DURATIONS
from gossamer.models.markov.neural.em_layer import improve, log_likelihood, observe
from gossamer.models.markov.neural.network import em_function
from gossamer.models.markov.step import EMStep


def test_it_is_the_iteration_of_hsmm():
    batch = tiny_batch()
    problem, series = tiny_problem(batch), tiny_series(batch)
    found = improve(tiny_parameters(3), series, GAUSSIAN, problem.prior, 2.5, problem.longest)
    chain = HSMMChain(DURATIONS["poisson"], problem.longest, prior_mean=3.5)
    step = EMStep(chain, GAUSSIAN, series.observed, batch.offsets, [tiny_parameters(3)], problem.prior, num_observed=24)
    step(None, 1.0)
    for name, value in step.parameters.items():
        close = {"rtol": 0.2, "atol": 0.2} if name == "duration.rates" else {"rtol": 1e-9, "atol": 1e-9}
        torch.testing.assert_close(found.parameters[name], value, **close, msg=name)
    torch.testing.assert_close(found.counts.sum(1), torch.full((3,), 8.0, dtype=torch.double))


def test_the_gradient_is_exact():
    batch = tiny_batch(num_series=2, length=5)
    problem, series = tiny_problem(batch, longest=5), tiny_series(batch)
    layer = em_function(series, problem)
    vectors = problem.layout.pack(tiny_parameters(2)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: layer(x)[0], (vectors,), atol=1e-5, rtol=1e-4)


def test_hidden_steps_are_missing_ones():
    batch = tiny_batch()
    hidden = np.zeros(24, dtype=bool)
    hidden[[1, 9]] = True
    values = batch.values.copy()
    values[hidden] = np.nan
    found = observe(batch, GAUSSIAN, 1, hidden)
    assert found.num_observed == 22
    one, other = (
        log_likelihood(tiny_parameters(3), series, GAUSSIAN, 8)
        for series in (found, observe(batch._replace(values=values), GAUSSIAN, 1))
    )
    torch.testing.assert_close(one, other)


def test_a_series_without_steps_keeps_its_means():
    batch = tiny_batch(num_series=2)
    batch = batch._replace(values=batch.values[:8], offsets=np.array([0, 8, 8]))
    problem = tiny_problem(batch)
    found = improve(tiny_parameters(2), tiny_series(batch), GAUSSIAN, problem.prior, 2.5, problem.longest)
    assert all(torch.isfinite(value).all() for value in found.parameters.values())
    torch.testing.assert_close(found.parameters["emission.means"][1], tiny_parameters()["emission.means"][0])
    assert found.counts[1].tolist() == [0, 0]
