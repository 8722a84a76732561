from __future__ import annotations

import pytest

from gossamer.data.share import Share, alone
from gossamer.models.linear import EASE
from gossamer.testing.right_answers import two_blocks


def test_a_model_that_does_not_take_shares_refuses_them() -> None:
    with pytest.raises(ValueError, match="data must be Interactions, got Share"):
        EASE().fit(Share(two_blocks().history))


def test_who_is_alone_gathers_what_it_gives() -> None:
    assert alone(["words"]) == [["words"]]
