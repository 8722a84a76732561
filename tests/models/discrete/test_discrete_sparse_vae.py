from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.utils.estimator_checks import parametrize_with_checks

from gossamer.models.discrete import GumbelVAE, SparseDiscreteVAE
from gossamer.models.discrete.gradients import GRADIENTS
from gossamer.testing.right_answers import two_patterns

TINY: dict[str, Any] = {"num_features": 6, "encoder_dims": (4,), "decoder_dims": (4,), "epochs": 2, "batch_size": 30}


SMALL: dict[str, Any] = {
    "num_features": 6,
    "max_active": 3,
    "encoder_dims": [8],
    "decoder_dims": [8],
    "gate_dims": [4],
    "epochs": 20,
    "batch_size": 8,
    "learning_rate": 0.03,
    "warmup": 0.5,  # so little data, so small a gain: with the whole KL from the start codes may never come to be used
}


_FITTED: list[SparseDiscreteVAE] = []


def fitted_models() -> list[SparseDiscreteVAE]:
    """Return one fitted model per kind of codes, fitted once."""
    if not _FITTED:
        train = two_patterns().train
        _FITTED.extend(SparseDiscreteVAE(codes=codes, **SMALL).fit(train) for codes in ("slots", "shared", "counts"))
    return _FITTED


@parametrize_with_checks(
    [
        SparseDiscreteVAE(max_active=2, observation="real", **TINY),
        SparseDiscreteVAE(max_active=2, observation="counts", codes="shared", gradient="straight-through", **TINY),
        GumbelVAE(num_options=3, observation="real", **TINY),
    ]
)
def test_scikit_learn_agrees(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("gradient", GRADIENTS)
@pytest.mark.parametrize("codes", ["slots", "shared", "counts"])
def test_every_gradient_learns_more_than_the_means_of_columns(codes: str, gradient: str):
    parts = two_patterns()
    model = SparseDiscreteVAE(codes=codes, gradient=gradient, **{**SMALL, "epochs": 60}).fit(parts.train)
    found = model.evaluate(parts.test)
    means = parts.train.inputs.mean(axis=0)
    without_codes = (
        -(parts.test.inputs * np.log(means) + (1 - parts.test.inputs) * np.log(1 - means)).sum(axis=1).mean()
    )
    measured = "relaxed" if gradient == "relaxed" and codes != "slots" else "iw100"
    assert found[measured] < without_codes - 0.5
    assert found["hard"] == pytest.approx(found["reconstruction"] + found["kl"])


@settings(max_examples=25, deadline=None)
@given(x=arrays.arrays(np.float32, st.tuples(st.integers(1, 4), st.just(8)), elements=st.floats(0, 1, width=32)))
def test_codes_never_have_more_than_max_active_features(x: np.ndarray):
    for model in fitted_models():
        for codes in (model.transform(x), model.transform(x, sample=True)):
            assert codes.shape == (len(x), 6)
            assert np.diff(codes.indptr).max() <= 3
            assert (codes.data > 0).all()
            assert (codes.data == np.rint(codes.data)).all()
