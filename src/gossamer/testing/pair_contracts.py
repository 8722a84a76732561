"""What every estimator that predicts pairs must keep to."""

from __future__ import annotations

from typing import Any

from gossamer.data.interactions import Interactions


def targets_are_likelier(case: Any) -> None:
    """The item that a user left out of their own block is likelier than one of the other; both are probabilities."""
    held_out = case.data()
    model = case.fitted()
    users = held_out.target.users.ids.to_list()
    strange = [f"{'b' if str(item).startswith('a') else 'a'}0" for item in _items_of(held_out.target)]
    others = Interactions.from_pairs(users, strange, user_ids=held_out.target.users, item_ids=held_out.target.items)
    likely, unlikely = model.predict(held_out.target), model.predict(others)
    assert ((likely > 0) & (likely < 1) & (unlikely > 0) & (unlikely < 1)).all()
    assert (likely > unlikely).all()


def _items_of(data: Interactions) -> list[Any]:
    return [data.items[int(item)] for item in data.indices]
