"""Contracts of estimators that read Sequences; `contracts.py` has those that all keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gossamer.core.protocols import Predictor, Sampler

if TYPE_CHECKING:
    from gossamer.testing.contracts import Case


def planted_states_are_found(case: Case) -> None:
    """Steps of new series have the states they were made with, but for names; missing steps have states, too."""
    held_out = case.held_out()
    model = case.fitted()
    found = model.predict(held_out)
    assert np.array_equal(found, held_out.states) or np.array_equal(1 - found, held_out.states)
    holes = held_out.observations.copy()
    holes[2:4] = np.nan
    assert model.predict(holes, held_out.lengths).shape == found.shape
    proba = model.predict_proba(held_out)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-6)


def samples_are_series(case: Case) -> None:
    """`sample` returns as many new series as asked for, of the same kind, the same ones for the same seed."""
    model = case.fitted()
    drawn = model.sample(3, random_state=1)
    assert len(drawn) == 3
    assert drawn.observations.shape[1:] == case.training().observations.shape[1:]
    assert drawn.fingerprint() == model.sample(3, random_state=1).fingerprint()


OF_SEQUENCE_PROTOCOLS: dict[type, list[Callable[[Case], None]]] = {
    Predictor: [planted_states_are_found],
    Sampler: [samples_are_series],
}
