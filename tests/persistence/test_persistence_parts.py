"""Parts of another family in an artifact: named, built again, and refused where they are not what they say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from gossamer.models.embeddings import AnchorEmbedding
from gossamer.models.linear import EASE
from gossamer.persistence.parts import describe_part, is_part, rebuild_part


@pytest.fixture
def table():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return AnchorEmbedding(10, 4, num_anchors=3, num_slots=2, sparse=False)


def test_there_and_back(table):
    described = describe_part(table)
    assert described["class"] == "gossamer.models.embeddings.anchor:AnchorEmbedding"
    again = rebuild_part(described, table.stored(), num_embeddings=10)
    np.testing.assert_allclose(again.weight.numpy(), table.weight.numpy(), atol=1e-6)


def test_what_is_a_part(table):
    class Own(AnchorEmbedding):
        """Of no module of gossamer's."""

    assert is_part(table)
    assert not is_part(Own(10, 4, num_anchors=3, num_slots=2))
    assert not is_part(nn.Embedding(2, 2))
    assert not is_part(EASE())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class": "os:system"}, "class must be a path like"),
        ({"class": "gossamer.models.linear.ease:EASE"}, "must be a part, but it has no config, stored"),
        ({"config": [1]}, r"config of a part must be its arguments, got \[1\]"),
        ({"config": {"num_embeddings": 11}}, "num_embeddings of a part must be 10, got 11"),
        ({"config": {"num_embeddings": 10, "colour": 1}}, "config of a part must be its arguments, got"),
        ({"more": 1}, "a part must be described by its class and config, got"),
    ],
)
def test_what_is_refused(table, change, message):
    with pytest.raises(ValueError, match=message):
        rebuild_part(describe_part(table) | change, table.stored(), num_embeddings=10)


def test_arrays_of_another_shape_are_refused(table):
    arrays = table.stored() | {"anchors": np.zeros((3, 5), np.float32)}
    with pytest.raises(ValueError, match="anchors"):
        rebuild_part(describe_part(table), arrays)
