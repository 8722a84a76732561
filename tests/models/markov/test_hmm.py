from __future__ import annotations

import numpy as np
import pytest

from gossamer.data import Sequences, Vocabulary
from gossamer.models.markov import HMM
from gossamer.testing.planted import planted_phases


def test_events_with_names_are_explained_by_them():
    names = Vocabulary(["ham", "eggs", "tea", "coffee"])
    rng = np.random.default_rng(0)
    events = np.concatenate([rng.integers(0, 2, 30), rng.integers(2, 4, 30)] * 3)
    data = Sequences(events, np.arange(4) * 60, vocabulary=names)
    model = HMM(num_states=2, emission="categorical").fit(data)
    states = model.predict(data).reshape(3, 2, 30)
    assert (states == states[0, :, :1]).mean() > 0.95
    emits = [row["emits"].split()[0] for row in model.explain()["states"]]
    assert len({name in ("ham", "eggs") for name in emits}) == 2
    assert model.sample(2, random_state=0).vocabulary == names


def test_score_is_the_sum_and_bic_counts_parameters():
    data = planted_phases(5, random_state=0).data
    model = HMM(num_states=3).fit(data)
    assert model.score(data) == pytest.approx(sum(model.score(data[[i]]) for i in range(5)))
    assert model.num_free_parameters == 2 + 3 * 2 + 2 * 3 * 2
    steps = len(data.observations)
    assert model.bic(data) == pytest.approx(-2 * model.score(data) + model.num_free_parameters * np.log(steps))


def test_one_state_is_one_normal_density():
    values = np.random.default_rng(0).normal(3.0, 2.0, size=(50, 1))
    model = HMM(num_states=1, variance_weight=0.0).fit(values)
    assert model.parameters_["emission.means"].item() == pytest.approx(values.mean())
    assert model.parameters_["emission.variances"].item() == pytest.approx(values.var())


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_equals_hmmlearn(covariance: str):
    """The same likelihood, posterior and path at the same parameters, and the same parameters after EM iterations."""
    hmmlearn = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn is in the extra 'bench'")
    data = planted_phases(6, separation=1.0, random_state=1).data
    values, lengths = data.observations.astype(np.float64), data.lengths
    name, family = {"diag": ("variances", "gaussian"), "full": ("covariances", "gaussian-full")}[covariance]
    ours = HMM(
        num_states=3,
        emission=family,
        num_starts=1,
        epochs=1,
        pseudo_count=0.0,
        variance_weight=0.0,
        variance_floor=1e-9,
    ).fit(data)
    peer = hmmlearn.GaussianHMM(3, covariance, init_params="", covars_prior=0, covars_weight=0, n_iter=6, tol=-np.inf)
    parameters = ours.parameters_
    peer.startprob_, peer.transmat_ = parameters["initial"][0], parameters["transition"][0]
    peer.means_, peer.covars_ = parameters["emission.means"][0], parameters[f"emission.{name}"][0]
    peer.n_features = 2
    assert ours.score(data) == pytest.approx(peer.score(values, lengths), abs=1e-6)
    np.testing.assert_allclose(ours.predict_proba(data), peer.predict_proba(values, lengths), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(data), peer.predict(values, lengths))
    peer.fit(values, lengths)
    longer = HMM(**(ours.get_params() | {"epochs": 7, "tolerance": 0.0})).fit(data)
    np.testing.assert_allclose(longer.parameters_["transition"][0], peer.transmat_, atol=1e-6)
    np.testing.assert_allclose(longer.parameters_["emission.means"][0], peer.means_, atol=1e-6)
    np.testing.assert_allclose(
        longer.parameters_[f"emission.{name}"][0],
        peer.covars_ if covariance == "full" else np.array([np.diag(c) for c in peer.covars_]),
        atol=1e-6,
    )
