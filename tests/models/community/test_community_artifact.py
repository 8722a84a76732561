"""Through an artifact and back, with times, weights and features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_community import SETTINGS, fitted, two_tastes

from gossamer.models.community import CommunityRecommender


def test_answers_are_the_same_after_loading(tmp_path: Path) -> None:
    data = two_tastes()
    model = CommunityRecommender(**SETTINGS | {"weighted": True, "epochs": 2}).fit(data)
    model.save(tmp_path / "model")
    loaded = CommunityRecommender.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(data), model.predict(data))
    np.testing.assert_array_equal(loaded.memberships(), model.memberships())
    assert loaded.communities(3) == model.communities(3)
    assert loaded.explain(2, user="u3") == model.explain(2, user="u3")


def test_arrays_must_be_those_that_the_metadata_promise() -> None:
    model = fitted()
    arrays, vocabularies, metadata = model.learned_arrays(), model.learned_vocabularies(), model.learned_metadata()
    del arrays["users.order"]
    with pytest.raises(ValueError, match=r"arrays must have users.order and users.weights as the metadata say"):
        CommunityRecommender(**SETTINGS).restore(arrays, vocabularies, metadata)
