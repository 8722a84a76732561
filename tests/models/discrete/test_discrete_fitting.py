from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gossamer.models.discrete import SparseDiscreteVAE
from gossamer.testing.right_answers import two_patterns

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_active": 7}, r"max_active must be at most num_features = 6, got 7; more features than there are cannot"),
        ({"max_active": 0}, r"max_active must be an integer >= 1, got 0"),
        ({"gradient": "score-function", "num_samples": 1}, r"num_samples must be an integer >= 2, got 1"),
        ({"observation": "real", "binarisation": "dynamic"}, r"binarisation must be 'none' with observation='real'"),
        ({"prior": "chain", "codes": "shared"}, r"prior must be 'learned' or 'fixed' with codes='shared', got 'chain'"),
        ({"gate_prior": 1.0}, r"gate_prior must be a finite number > 0 and < 1, got 1.0"),
        ({"temperature_floor": 0}, r"temperature_floor must be a finite number > 0, got 0"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        SparseDiscreteVAE(**{**SMALL, **arguments}).fit(two_patterns().train)


def test_learned_temperatures_are_in_the_artifact_and_not_below_the_floor(tmp_path: Path):
    train = two_patterns().train
    arguments = {"codes": "shared", "gradient": "relaxed", "temperature_schedule": "learned", "temperature_floor": 0.9}
    model = SparseDiscreteVAE(**arguments, **SMALL).fit(train)
    learned = model.network_.temperatures().tolist()
    assert learned != [1.0, 1.0]
    assert min(learned) >= 0.9 - 1e-6
    model.save(tmp_path / "model")
    assert SparseDiscreteVAE.load(tmp_path / "model").network_.temperatures().tolist() == learned
