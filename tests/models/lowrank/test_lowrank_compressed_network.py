"""What both estimators share."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.core.remembering import remembering
from gossamer.models.lowrank import CompressedClassifier
from gossamer.models.lowrank.compressed_network import check_patterns
from gossamer.testing.right_answers import two_patterns

SMALL = {"hidden_dims": [16, 16], "epochs": 3, "batch_size": 16, "search_rows": 16, "allocator": "pos_cvx"}


def test_compressing_later_is_compressing_at_once():
    train = two_patterns().train
    at_once = CompressedClassifier(**SMALL, params=0.7).fit(train)
    later = CompressedClassifier(**SMALL).fit(train).set_params(params=0.7).compress(train)
    for name, array in at_once.learned_arrays().items():
        if "running" not in name:  # the whole network's statistics went on while it was fitted
            np.testing.assert_allclose(array, later.learned_arrays()[name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_what_is_fine_tuned_is_a_copy_of_what_is_remembered():
    train = two_patterns().train
    rows = [{"fine_tune_epochs": 0}, {"fine_tune_epochs": 2}, {"fine_tune_epochs": 2, "params": 0.6}]

    def fitted():
        return [CompressedClassifier(**SMALL | {"params": 0.7} | row).fit(train).learned_arrays() for row in rows]

    alone = fitted()
    with remembering() as memory:
        together = [*fitted(), *fitted()]
        assert len(memory.values["compressed"]) == 2
    for one, other in zip([*alone, *alone], together, strict=True):
        assert all(np.array_equal(array, other[name]) for name, array in one.items())
    assert any(not np.array_equal(array, alone[1][name]) for name, array in alone[0].items())


def test_shares_of_the_open_layers():
    train = two_patterns().train
    model = CompressedClassifier(**SMALL, params=0.5, budget_of="layers", only=["4"]).fit(train)
    measured = model.evaluate(two_patterns().test)
    assert measured["layers_params_share"] <= 0.5 < measured["params_share"]
    assert [layer.names for layer in model.report_.layers if layer.rank is not None] == [("4",)]
    kept = CompressedClassifier(**SMALL, params=0.9, keep=["4", "7"]).fit(train)
    assert [layer.names for layer in kept.report_.layers if layer.rank is not None] == [("1",)]


@pytest.mark.parametrize("value", ["head", [3], 3])
def test_patterns_are_checked(value: object):
    with pytest.raises(ValueError, match="only must be a list of patterns of layers' names, got"):
        check_patterns("only", value)
