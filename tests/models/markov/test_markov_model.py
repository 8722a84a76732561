"""What HMM and HSMM share, tried with both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer.data import Sequences
from gossamer.models.markov import HMM, HSMM
from gossamer.testing.planted import planted_phases

MODELS = [HMM(num_states=3), HSMM(num_states=3)]
by_model = pytest.mark.parametrize("model", MODELS, ids=["hmm", "hsmm"])


def losses(model: HMM | HSMM) -> np.ndarray:
    return np.array([epoch["loss"] for epoch in model.history_["epochs"]])


@by_model
@pytest.mark.parametrize("pseudo_count", [0.0, 0.5])
def test_em_never_lowers_the_penalised_likelihood(model: HMM | HSMM, pseudo_count: float):
    data = planted_phases(6, separation=0.7, random_state=3).data
    more = {"max_duration": 9} if isinstance(model, HSMM) else {}
    model = type(model)(
        num_states=4, epochs=40, tolerance=0.0, pseudo_count=pseudo_count, variance_weight=pseudo_count, **more
    ).fit(data)
    assert len(losses(model)) > 20
    assert np.diff(losses(model)).max() < 1e-10


@by_model
@pytest.mark.parametrize("emission", ["gaussian-full", "poisson", "multinomial", "categorical"])
def test_em_never_falls_with_any_emission(model: HMM | HSMM, emission: str):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, size=(80, 1 if emission == "categorical" else 3)).astype(float)
    model = type(model)(num_states=2, emission=emission, num_starts=2, epochs=25, tolerance=0.0)
    model.fit(values, lengths=[30, 50])
    assert np.diff(losses(model)).max() < 1e-8


@by_model
def test_planted_phases_are_recovered(model: HMM | HSMM):
    planted = planted_phases(20, random_state=1)
    model = type(model)(num_states=3).fit(planted.data)
    measured = model.evaluate(planted.data)
    assert measured["matched_accuracy"] > 0.97
    means = model.parameters_["emission.means"][0]
    distances = np.abs(means[:, None] - planted.means).max(axis=2)
    assert distances.min(axis=1).max() < 0.3
    assert sorted(distances.argmin(axis=1)) == [0, 1, 2]


@by_model
def test_missing_values_by_nan_and_by_mask_are_the_same_and_are_bridged(model: HMM | HSMM):
    planted = planted_phases(12, random_state=2)
    values = planted.data.observations.astype(np.float64)
    rng = np.random.default_rng(0)
    mask = rng.random(values.shape) < 0.2
    mask[10:15] = True  # a run without any observation
    holes = np.where(mask, np.nan, values)
    lengths = planted.data.lengths
    first = type(model)(num_states=3).fit(holes, lengths=lengths)
    second = type(model)(num_states=3).fit(values, lengths=lengths, missing=mask)
    for name, array in first.learned_arrays().items():
        np.testing.assert_array_equal(array, second.learned_arrays()[name])
    np.testing.assert_array_equal(first.predict(holes, lengths), second.predict(values, lengths, missing=mask))
    proba = first.predict_proba(holes, lengths)
    np.testing.assert_allclose(proba.sum(1), 1.0)


@by_model
def test_viterbi_and_posterior_mostly_agree(model: HMM | HSMM):
    data = planted_phases(8, random_state=4).data
    model = type(model)(num_states=3).fit(data)
    assert (model.predict(data) == model.predict(data, algorithm="posterior")).mean() > 0.95
    with pytest.raises(ValueError, match="algorithm must be one of 'viterbi', 'posterior', got 'guess'"):
        model.predict(data, algorithm="guess")


@by_model
def test_every_series_can_have_its_own_model(model: HMM | HSMM):
    data = planted_phases(4, shortest=60, longest=80, random_state=5).data
    own = type(model)(num_states=3, tied=False).fit(data)
    assert own.parameters_["transition"].shape == (4, 3, 3)
    alone = own.score(data)
    assert alone > type(model)(num_states=3).fit(data).score(data)
    assert len(own.sample(4, random_state=0)) == 4
    with pytest.raises(ValueError, match=r"data must have the 4 series of the fit, .* got 2"):
        own.predict(data[:2])
    with pytest.raises(ValueError, match="n must be 4, one series of every model, got 3"):
        own.sample(3)
    with pytest.raises(ValueError, match="validation must be None where tied is False"):
        own.fit(data, data)
    assert np.diff(losses(own)).max() < 1e-9


@by_model
def test_next_observation_is_between_the_means_and_near_the_present_one(model: HMM | HSMM):
    planted = planted_phases(12, random_state=6)
    model = type(model)(num_states=3).fit(planted.data)
    following = model.next_observation(planted.data)
    np.testing.assert_allclose(following.state_probs.sum(1), 1.0)
    expected = following.state_probs @ model.parameters_["emission.means"][0]
    np.testing.assert_allclose(following.expected, expected)


@by_model
def test_validation_chooses_the_epoch(model: HMM | HSMM):
    data = planted_phases(10, random_state=7).data
    model = type(model)(num_states=3, patience=2, epochs=30).fit(data[:7], data[7:])
    valid = [epoch["valid_loglik"] for epoch in model.history_["epochs"]]
    assert model.history_["best_epoch"] == int(np.argmax(valid))
    assert model.evaluate(data[7:])["loglik"] == pytest.approx(max(valid))
    with pytest.raises(ValueError, match=r"validation must be Sequences, got list; give lengths by name"):
        model.fit(np.zeros((4, 1)), [2, 2])


@by_model
def test_a_run_goes_on_from_its_checkpoint_to_the_same_bits(model: HMM | HSMM, tmp_path: Path):
    data = planted_phases(6, random_state=8).data
    whole = type(model)(num_states=3, epochs=9, tolerance=0.0).fit(data)
    type(model)(num_states=3, epochs=3, tolerance=0.0).fit(data, checkpoint=tmp_path / "em")
    rest = type(model)(num_states=3, epochs=9, tolerance=0.0).fit(data, checkpoint=tmp_path / "em")
    for name, array in whole.learned_arrays().items():
        np.testing.assert_array_equal(array, rest.learned_arrays()[name])


@by_model
@pytest.mark.parametrize(
    ("values", "lengths", "message"),
    [
        (np.zeros((1, 2)), None, "every series must have at least two steps, got 1 in series 0"),
        (np.ones((9, 2)), None, "data must vary in every dimension, got the constant 1 in dimension 0"),
        (np.arange(4.0).reshape(2, 2), None, "num_states must be at most the number of observed steps, 2, got 3"),
        (np.full((9, 2), np.nan), None, "every series must have an observed step, got 9 missing"),
        (np.zeros((9, 2)), [4, 4], "lengths must add up to the 9 rows of data, got a sum of 8"),
    ],
)
def test_bad_data_are_named(model: HMM | HSMM, values: np.ndarray, lengths: list[int] | None, message: str):
    with pytest.raises(ValueError, match=message):
        type(model)(num_states=3).fit(values, lengths=lengths)


@by_model
def test_unseen_categories_and_empty_series_are_named(model: HMM | HSMM):
    data = Sequences(np.array([0, 1, 2, 0, 1, 2, 0, 0]), np.array([0, 4, 8]))
    model = type(model)(num_states=2, emission="categorical").fit(data)
    with pytest.raises(ValueError, match=r"data must have categories below 3, .* got the unseen category 5"):
        model.predict(np.array([0, 5]))
    with pytest.raises(ValueError, match="every series must have at least one step, got none in series 1"):
        model.predict(Sequences(np.array([0, 1]), np.array([0, 2, 2])))


@by_model
def test_a_constant_series_among_others_is_no_problem(model: HMM | HSMM):
    planted = planted_phases(5, random_state=9).data
    values = planted.observations.copy()
    values[planted.offsets[1] : planted.offsets[2]] = 1.0
    model = type(model)(num_states=3).fit(values, lengths=planted.lengths)
    assert np.isfinite(model.score(values, planted.lengths))


@by_model
def test_samples_have_the_length_asked_for_and_the_states_that_made_them(model: HMM | HSMM):
    data = planted_phases(6, random_state=10).data
    model = type(model)(num_states=3).fit(data)
    drawn = model.sample(5, length=30, random_state=0)
    assert drawn.lengths.tolist() == [30] * 5
    assert (model.predict(drawn) == drawn.states).mean() > 0.9
