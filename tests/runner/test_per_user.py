"""Values of users in a record: rounded, in order, with a digest that tells one held-out set from another."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.data.interactions import HeldOut, Interactions
from gossamer.runner.per_user import PerUser


def held_out(users: tuple[str, ...] = ("ann", "bob"), history: str = "jam", target: str = "tea") -> HeldOut:
    items = Interactions.from_pairs(["x"] * 3, ["jam", "tea", "ham"]).items
    known = Interactions.from_pairs(list(users), [history] * len(users), item_ids=items)
    wanted = Interactions.from_pairs(list(users), [target] * len(users), user_ids=known.users, item_ids=items)
    return HeldOut(known, wanted)


def digest(test: HeldOut) -> str:
    return PerUser.keep("ndcg@5", test, np.zeros(len(test))).held_out


def test_values_are_rounded_and_a_user_without_targets_has_none() -> None:
    kept = PerUser.keep("ndcg@5", held_out(), np.array([1 / 3, np.nan]))
    assert (kept.metric, kept.values) == ("ndcg@5", (0.33333, None))
    assert kept.array()[0] == 0.33333
    assert np.isnan(kept.array()[1])


def test_the_digest_follows_users_histories_and_targets() -> None:
    known = digest(held_out())
    assert len(known) == 16
    assert known == digest(held_out())
    others = [held_out(("bob", "ann")), held_out(("ann",)), held_out(history="ham"), held_out(target="ham")]
    assert len({known, *map(digest, others)}) == 5


def test_the_digest_does_not_depend_on_values() -> None:
    test = held_out()
    kept = [PerUser.keep("ndcg@5", test, np.full(2, value)) for value in (0.0, 1.0)]
    assert kept[0].held_out == kept[1].held_out


TWO_USERS = held_out()


@given(st.lists(st.floats(0, 1) | st.none(), max_size=20))
def test_what_is_kept_comes_back_from_a_record(values: list[float | None]) -> None:
    exact = np.array(values, dtype=np.float64)
    kept = PerUser.keep("ndcg@5", TWO_USERS, exact)
    assert PerUser.from_json({**asdict(kept), "values": list(kept.values)}) == kept
    np.testing.assert_allclose(kept.array(), exact, atol=5.1e-6)


@pytest.mark.parametrize("content", [[], "text", {"metric": "ndcg@5"}])
def test_something_else_is_no_table_of_users(content: object) -> None:
    with pytest.raises(ValueError, match="per_user must"):
        PerUser.from_json(content)
