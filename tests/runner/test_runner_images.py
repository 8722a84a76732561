"""Images (LabelledArrays) through the runner: which models read them, how they are split, what is measured."""

from __future__ import annotations

import pytest

from gossamer.data.arrays import LabelledArrays
from gossamer.models.discrete import SparseDiscreteVAE
from gossamer.runner.estimators import make_estimator
from gossamer.runner.measure import fit, measure
from gossamer.runner.source import make_split
from gossamer.runner.specs import DataSpec, SplitSpec
from gossamer.runner.tasks import check_container, container_of, data_for, default_metrics, default_split
from gossamer.testing.right_answers import two_blocks, two_patterns

SMALL = {"num_features": 6, "max_active": 2, "encoder_dims": [8], "decoder_dims": [8], "epochs": 2, "batch_size": 8}


def test_a_discrete_vae_reads_images():
    assert container_of(SparseDiscreteVAE) is LabelledArrays
    assert default_metrics(SparseDiscreteVAE) is None
    assert default_split(["sparse-discrete-vae", "gumbel-vae"], 0, "mnist").kind == "given"
    assert data_for(["sparse-discrete-vae"], DataSpec("mnist")) == DataSpec("mnist")
    with pytest.raises(
        ValueError, match=r"data must be LabelledArrays or Counts for gumbel-vae, got Interactions from 'x'"
    ):
        check_container("gumbel-vae", two_blocks().history, "x")


def test_validation_images_are_drawn_from_training_and_the_three_measures_are_named():
    given = two_patterns()
    parts = make_split(type(given)(given.train, None, given.test), SplitSpec("given", {"valid_fraction": 0.25}), 0)
    assert (len(parts.train), len(parts.valid), len(parts.test)) == (24, 8, 8)
    model = make_estimator("sparse-discrete-vae", SMALL, seed=3)
    assert fit(model, parts) > 0
    assert "valid_hard" in model.history_["epochs"][0]
    names = ["test_relaxed", "test_hard", "test_iw100", "active", "values"]
    measured = measure(model, parts.test, names)
    assert list(measured.values) == names
    assert measured.values["values"] > 100
    assert measured.values["test_hard"] > 0
