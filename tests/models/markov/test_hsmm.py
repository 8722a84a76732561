from __future__ import annotations

import numpy as np
import pytest

from gossamer.models.markov import HSMM
from gossamer.testing.planted import planted_phases


@pytest.mark.parametrize("duration", ["poisson", "negative-binomial", "table"])
def test_planted_durations_are_recovered(duration: str):
    planted = planted_phases(40, random_state=1)
    model = HSMM(num_states=3, duration=duration).fit(planted.data)
    table = model.duration_probs()[0]
    np.testing.assert_allclose(table.sum(1), 1.0)
    found = table @ np.arange(table.shape[1])
    order = np.abs(model.parameters_["emission.means"][0][:, None] - planted.means).max(axis=2).argmin(axis=1)
    np.testing.assert_allclose(found, planted.duration_rates[order], rtol=0.15)


def test_longest_duration_grows_with_what_is_found_and_stays_where_it_is_given():
    data = planted_phases(10, mean_duration=25.0, shortest=150, longest=150, random_state=2).data
    model = HSMM(num_states=3).fit(data)
    beyond = 1e-5
    rates = model.parameters_["duration.rates"]
    assert model.longest_duration_ > rates.max() + 3 * np.sqrt(rates.max())
    assert model.duration_probs()[0, :, -1].max() < beyond
    assert HSMM(num_states=3, max_duration=7).fit(data).longest_duration_ == 7
    assert HSMM(num_states=3, max_duration=500, epochs=2).fit(data).duration_probs().shape == (1, 3, 500)


def test_a_state_never_follows_itself():
    model = HSMM(num_states=3).fit(planted_phases(6, random_state=3).data)
    assert (np.diagonal(model.parameters_["transition"], axis1=1, axis2=2) == 0).all()


def test_next_phase_says_which_and_when():
    planted = planted_phases(12, random_state=4)
    model = HSMM(num_states=3).fit(planted.data)
    following = model.next_phase(planted.data)
    np.testing.assert_allclose(following.state_probs.sum(1), 1.0)
    np.testing.assert_allclose(following.steps_left_probs.sum(1), 1.0)
    now = model.predict(planted.data)[planted.data.offsets[1:] - 1]
    assert (following.state_probs.argmax(1) != now).mean() > 0.9


def test_bad_arguments_are_named():
    data = planted_phases(3, random_state=5).data
    with pytest.raises(ValueError, match="num_states must be an integer >= 2, got 1"):
        HSMM(num_states=1).fit(data)
    with pytest.raises(ValueError, match="max_duration must be an integer >= 1, got 0"):
        HSMM(max_duration=0).fit(data)
    with pytest.raises(ValueError, match="duration must be one of 'poisson', 'negative-binomial', 'table'"):
        HSMM(duration="gamma").fit(data)
