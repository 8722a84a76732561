"""Examples for the report: what a user has, what each model recommends, what was held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gossamer.core.protocols import Recommender
from gossamer.data.interactions import Interactions, Split
from gossamer.report.models import Example
from gossamer.runner.answers import item_names, recommended, user_row
from gossamer.runner.outcome import Outcome
from gossamer.runner.source import Division

NUM_USERS, NUM_ITEMS = 3, 8


def examples_of(outcomes: Sequence[Outcome], data: Any, split: Division, users: Sequence[str] = ()) -> list[Example]:
    """Return examples for `users` from all that is known of them, or for held-out users from their history alone."""
    able = [outcome for outcome in outcomes if isinstance(outcome.estimator, Recommender)]
    if not able or not isinstance(split, Split):
        return []
    if users:
        return [_example(user, able, data, None) for user in users]
    held_out = split.test
    shown = [str(user) for user in held_out.history.users.ids[:NUM_USERS]]
    return [_example(user, able, held_out.history, held_out.target) for user in shown]


def _example(user: str, outcomes: Sequence[Outcome], known: Interactions, hidden: Interactions | None) -> Example:
    row = user_row(known, user)
    best = {outcome.model: recommended(outcome.estimator, row, NUM_ITEMS) for outcome in outcomes}
    named = {model: [str(found.get("title", found["item"])) for found in rows] for model, rows in best.items()}
    return Example(user, item_names(row), named, () if hidden is None else item_names(user_row(hidden, user)))
