"""Phases and what follows them, as rows for people."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data import Sequences, Vocabulary
from gossamer.models.linear import EASE
from gossamer.models.markov import HMM, HSMM
from gossamer.runner import phases
from gossamer.runner.phases import _standard_errors, find_phases, phases_of, reads_sequences, what_follows
from gossamer.testing.right_answers import two_phases


def test_rows_say_state_next_state_and_when():
    parts = two_phases()
    model = HSMM(num_states=2, epochs=10, num_starts=1).fit(parts.train)
    rows = what_follows(model, parts.test)
    assert [row["next state"] for row in rows] == [1 - row["state"] for row in rows]
    assert all(1 <= row["steps until"] <= model.longest_duration_ for row in rows)
    table = phases_of(model, parts.test)
    assert table["state"].to_list() == model.predict(parts.test).tolist()
    assert table["step"][int(parts.test.offsets[1])] == 1
    assert table["sequence"].unique().sort().to_list() == [0, 1]


def test_events_are_named_and_an_hmm_has_no_next_phase():
    data = Sequences(
        np.array([0, 0, 1, 1, 0, 1]), np.array([0, 6]), vocabulary=Vocabulary(["ham", "spam"]), names=Vocabulary(["a"])
    )
    model = HMM(num_states=2, emission="categorical", epochs=2, num_starts=1).fit(data)
    row = what_follows(model, data)[0]
    assert "next state" not in row
    assert "ham" in row["next observation"]


def test_errors_from_some_series_are_scaled_to_all():
    parts = two_phases()
    model = HSMM(num_states=2, epochs=5, num_starts=1).fit(parts.train)
    whole = _standard_errors(model, parts.train)["emission.means"]
    np.testing.assert_allclose(whole, model.standard_errors(parts.train)["emission.means"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phases, "MOST_STEPS", len(parts.train.observations) // 2)
        some = _standard_errors(model, parts.train)["emission.means"]
        np.testing.assert_allclose(some, whole, rtol=0.5)
        assert not np.array_equal(some, whole)
        patch.setattr(phases, "MOST_PARAMETERS", 1)
        assert _standard_errors(model, parts.train) == {}


def test_only_models_of_series_have_phases():
    assert reads_sequences(HMM())
    assert not reads_sequences(EASE())


def test_findings_for_the_report():
    parts = two_phases()
    model = HSMM(num_states=2, epochs=5, num_starts=1).fit(parts.train)
    found = find_phases(model, parts.test)
    assert found["shares"].sum() == pytest.approx(1)
    assert len(found["paths"]) == len(found["names"]) == len(found["following"]) == 2
    assert found["durations"].shape[0] == len(found["states"]) == 2
    assert "±" in found["states"][0]["mean duration"]
    assert "±" in found["states"][0]["emits"]
    assert found["moves"][0].keys() == {"from", "to", "probability"}
    assert find_phases(model, parts.test[:0]) == {}
    assert find_phases(EASE(), parts.test) == {}
