from __future__ import annotations

import dataclasses

import pytest

from gossamer.datasets.dataset import Dataset, DatasetInfo


def test_descriptions_do_not_change():
    info = DatasetInfo("title", "Counts", "1", "MIT", "https://example.org", "me")
    dataset = Dataset(info, lambda: 3)
    assert dataset.load() == 3
    assert dataset.source is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        info.title = "other"
