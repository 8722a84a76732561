from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gossamer.data.counts import Counts
from gossamer.models.discrete import SparseDiscreteVAE
from gossamer.testing.right_answers import two_patterns, two_themes

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


def test_real_observations_are_explained_better_than_by_one_gaussian(tmp_path: Path):
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=300)
    centres = np.array([[0.0, 10.0, -5.0], [4.0, 20.0, 5.0], [-4.0, 10.0, 5.0]])
    x = centres[kind] + rng.normal(size=(300, 3)) * [0.5, 1.0, 0.2]
    model = SparseDiscreteVAE(observation="real", **{**SMALL, "epochs": 60, "batch_size": 30}).fit(x)
    gaussian = np.log(x.std(axis=0)).sum() + 1.5 * np.log(2 * np.pi * np.e)
    truth = np.log([0.5, 1.0, 0.2]).sum() + 1.5 * np.log(2 * np.pi * np.e) + np.log(3)
    assert truth - 0.2 < model.evaluate(x)["iw100"] < gaussian - 0.7 * (gaussian - truth)
    assert model.score(x) > -gaussian
    assert np.abs(model.sample(500, random_state=0).mean(axis=0) - x.mean(axis=0)).max() < 2.5
    model.save(tmp_path / "model")
    loaded = SparseDiscreteVAE.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.sample(3, random_state=0), model.sample(3, random_state=0))


def test_counts_are_learned_and_drawn_over_their_terms(tmp_path: Path):
    parts = two_themes()
    model = SparseDiscreteVAE(observation="counts", **{**SMALL, "epochs": 40}).fit(parts.train, validation=parts.valid)
    matrix = parts.test.matrix.toarray()
    frequency = parts.train.matrix.toarray().sum(axis=0) / parts.train.matrix.sum()
    unigram = -(matrix * np.log(frequency)).sum(axis=1).mean()
    assert model.evaluate(parts.test)["hard"] < unigram - 3
    drawn = model.sample(4, random_state=0)
    assert isinstance(drawn, Counts)
    assert drawn.terms == parts.train.terms
    model.save(tmp_path / "model")
    loaded = SparseDiscreteVAE.load(tmp_path / "model")
    assert loaded.evaluate(parts.test) == model.evaluate(parts.test)
    assert (loaded.transform(parts.test) != model.transform(parts.test.matrix)).nnz == 0
    others = Counts(parts.test.matrix, type(parts.test.terms)([f"x{term}" for term in parts.test.terms]))
    with pytest.raises(ValueError, match=r"data must have the terms of the training data in their order, got others"):
        model.transform(others)
    assert sparse.issparse(SparseDiscreteVAE(observation="counts", **SMALL).fit(matrix).sample(2, random_state=0))


def test_codes_decode_to_what_was_coded():
    parts = two_patterns()
    model = SparseDiscreteVAE(**{**SMALL, "epochs": 60}).fit(parts.train)
    decoded = model.inverse_transform(model.transform(parts.test))
    assert decoded.shape == (8, 8)
    is_first = parts.test.targets == 0
    assert (decoded[is_first][:, :4].mean(axis=1) > 0.6).all()
    assert (decoded[is_first][:, 4:].mean(axis=1) < 0.3).all()
    drawn = model.sample(200, random_state=0)
    assert set(np.unique(drawn)) <= {0.0, 1.0}
    halves = drawn[:, :4].sum(axis=1), drawn[:, 4:].sum(axis=1)
    assert np.mean((halves[0] >= 2) != (halves[1] >= 2)) > 0.8  # one pattern or the other, not a mixture
    with pytest.raises(ValueError, match=r"X must be codes of 6 features, got 5 columns"):
        model.inverse_transform(np.zeros((1, 5)))
