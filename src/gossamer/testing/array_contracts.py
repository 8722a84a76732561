"""Contracts of estimators that read LabelledArrays; `contracts.py` has those that all keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from gossamer.core.protocols import Predictor, Sampler, Transformer

if TYPE_CHECKING:
    from gossamer.testing.contracts import Case


def sparse_codes_tell_patterns_apart(case: Case) -> None:
    """Codes are CSR, the same at every call, and those of a pattern are nearest to codes of the same pattern."""
    data = case.data()
    model = case.fitted()
    known, new = model.transform(data.train), model.transform(data.test)
    assert sparse.issparse(new)
    assert new.shape[0] == len(data.test)
    assert (new != model.transform(data.test)).nnz == 0
    distances = np.square(new.toarray()[:, None, :] - known.toarray()[None, :, :]).sum(axis=2)
    np.testing.assert_array_equal(data.train.targets[distances.argmin(axis=1)], data.test.targets)


def samples_are_rows(case: Case) -> None:
    """`sample` returns as many new rows as asked for, with the columns of the data, the same ones for the same seed."""
    model = case.fitted()
    drawn = model.sample(5, random_state=1)
    assert drawn.shape == (5, case.training().inputs[0].size)
    np.testing.assert_array_equal(drawn, model.sample(5, random_state=1))


def planted_targets_are_predicted(case: Case) -> None:
    """Classes, labels, or counts to the nearest whole number, of held-out rows are predicted, from a bare array too."""
    held_out = case.held_out()
    model = case.fitted()
    prediction = model.predict(held_out)
    np.testing.assert_array_equal(np.rint(prediction), held_out.targets)
    np.testing.assert_array_equal(model.predict(held_out.inputs), prediction)
    assert model.predict(held_out[:1]).shape == (1, *held_out.targets.shape[1:])


OF_ARRAY_PROTOCOLS: dict[type, list[Callable[[Case], None]]] = {
    Transformer: [sparse_codes_tell_patterns_apart],
    Sampler: [samples_are_rows],
    Predictor: [planted_targets_are_predicted],
}
