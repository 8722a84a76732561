"""What is kept of training users answers for them, and for nobody else."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_community import fitted, two_tastes

from gossamer.data.vocabulary import Vocabulary
from gossamer.models.community.state import TrainingUsers


def test_known_users_come_with_their_items_and_others_with_none() -> None:
    model, data = fitted(), two_tastes()
    kept = model.training_users_
    known = kept.known_as(Vocabulary(["u5", "nobody", "u0"]), model.items_)
    assert known.history.user_counts.tolist() == [5, 0, 5]
    np.testing.assert_array_equal(known.history[:1].indices, data[5:6].indices)
    assert known.codes.offsets.tolist() == [0, 2, 2, 4]
    part = known.part(1, 3)
    assert len(part) == 2
    np.testing.assert_array_equal(part.history[1:].indices, data[:1].indices)


def test_damage_is_named() -> None:
    model = fitted()
    arrays = model.training_users_.arrays()
    widths = model.user_reader_.num_values, model.user_reader_.num_numbers, len(model.items_)
    users = model.training_users_.users
    broken = arrays | {"users.indices": arrays["users.indices"] + 100}
    with pytest.raises(ValueError, match=r"array 'users.indices' must lie in 0 … 11, got 100 … 111"):
        TrainingUsers.restore(broken, users, *widths)
    broken = arrays | {"users.code_offsets": arrays["users.code_offsets"][::-1].copy()}
    with pytest.raises(ValueError, match=r"array 'users.code_values' must be cut by rising offsets"):
        TrainingUsers.restore(broken, users, *widths)
