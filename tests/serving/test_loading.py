from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from gossamer.persistence import ArtifactError, read_artifact
from gossamer.serving.loading import identity_of, load_model


def test_a_model_is_called_as_its_directory_or_as_the_link_to_it(shelf, tmp_path):
    (tmp_path / "current").symlink_to(shelf / "ease")
    assert load_model(shelf / "ease").name == "ease"
    assert load_model(f"{tmp_path}/./current/").name == "current"


def test_what_a_model_answers_follows_from_its_methods(service):
    assert {name: model.questions for name, model in service.models.items()} == {
        "als": ("recommend", "similar", "explain"),
        "biased": ("similar", "explain"),
        "ease": ("recommend", "similar", "explain"),
        "events": ("explain", "next"),
        "numbers": ("recommend", "explain"),
        "patterns": ("encode",),
        "phases": ("explain", "next"),
        "sentences": ("encode", "similar", "explain"),
        "topics": ("recommend", "encode", "similar", "explain"),
        "weighted": ("recommend", "similar", "explain"),
    }


def test_arrays_stay_in_the_pages_of_the_file(shelf):
    model = load_model(shelf / "als")
    assert isinstance(model.estimator.item_factors_.base, np.ndarray)
    assert not model.estimator.item_factors_.flags.owndata


@pytest.mark.parametrize("name", ["topics", "patterns", "sentences"])
def test_weights_of_networks_stay_in_the_pages_of_the_file(shelf, name):
    """By what the system says of their addresses; another way to load has memory of its own."""
    model = load_model(shelf / name)
    pages = pages_of("model.safetensors")
    assert parameters_of(model.estimator)
    for value in parameters_of(model.estimator):
        assert any(begin <= value.data_ptr() < end for begin, end in pages)
    own = read_artifact(shelf / name).estimator
    for mine, mapped in zip(parameters_of(own), parameters_of(model.estimator), strict=True):
        torch.testing.assert_close(mine, mapped, rtol=0, atol=0)
        assert not any(begin <= mine.data_ptr() < end for begin, end in pages)


def parameters_of(estimator):
    return [value for part in vars(estimator).values() if isinstance(part, nn.Module) for value in part.parameters()]


def pages_of(file_name):
    """Return the ranges of addresses at which this process has mapped files of a name, as Linux lists them."""
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(file_name)]
    return [tuple(int(end, 16) for end in line[0].split("-")) for line in lines]


def test_a_replaced_artifact_has_another_identity(shelf, tmp_path):
    shutil.copytree(shelf / "ease", tmp_path / "model")
    before = identity_of(tmp_path / "model")
    assert identity_of(tmp_path / "model") == before
    load_model(tmp_path / "model").estimator.save(tmp_path / "model")
    assert identity_of(tmp_path / "model") != before
    shutil.rmtree(tmp_path / "model")
    assert identity_of(tmp_path / "model") is None


def test_what_is_no_artifact_is_named(tmp_path):
    with pytest.raises(ArtifactError, match="does not exist"):
        load_model(tmp_path / "nothing")


def test_users_come_over_the_model_s_items(remembered):
    model = load_model(remembered, with_users=True)
    assert model.histories.items == model.estimator.items_
    assert model.users.find("u39") == 39
    assert model.titles is None
    assert load_model(remembered).users is None


def test_models_of_other_things_have_no_users(shelf):
    assert load_model(shelf / "phases", with_users=True).histories is None
