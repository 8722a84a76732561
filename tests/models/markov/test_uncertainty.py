from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.data.sequences import Sequences
from gossamer.models.markov import HMM, HSMM
from gossamer.models.markov.emissions import EMISSIONS
from gossamer.models.markov.step import emission_part
from gossamer.models.markov.uncertainty import coordinates_of, observed_information, standard_errors

FREE = {"pseudo_count": 0.0, "variance_weight": 0.0}  # without a prior the fit is the likelihood's maximum


def two_far_states(num_steps, generator):
    transition = np.array([[0.9, 0.1], [0.3, 0.7]])
    states = [0]
    for _ in range(num_steps - 1):
        states.append(int(generator.choice(2, p=transition[states[-1]])))
    return np.array(states)


def test_one_gaussian_state_has_the_errors_of_the_textbook():
    x = np.random.default_rng(0).normal(3, 2, (400, 1))
    errors = HMM(num_states=1, **FREE).fit(x, lengths=[400]).standard_errors(x, [400])
    np.testing.assert_allclose(errors["emission.means"], x.std() / 20, rtol=1e-6)
    np.testing.assert_allclose(errors["emission.variances"], x.var() * np.sqrt(2 / 400), rtol=1e-6)
    assert errors["transition"].item() == 0


def test_states_that_can_be_told_apart_have_binomial_errors():
    generator = np.random.default_rng(1)
    states = two_far_states(1000, generator)
    x = 30.0 * states[:, None] + generator.normal(size=(1000, 1))
    model = HMM(num_states=2, **FREE).fit(x, lengths=[1000])
    found = model.predict(x, [1000])
    probs, times = model.parameters_["transition"][0], np.bincount(found[:-1], minlength=2)
    expected = np.sqrt(probs * (1 - probs) / times[:, None])
    np.testing.assert_allclose(model.standard_errors(x, [1000])["transition"][0], expected, rtol=1e-5)


@pytest.mark.parametrize("duration", ["poisson", "negative-binomial", "table"])
@pytest.mark.parametrize("emission", ["gaussian", "gaussian-full", "categorical", "poisson"])
def test_the_information_is_minus_the_second_derivative(emission, duration):
    """Against differences of the log-likelihood, for an HSMM with every kind of parameter."""
    generator = np.random.default_rng(2)
    model = HSMM(num_states=3, emission=emission, duration=duration, max_duration=4, epochs=3)
    made = {"categorical": lambda: generator.integers(0, 3, 40), "poisson": lambda: generator.integers(0, 9, (40, 1))}
    values = made.get(emission, lambda: generator.normal(size=(40, 2)))()
    data = Sequences(values, np.array([0, 25, 40]))
    model.fit(data)
    chain, family = model._fitted_chain(), EMISSIONS[emission]
    observed = family.observe(model._read(data).values, model.n_features_in_)
    coordinates = coordinates_of(model._tensors())
    information = observed_information(chain, family, coordinates, observed, data.offsets)[0]

    def likelihood(vector):
        placed = coordinates.place(vector[None])
        return chain.log_likelihood(placed, family.log_density(observed, emission_part(placed)), data.offsets).sum()

    size, step = coordinates.size, 1e-4
    for direction in torch.from_numpy(generator.normal(size=(3, size))):
        ahead, here, behind = (likelihood(move * step * direction) for move in (1, 0, -1))
        curvature = (ahead - 2 * here + behind) / step**2
        torch.testing.assert_close(direction @ information @ direction, -curvature, rtol=1e-3, atol=1e-2)


@pytest.mark.slow
def test_errors_are_the_deviation_over_new_data():
    """The mean reported error against what estimates really do, over 60 data sets of the same model."""
    truth = HMM(num_states=2, **FREE)
    generator = np.random.default_rng(3)
    start = np.concatenate([generator.normal(0, 1, (100, 1)), generator.normal(4, 1, (100, 1))])
    truth.fit(start, lengths=[200])
    truth.parameters_["transition"] = np.array([[[0.9, 0.1], [0.2, 0.8]]])
    found, told = [], []
    for seed in range(60):
        data = truth.sample(4, length=100, random_state=seed)
        model = HMM(num_states=2, num_starts=1, tolerance=1e-3, random_state=0, **FREE).fit(data)
        order = np.argsort(model.parameters_["emission.means"][0, :, 0])
        errors = model.standard_errors(data)
        means, probs = model.parameters_["emission.means"][0, order, 0], model.parameters_["transition"][0].diagonal()
        found.append([*means, *probs[order]])
        told.append([*errors["emission.means"][0, order, 0], *errors["transition"][0].diagonal()[order]])
    # A standard deviation of 60 numbers is itself sure to 1 / sqrt(120) = 9 %.
    np.testing.assert_allclose(np.mean(told, axis=0), np.std(found, axis=0, ddof=1), rtol=0.3)


def test_every_series_may_have_its_own_model():
    generator = np.random.default_rng(4)
    data = Sequences(generator.normal(size=(60, 1)) + np.repeat([0, 5, 0, 5, 0, 5], 10)[:, None], np.array([0, 30, 60]))
    model = HMM(num_states=2, tied=False).fit(data)
    together = model.standard_errors(data)
    for number in range(2):
        alone = {name: torch.from_numpy(value[number : number + 1]) for name, value in model.parameters_.items()}
        part = data[[number]]
        observed = EMISSIONS["gaussian"].observe(part.observations.astype(np.float64), 1)
        expected = standard_errors(model._fitted_chain(), EMISSIONS["gaussian"], alone, observed, part.offsets)
        for name, value in expected.items():
            np.testing.assert_allclose(together[name][number], value[0], rtol=1e-6, atol=1e-9)


def test_what_data_do_not_speak_of_is_nan():
    data = Sequences(np.zeros(30, dtype=np.int64), np.array([0, 30]))
    model = HMM(num_states=2, emission="categorical").fit(Sequences(np.arange(30) % 3, np.array([0, 30])))
    model.parameters_["emission.probs"] = np.full((1, 2, 3), 1 / 3)  # both states alike: nothing tells them apart
    errors = model.standard_errors(data)
    assert np.isnan(errors["transition"]).all()


def test_too_many_parameters_are_refused():
    parameters = {"initial": torch.full((1, 2), 0.5), "emission.probs": torch.full((1, 2, 5000), 1 / 5000)}
    with pytest.raises(ValueError, match=r"at most 3,000 parameters, got 10,002; fit a model with fewer"):
        coordinates_of(parameters)
