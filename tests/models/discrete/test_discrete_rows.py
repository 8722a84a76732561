from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from gossamer.data.arrays import LabelledArrays
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


def test_bytes_are_grey_values_and_images_are_rows():
    parts = two_patterns()
    images = LabelledArrays((parts.train.inputs.reshape(32, 2, 4) * 255).astype(np.uint8), parts.train.targets)
    first, second = SparseDiscreteVAE(**SMALL).fit(images), SparseDiscreteVAE(**SMALL).fit(parts.train.inputs)
    for name, array in first.learned_arrays().items():
        np.testing.assert_array_equal(array, second.learned_arrays()[name], err_msg=name)
    assert first.evaluate(images) == second.evaluate(parts.train)


def test_sparse_and_dense_rows_give_the_same_model():
    x = two_patterns().train.inputs
    table = pd.DataFrame(x, columns=[f"c{column}" for column in range(8)])
    fits = [SparseDiscreteVAE(**SMALL).fit(given) for given in (x, sparse.csr_array(x), table, x.tolist())]
    for other in fits[1:]:
        for name, array in fits[0].learned_arrays().items():
            np.testing.assert_array_equal(array, other.learned_arrays()[name], err_msg=name)
    assert fits[2].get_feature_names_out().tolist() == [f"sparsediscretevae{number}" for number in range(6)]


def test_binarisation_is_by_threshold_or_drawn_anew():
    grey = np.full((40, 4), 0.6, dtype=np.float32)
    grey[:, 0] = 0.4
    by_threshold = SparseDiscreteVAE(binarisation="threshold", **SMALL).fit(grey)
    assert by_threshold.evaluate(grey)["hard"] < 1.0  # 0 1 1 1, always
    dynamic = SparseDiscreteVAE(binarisation="dynamic", **SMALL).fit(grey)
    entropy = -4 * (0.6 * np.log(0.6) + 0.4 * np.log(0.4))
    assert dynamic.evaluate(grey)["hard"] == pytest.approx(entropy, abs=0.4)
    assert dynamic.evaluate(grey) == dynamic.evaluate(grey)


@pytest.mark.parametrize(
    ("observation", "bad", "message"),
    [
        ("binary", 2.0, r"data must hold values in \[0, 1\] with observation='binary', got 2.0 in row 1, column 2"),
        ("binary", -1.0, r"data must hold values >= 0, got -1.0 in row 1, column 2"),
        ("real", np.nan, r"data must hold finite values, neither NaN nor inf, got nan in row 1, column 2"),
        ("counts", 0.5, r"data must hold whole numbers with observation='counts', got 0.5 in row 1, column 2"),
    ],
)
def test_bad_values_are_shown_where_they_are(observation: str, bad: float, message: str):
    x = np.eye(4, dtype=np.float32)
    x[1, 2] = bad
    for given_x in (x, sparse.csr_array(x)):
        with pytest.raises(ValueError, match=message):
            SparseDiscreteVAE(observation=observation, **SMALL).fit(given_x)


def test_validation_data_are_named_in_their_error():
    parts = two_patterns()
    with pytest.raises(ValueError, match=r"validation must hold values in \[0, 1\]"):
        SparseDiscreteVAE(**SMALL).fit(parts.train, validation=parts.valid.inputs + 1)
