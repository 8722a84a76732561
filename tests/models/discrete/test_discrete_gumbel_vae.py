from __future__ import annotations

import numpy as np
import pytest

from gossamer.models.discrete import GumbelVAE
from gossamer.testing.right_answers import two_patterns

SMALL = {
    "num_features": 6,
    "encoder_dims": [8],
    "decoder_dims": [8],
    "batch_size": 8,
    "learning_rate": 0.03,
    "warmup": 0.5,
}


@pytest.mark.parametrize("gradient", ["relaxed", "gumbel-straight-through"])
@pytest.mark.parametrize("kind", ["categorical", "bernoulli"])
def test_both_rivals_learn(kind: str, gradient: str):
    parts = two_patterns()
    model = GumbelVAE(kind=kind, num_options=2, gradient=gradient, epochs=60, temperature=0.7, **SMALL).fit(parts.train)
    means = parts.train.inputs.mean(axis=0)
    without_codes = (
        -(parts.test.inputs * np.log(means) + (1 - parts.test.inputs) * np.log(1 - means)).sum(axis=1).mean()
    )
    assert model.evaluate(parts.test)["iw100"] < without_codes - 0.5


def test_categoricals_have_one_feature_of_every_group_on():
    model = GumbelVAE(num_options=3, epochs=1, **SMALL).fit(two_patterns().train)
    codes = model.transform(two_patterns().test, sample=True).toarray().reshape(8, 2, 3)
    assert (codes.sum(axis=2) == 1).all()
    with pytest.raises(ValueError, match=r"num_options must be a divisor of num_features = 6, got 4"):
        GumbelVAE(num_options=4, **SMALL).fit(two_patterns().train)
