from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from gossamer.models.markov.durations import DURATIONS, TAIL, negative_binomial_log_table, poisson_log_table


def test_tables_are_scipys_distributions_cut_and_normalised():
    d = np.arange(12)
    poisson = stats.poisson.pmf(d, 4.0)
    np.testing.assert_allclose(poisson_log_table(torch.tensor([4.0]).double(), 12).exp()[0], poisson / poisson.sum())
    wide = stats.nbinom.pmf(d, 2.5, 2.5 / (2.5 + 4.0))
    found = negative_binomial_log_table(torch.tensor([4.0]).double(), torch.tensor([2.5]).double(), 12)
    np.testing.assert_allclose(found.exp()[0], wide / wide.sum())


def test_tables_are_differentiable():
    rates = torch.tensor([0.5, 3.0], dtype=torch.double, requires_grad=True)
    sizes = torch.tensor([2.0, 0.7], dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda r: poisson_log_table(r, 6), [rates])
    assert torch.autograd.gradcheck(lambda r, s: negative_binomial_log_table(r, s, 6), [rates, sizes])


@pytest.mark.parametrize("name", DURATIONS)
@pytest.mark.parametrize("longest", [3, 40])
def test_the_maximum_is_at_the_parameters_that_made_the_counts(name: str, longest: int):
    """Also where the table is cut in the middle of the distribution, as with 3 steps."""
    family = DURATIONS[name]
    truth = family.start(5.0, 2, longest)
    if name != "table":
        truth = {key: value * torch.tensor([[1.0, 1.3]]) for key, value in truth.items()}
    counts = 100 * family.log_table(truth, longest).exp()
    found = family.maximise(counts, family.start(3.0, 2, longest))
    torch.testing.assert_close(
        family.log_table(found, longest).exp(), family.log_table(truth, longest).exp(), rtol=0, atol=2e-4
    )


@pytest.mark.parametrize("name", DURATIONS)
def test_the_maximum_is_never_worse_than_the_start(name: str):
    family = DURATIONS[name]
    generator = np.random.default_rng(0)
    for _ in range(5):
        counts = torch.from_numpy(generator.gamma(0.3, size=(2, 3, 15)))
        start = {key: value.repeat(2, *[1] * (value.ndim - 1)) for key, value in family.start(4.0, 3, 15).items()}
        found = family.maximise(counts, start)
        before, after = ((counts * family.log_table(p, 15).clamp_min(-1e300)).sum(-1) for p in (start, found))
        assert (after >= before - 1e-9).all()


@pytest.mark.parametrize("name", DURATIONS)
def test_a_state_without_segments_keeps_its_durations(name: str):
    family = DURATIONS[name]
    start = family.start(4.0, 2, 10)
    found = family.maximise(torch.zeros(1, 2, 10).double(), start)
    torch.testing.assert_close(found, start)


@pytest.mark.parametrize("name", ["poisson", "negative-binomial"])
def test_hardly_anything_lies_beyond_the_longest_duration(name: str):
    family = DURATIONS[name]
    parameters = family.start(7.0, 2, 1)
    longest = family.longest(parameters)
    beyond = family.log_table(parameters, 2000).exp()[0, 0, longest:].sum().item()
    one_less = family.log_table(parameters, 2000).exp()[0, 0, longest - 1 :].sum().item()
    assert beyond <= TAIL < one_less


def test_extreme_means_stay_finite():
    family = DURATIONS["poisson"]
    counts = torch.zeros(1, 2, 8).double()
    counts[0, 0, 0], counts[0, 1, 7] = 5.0, 5.0  # always one step, and always as long as can be
    found = family.maximise(counts, family.start(4.0, 2, 8))
    assert torch.isfinite(family.log_table(found, 8)).all()
    assert (family.log_table(found, 8).exp().argmax(-1) == torch.tensor([[0, 7]])).all()


def test_a_table_has_its_own_length():
    family = DURATIONS["table"]
    assert family.longest(family.start(3.0, 2, 5)) is None
    with pytest.raises(ValueError, match="longest must be 5, the table's own, got 4"):
        family.log_table(family.start(3.0, 2, 5), 4)


def test_sizes():
    assert DURATIONS["table"].shapes(2, 5) == {"probs": (2, 5)}
    assert [DURATIONS[name].num_free(2, 5) for name in DURATIONS] == [2, 4, 8]
